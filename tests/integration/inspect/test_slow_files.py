"""Files made to take minutes or gigabytes are read or refused, by every verb, within bounds of time and memory.

The bounds are some times what each needs, for the sake of slow machines; what they guard against took ten times more.
"""

from __future__ import annotations

import os
import resource
import subprocess
import sys
from pathlib import Path

import pytest

from tests.tree import ROOT
from tests.whole import WHOLE, each_run
from tests.writers.slow_files import BINARIES, RECORDINGS

VERBS = ("inspect", "annotate", "extract", "symbols")
#: The files whose stages can be shown without a compiler, and what is asked of them.
STAGES = {"many_snapshots": "", "dense_gen_assembly": "--line 1", "dense_visa": "--line 1"}
#: Seconds of processor time and bytes of address space that all verbs together may take. On a busy machine the same work takes
#: up to three times the processor time; work that grows with the square of these files takes hours.
SECONDS, MEMORY = 20, 700 << 20
#: Honest and large: everything in them is printed or written, all of it in linear time.
LARGE = {"many_snapshots": 60, "same_named_programs": 60, "dense_code": 120, "dense_entries": 60, "dense_builds": 80}
#: Those that take longest, though the way through them is that of others.
LONGEST = ("dense_failed_builds",)
#: The sizes of files in each run, a third of those before a release: all is read, in linear time, and what grew with the
#: square of these would take minutes too.
IN_EACH_RUN = {
    **{"dense_names": 200_000, "dense_code": 3_400_000, "dense_patch_tokens": 400_000, "dense_program_tokens": 400_000},
    **{"many_snapshots": 270, "same_named_programs": 330, "dense_gen_assembly": 5_000_000},
}
#: What is refused, and where: a part of the sentence.
REFUSED = {
    ("overlapping_range_lists", "annotate"): "range lists are shared by so many entries",
    ("shared_range_list", "annotate"): "range lists are shared by so many entries",
    ("deep_inlining", "annotate"): "inlined calls, up to 500",
    ("shared_blob", "annotate"): "would unpack to",
    ("shared_blob", "extract"): "would unpack to",
    ("smaller_shared_blob", "annotate"): "would unpack to",
    ("smaller_shared_blob", "extract"): "would unpack to",
    ("dense_relocations", "symbols"): "600,000 relocations",
    ("dense_inlined_calls", "annotate"): "a unit has more than 100,000 inlined calls",
    ("dense_spirv", "inspect"): "220,000 kernels, exports and imports",
    ("dense_spirv", "symbols"): "220,000 kernels, exports and imports",
    ("dense_entries", "annotate"): "entries have fewer than 4 bytes on average",
}
REFUSED |= {("overlapping_sections", "extract"): "its sections overlap"}
REFUSED |= {("many_symbols", verb): "120,001 symbols" for verb in ("inspect", "annotate", "symbols")}
REFUSED |= {("dense_symbols", verb): "320,001 symbols" for verb in ("inspect", "annotate", "symbols")}
REFUSED |= {("dense_patch_token_kernels", verb): "180,000 kernels" for verb in VERBS}
REFUSED |= {("dense_debug_kernels", verb): "500,000 kernels" for verb in VERBS}
REFUSED |= {("dense_images", verb): "one more device image" for verb in VERBS}
REFUSED |= {("dense_unreadable_images", verb): "one more device image" for verb in VERBS}
REFUSED |= {("dense_frames", verb): "one more device image" for verb in VERBS}
REFUSED |= {("dense_builds", verb): "one more program" for verb in VERBS}
REFUSED |= {(name, "stages"): "lines in an input of" for name in ("dense_gen_assembly", "dense_visa")}
REFUSED |= {("dense_kernels", verb): "60,000 kernels" for verb in ("inspect", "annotate", "symbols")}
REFUSED |= {("dense_members", verb): "90,000 members" for verb in VERBS}

#: What all verbs refuse with one sentence, as they open it by one door. In each run two of them do.
AT_THE_DOOR = {
    name for (name, _), sentence in REFUSED.items() if all(REFUSED.get((name, verb)) == sentence for verb in VERBS)
}

#: All verbs in one process, in which no libiga64 is needed: the status and the last line of each go to standard error.
_CHILD = """
import contextlib, io, os, sys
import kernlens.isa.intel.decode
from kernlens.cli.main import main
from tests.writers.programs import decoded
kernlens.isa.intel.decode.decode_many = decoded
path, output, verbs, asked, *flags = sys.argv[1:]
for verb in verbs.split():
    extra = {"extract": ["-o", output], "annotate": ["--json", *flags], "stages": asked.split()}.get(verb, [])
    sys.argv = ["kernlens", verb, path, *extra]
    said = io.StringIO()
    with contextlib.redirect_stderr(said):
        try:
            main()
            status = 0
        except SystemExit as ended:
            status = ended.code or 0
    sys.stdout.flush()
    print(verb, status, said.getvalue().strip().replace("\\n", " "), file=sys.stderr)
"""


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("slow")


def written(folder: Path, name: str) -> Path:
    """The file of this name, which is made once."""
    path = folder / (name + (".bin" if name in BINARIES else ".klens"))
    if not path.exists():
        size = [IN_EACH_RUN[name]] if name in IN_EACH_RUN and not WHOLE else []
        if name in BINARIES:
            path.write_bytes(BINARIES[name](*size))
        else:
            RECORDINGS[name](path, *size)
    assert path.stat().st_size < 13_000_000
    return path


def bounded(seconds: int) -> None:
    resource.setrlimit(resource.RLIMIT_CPU, (seconds, seconds))
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))


@pytest.mark.parametrize(
    "name", each_run(*[name for name in (*BINARIES, *RECORDINGS) if name not in LONGEST], others=LONGEST)
)
def test_slow_file(folder: Path, name: str, tmp_path: Path) -> None:
    seconds = LARGE.get(name, SECONDS)
    flags = ["--device", "dg2"] if name in BINARIES else []
    asked = VERBS[::2] if name in AT_THE_DOOR and not WHOLE else VERBS
    verbs = (*asked, *(["stages"] if name in STAGES else []))
    done = subprocess.run(
        [
            sys.executable,
            "-c",
            _CHILD,
            str(written(folder, name)),
            str(tmp_path / "parts"),
            " ".join(verbs),
            STAGES.get(name, ""),
            *flags,
        ],
        env={**os.environ, "PYTHONPATH": os.pathsep.join([str(ROOT / "src"), str(ROOT)])},
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
        check=False,
        preexec_fn=lambda: bounded(seconds),
    )
    assert done.returncode == 0, f"{done.returncode}: {done.stderr}"
    answers = {line.partition(" ")[0]: line.partition(" ")[2] for line in done.stderr.splitlines()}
    assert tuple(answers) == verbs
    for verb, answer in answers.items():
        sentence = REFUSED.get((name, verb))
        assert answer[:1] in (("0", "2") if sentence is None else ("2",)), f"{verb}: {answer}"
        assert "Traceback" not in answer
        assert "MemoryError" not in answer
        assert (sentence or "") in answer
