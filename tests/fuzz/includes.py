"""A confined clang: whatever a text includes, in whatever spelling, no file outside is opened."""

from __future__ import annotations

from pathlib import Path

from kernlens.errors import KernlensError, ToolError
from tests.fuzz.inputs import folder, texts

#: Stands for the path of the file that nothing may open.
PATH = "CANARY"
_TEXT = "the canary's own words"


def confined_includes(data: bytes) -> None:
    """Give clang a source, a header and options, the scanner's opinion of them left aside."""
    from kernlens.toolchain.clang import find_front_end
    from kernlens.toolchain.foreign_text import foreign_text
    from kernlens.toolchain.process import run, temporary_folder
    from kernlens.toolchain.sources.includes import split_options
    from kernlens.toolchain.sources.recorded_sources import PLAIN_OPTION

    with folder() as outer:
        canary = outer / "canary.h"
        canary.write_text(_TEXT)
        source, header, options = (text.replace(PATH, str(canary)) for text in texts(data, 3))
        try:
            words = [word for word in split_options(options) if PLAIN_OPTION.fullmatch(word)]
        except KernlensError:
            words = []  # A control character: these options reach no compiler.
        clang = find_front_end().clang
        with foreign_text(), temporary_folder() as inside:
            for name, text in (("k.cl", source), ("k.h", header)):
                Path(inside, name).write_text(text, "utf-8", "replace", newline="")
            command = [clang, "-x", "cl", "-E", "-P", *words, "-I", inside, "k.cl"]
            try:
                log = run(command, timeout=20, cwd=inside).log
            except ToolError as error:  # It took too long, as over a text that includes itself.
                log = error.log
        assert _TEXT not in log
