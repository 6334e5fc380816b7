"""Text that somebody else may have written is compiled where the compiler opens no file that it is not shown."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from kernlens.dataclass import replace
from kernlens.errors import KernlensError, UnsupportedError
from kernlens.model.build import Build, HeldParts, Source
from kernlens.pipeline.compile_stages import Pipeline
from kernlens.pipeline.second_build_of_recording import second_build_of_recording
from kernlens.toolchain import shown_files
from kernlens.toolchain.ocloc import compile_source
from tests.whole import WHOLE
from tests.writers.include_tricks import CANARY, NUMBER, THERE, Trick, trick_of, tricks

#: How many tricks there are, in so many parts; how many of them show the file to a compiler that is not confined.
TRICKS, PARTS, AT_LEAST = (200, 4, 15) if WHOLE else (50, 2, 3)


@pytest.fixture
def canary(tmp_path: Path) -> Path:
    """A file that only its owner may read, and nobody has named."""
    path = tmp_path / "private" / "canary.h"
    path.parent.mkdir()
    path.write_text(CANARY)
    path.chmod(0o600)
    return path


def traces(text: bytes) -> list[str]:
    """What a text says of the canary: what it holds, or that it is there; as text or as code."""
    known = {"what it holds": NUMBER, "that it is there": THERE}
    return [
        what
        for what, number in known.items()
        if any(each in text for each in (str(number).encode(), f"{number:x}".encode(), number.to_bytes(4, "little")))
    ]


def told_by(trick: Trick, device: str, *, unconfined: bool = False) -> bytes:
    """All that a compile of the trick brings, but for its own text: every stage, the log, the reason."""
    build = Build("trick", device, options=trick.options, parts=HeldParts(sources=trick.sources))
    try:
        pipeline: Pipeline = second_build_of_recording(build, toolchain="system", unconfined=unconfined)
    except KernlensError as error:
        return f"{error} {getattr(error, 'log', '')}".encode()
    stages = [each.content for each in pipeline if each.failure is None and each.stage != "source"]
    return b"\n".join([pipeline.build.log.encode(), (pipeline.build.reason or "").encode(), *stages])


@pytest.mark.parametrize("part", range(PARTS))
def test_no_spelling_of_an_include_opens_a_file(part: int, canary: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(canary.parent)
    monkeypatch.setenv("CPATH", str(canary.parent))
    shown = {True: 0, False: 0}
    for trick in list(tricks(str(canary), TRICKS, seed=20))[part::PARTS]:
        assert traces(told_by(trick, "intel-cpu")) == [], trick
        shown[bool(traces(told_by(trick, "intel-cpu", unconfined=True)))] += 1
    assert shown[True] >= AT_LEAST, "tricks that show nothing to a compiler that is not confined say nothing"


@pytest.mark.parametrize("device", ["dg2", "pocl", "intel-cpu"])
@pytest.mark.parametrize("how", [shown_files.NAMESPACES, shown_files.LANDLOCK])
def test_neither_do_other_compilers(device: str, how: str, canary: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(shown_files, "mechanism", lambda **_: how)
    texts = (
        f'#include\u00a0"{canary}"',
        f'#define $F "{canary}"\n#include $F',
        f'#if __has_include("{canary}")\n#define KANARIE {THERE - 1}+1\n#endif',
    )
    shown = 0
    for text in texts:
        trick = trick_of("own", f"{text}\n")
        assert traces(told_by(trick, device)) == []
        shown += bool(traces(told_by(trick, device, unconfined=True)))
    assert shown


def test_a_folder_that_the_user_names_is_seen(tmp_path: Path) -> None:
    """The files below it are included, but not what its links lead to."""
    (tmp_path / "named").mkdir()
    (tmp_path / "named/own.h").write_text("#define KANARIE 77\n")
    (tmp_path / "secret.h").write_text(CANARY)
    (tmp_path / "named/link.h").symlink_to(tmp_path / "secret.h")
    text = '#include "own.h"\n#if KANARIE != 77 || __has_include\u00a0("link.h")\n#error there\n#endif\nkernel void a() {}\n'
    source = Source("/src/a.cl", text)
    build = Build("a", "intel-cpu", parts=HeldParts(sources=(source,)))
    pipeline = second_build_of_recording(build, options=f"-I {tmp_path}/named")
    assert pipeline.build.ok, pipeline.build.reason
    source = Source("/src/a.cl", '#include\u00a0"link.h"\n')
    refused = second_build_of_recording(
        replace(build, parts=HeldParts(sources=(source,))), options=f"-I {tmp_path}/named"
    )
    assert "file not found" in (refused.build.reason or "")


@pytest.mark.parametrize("folder", ["/", "/tmp", "~", "~/.."])
def test_a_folder_that_holds_everything_is_not_shown(folder: str) -> None:
    build = Build("a", "intel-cpu", parts=HeldParts(sources=(Source("/src/a.cl", "int a;\n"),)))
    with pytest.raises(UnsupportedError, match="contains much beside what the text could include"):
        second_build_of_recording(build, options=f"-I {os.path.expanduser(folder)}")


@pytest.mark.parametrize("character", [*map(chr, (*range(32), 127, 0x85, 0x9B)), "\u2028", "\u2029"])
def test_control_characters_in_options_are_refused(character: str, tmp_path: Path) -> None:
    build = Build(
        "a", "pocl", options=f'-DA="1{character}"', parts=HeldParts(sources=(Source("/src/a.cl", "int a;\n"),))
    )
    with pytest.raises(UnsupportedError, match=r"contains a control character; leave it out"):
        second_build_of_recording(build)
    source = tmp_path / "a.cl"
    source.write_text("kernel void f() {}")
    for options in (f'-DA="1{character}"', f'-DA="1{character}'):  # and where a quote is not closed
        if options.endswith('"') or character not in "\t\r\n":
            with pytest.raises(UnsupportedError, match="contains a control character"):
                compile_source(source, "dg2", options)
