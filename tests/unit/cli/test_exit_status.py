"""docs/exit_status.md: what every verb returns, and that no traceback takes the place of a sentence."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from kernlens.cli.verb_group import VERBS
from kernlens.recording.writer import RecordingWriter
from kernlens.verbs import doctor
from kernlens.verbs.doctor import Check
from tests.unit.cli.test_cli_every_verb import READERS
from tests.unit.conftest import Kernlens
from tests.writers.programs import SOURCE, binary, spirv
from tests.writers.recordings import FULL, holding

MAIN = [sys.executable, "-c", "from kernlens.cli.main import main; main()"]
READY = "kernlens.verbs.any_path.open_file"


@pytest.fixture(scope="module")
def recordings(tmp_path_factory: pytest.TempPathFactory) -> dict[str, bytes]:
    """Two recordings by their names; to write them takes longer than most commands."""
    builds = {"add.klens": FULL, "scale.klens": holding("scale", binary())}
    folder = tmp_path_factory.mktemp("recordings")
    for name, build in builds.items():
        with RecordingWriter(folder / name) as writer:
            writer.add(build)
    return {name: (folder / name).read_bytes() for name in builds}


@pytest.fixture
def folder(
    tmp_path: Path, file: Path, compiler: Path, recordings: dict[str, bytes], monkeypatch: pytest.MonkeyPatch
) -> Path:
    """The working folder, with one file of each kind."""
    monkeypatch.chdir(tmp_path)
    Path("scale.bin").write_bytes(binary())
    Path("damaged.bin").write_bytes(binary()[:-60])
    Path("other.bin").write_bytes(binary(kernel="other"))
    Path("good.cl").write_text(SOURCE)
    Path("broken.cl").write_text("broken\n")
    Path("user.spv").write_bytes(spirv(imports="square"))
    for name, content in recordings.items():
        Path(name).write_bytes(content)
    monkeypatch.setattr(doctor, "checks", lambda: iter([Check("one", True, "")]))
    return tmp_path


TABLE = [
    (2, "mcp none"),
    (0, "advise scale.bin"),
    (0, "advise good.cl --device skl --json"),
    (2, "advise scale.bin --kernel none"),
    (2, "advise damaged.bin"),
    (2, "advise good.cl"),
    (2, "advise scale.bin --build-options -a"),
    (3, "advise broken.cl --device skl"),
    (0, "annotate scale.bin"),
    (0, "annotate scale.bin --kernel scale --line 2"),
    (1, "annotate scale.bin --kernel scale --line 9"),
    (1, "annotate scale.bin --kernel scale --line 9 --json"),
    (1, "annotate scale.bin --kernel scale --line other.cl:2 --format csv"),
    (2, "annotate scale.bin -o page.html"),
    (0, "report scale.bin -o page.html"),
    (2, "report scale.bin --kernel none -o page.html"),
    (2, "replay no-such.klens"),
    (2, "replay scale.bin"),
    (2, "annotate scale.bin --kernel plain --line 2"),
    (2, "annotate scale.bin --kernel plain --line 2 --json"),
    (2, "annotate scale.bin --line x"),
    (2, "annotate damaged.bin"),
    (2, "annotate scale.bin -o /nowhere/x"),
    (2, "assemble no-such.asm --into scale.bin -o x.bin"),
    (2, "assemble good.cl --into no-such.bin -o x.bin"),
    (2, "disasm scale.bin --editable"),
    (2, "observe"),
    (2, "observe nowhere.cl --size 64 --group 64"),
    (2, "observe good.cl --size 64 --group x"),
    (0, "capture -- true"),
    (2, "capture"),
    (2, "capture -- no-such-program"),
    (2, "capture --recover ."),
    (2, "capture -o . -- true"),
    (0, "check scale.bin --max-slm 0"),
    (0, "check good.cl --device skl --max-slm 0"),
    (1, "check scale.bin --max-code-size 1"),
    (1, "check scale.bin --max-code-size 1 --json"),
    (1, "check scale.bin --baseline other.bin --kernel plain --max-code-size 1"),
    (2, "check scale.bin"),
    (2, "check scale.bin --max-none 0"),
    (2, "check scale.bin --max-slm 0 --kernel none"),
    (2, "check damaged.bin --max-slm 0"),
    (2, "check scale.bin --budget good.cl"),
    (2, "check scale.bin --baseline no-such.bin"),
    (2, "check scale.bin --max-slm 0 --sarif /nowhere/x"),
    (3, "check broken.cl --device skl --max-slm 0"),
    (0, "compile good.cl --device skl -o x.klens"),
    (2, "compile good.cl --device no-such"),
    (2, "compile good.cl --device skl -o ."),
    (3, "compile broken.cl --device skl -o x.klens"),
    (3, "compile broken.cl good.cl --device skl -o x.klens --json"),
    (0, "devices"),
    (2, "devices more"),
    (0, "diff scale.bin scale.bin"),
    (0, "diff good.cl --device skl --build-options=-a --build-options=-b"),
    (1, "diff scale.bin other.bin"),
    (1, "diff scale.bin other.bin --json"),
    (2, "diff scale.bin"),
    (2, "diff scale.bin damaged.bin"),
    (2, "diff scale.bin no-such.bin"),
    (2, "diff scale.bin scale.bin scale.bin"),
    (2, "diff scale.bin scale.bin --kernel none"),
    (2, "diff scale.bin scale.bin --toolchain none"),
    (2, "diff scale.bin scale.bin --build-options=-a"),
    (2, "diff good.cl good.cl"),
    (2, "diff good.cl --device skl,no-such"),
    (3, "diff good.cl broken.cl --device skl"),
    (0, "disasm scale.bin"),
    (2, "disasm damaged.bin"),
    (2, "disasm good.cl"),
    (0, "doctor"),
    (2, "doctor more"),
    (0, "extract scale.bin -o parts"),
    (2, "extract scale.bin -o good.cl"),
    (0, "inspect scale.bin"),
    (2, "inspect damaged.bin"),
    (0, "layer"),
    (2, "layer more"),
    (1, "link user.spv"),
    (1, "link user.spv --json"),
    (2, "link good.cl"),
    (2, "link"),
    (0, "recording list scale.klens"),
    (2, "recording list add.klens"),  # with a damaged binary
    (2, "recording list good.cl"),
    (0, "recording options add.klens --toml"),
    (2, "recording options good.cl"),
    (0, "recording merge add.klens add.klens -o both.klens"),
    (2, "recording merge add.klens -o good.cl"),
    (0, "recording prune add.klens --drop logs"),
    (2, "recording prune add.klens --keep none"),
    (0, "recording redact add.klens --source"),
    (2, "recording redact add.klens"),
    (2, "run --simulate skl -- no-such-program"),
    (2, "run"),
    (0, "serve scale.bin --no-browser --idle-timeout 0.2"),
    (2, "serve damaged.bin --no-browser"),
    (2, "serve good.cl --no-browser"),  # for which device?
    (2, "serve scale.bin --no-browser --port 65536"),
    (0, "stages add.klens"),
    (2, "stages add.klens --line 1"),
    (2, "stages good.cl"),
    (2, "stages add.klens --stage none"),
    (0, "sweep good.cl --device skl,dg2 -D N=1,2 --csv x.csv"),
    (2, "sweep good.cl --device no-such"),
    (2, "sweep good.cl --device skl --csv no-such/x.csv"),
    (2, "sweep no-such.cl --device skl"),
    (3, "sweep broken.cl good.cl --device skl"),
    (3, "sweep broken.cl --device skl --json"),
    (0, "symbols user.spv"),
    (2, "symbols good.cl"),
    (0, "toolchain list"),
    (2, "toolchain remove none"),
]


@pytest.mark.parametrize(("status", "words"), TABLE, ids=[words for _, words in TABLE])
def test_the_table(status: int, words: str, kernlens: Kernlens, folder: Path) -> None:
    done = kernlens(*words.split())
    assert done.status == status
    assert "Traceback" not in done.err
    if status == 2 and "Usage" not in done.err:
        assert done.err.startswith(("kernlens: ", "Error: "))
        assert done.err.count("\n") == 1


def test_the_table_has_every_verb() -> None:
    assert {words.split()[0] for _, words in TABLE} == set(VERBS)


def test_only_the_answer_no_is_one() -> None:
    assert {words.split()[0] for status, words in TABLE if status == 1} == {"annotate", "check", "diff", "link"}


def test_doctor_without_a_needed_part(kernlens: Kernlens, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(doctor, "checks", lambda: iter([Check("one", False, "")]))
    assert kernlens("doctor").status == 1


def test_a_line_without_code_is_an_answer_in_json(kernlens: Kernlens, folder: Path) -> None:
    done = kernlens("annotate", "scale.bin", "--kernel", "scale", "--line", "9", "--json")
    assert done.document["programs"][0]["kernels"][0]["instructions"] == []
    assert "no instruction came from line 9" in done.err


@pytest.mark.parametrize(
    ("fault", "status", "sentence"),
    [
        (RuntimeError("two\nlines"), 3, r"a fault of kernlens itself, .*: RuntimeError: two\nlines"),
        (ValueError("x"), 3, "a fault of kernlens itself, .*: ValueError: x"),
        (RecursionError("x"), 3, "a fault of kernlens itself, .*: RecursionError: x"),
        (MemoryError(), 3, "out of memory"),
        (PermissionError(13, "Permission denied", "/x"), 2, r"the system refused something \(/x\): Permission denied"),
        (KeyboardInterrupt(), 130, "interrupted"),
    ],
    ids=lambda value: type(value).__name__ if isinstance(value, BaseException) else "",
)
@pytest.mark.parametrize("debug", [(), ("--debug",)])
def test_every_fault_is_a_sentence(
    fault: BaseException,
    status: int,
    sentence: str,
    debug: tuple[str, ...],
    kernlens: Kernlens,
    file: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def fail(*_: object, **__: object) -> None:
        raise fault

    monkeypatch.setattr(READY, fail)
    done = kernlens("inspect", file, *debug)
    assert (done.status, done.out) == (status, "")
    last = done.err.splitlines()[-1]
    assert last.startswith("kernlens: ")
    assert sentence.partition(",")[0].replace("\\(", "(").replace("\\)", ")") in last
    assert ("Traceback" in done.err) is bool(debug)
    if not debug:
        assert done.err.count("\n") == 1


Special = Callable[[Path], object]
SPECIAL: dict[str, tuple[Special, str]] = {
    "pipe": (os.mkfifo, "is a pipe"),
    "device": (lambda path: path.symlink_to("/dev/zero"), "is a device"),
    "folder": (lambda path: path.mkdir(), ""),
}


@pytest.mark.parametrize("kind", SPECIAL)
@pytest.mark.parametrize("verb", READERS)
def test_what_is_no_file(verb: str, kind: str, kernlens: Kernlens, folder: Path) -> None:
    """A pipe is not waited for."""
    make, sentence = SPECIAL[kind]
    make(folder / "special.cl")
    done = kernlens(*READERS[verb], "special.cl")
    assert (done.status, done.out) == (2, "")
    assert done.err.startswith("kernlens: ")
    assert "special.cl" in done.err
    assert sentence in done.err


@pytest.mark.parametrize("verb", READERS)
def test_a_file_that_must_not_be_read(
    verb: str, kernlens: Kernlens, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    system = os.open

    def refuse(path: Any, *rest: Any, **more: Any) -> int:
        if "good.cl" in os.fsdecode(path):
            raise PermissionError(13, "Permission denied", path)
        return system(path, *rest, **more)

    monkeypatch.setattr(os, "open", refuse)
    done = kernlens(*READERS[verb], "good.cl")
    sentence = "kernlens: cannot read good.cl: Permission denied; ls -l good.cl shows who may\n"
    assert (done.status, done.out, done.err) == (2, "", sentence)


@pytest.mark.parametrize("beside", ["folder", "link"])
def test_what_lies_where_a_journal_would(beside: str, kernlens: Kernlens, folder: Path) -> None:
    journal, target = folder / "x.klens-wal", folder / "target"
    target.write_text("precious")
    if beside == "folder":
        journal.mkdir()
    else:
        journal.symlink_to(target)
    done = kernlens("compile", "good.cl", "--device", "skl", "-o", "x.klens")
    assert "Traceback" not in done.err
    assert done.status in (0, 2)
    assert target.read_text() == "precious"
    if done.status == 0:
        assert kernlens("inspect", "x.klens").status == 0
    else:
        assert "x.klens cannot be written" in done.err


#: Verbs that answer without a file, and their words.
ALONE = ("devices", "devices --json", "toolchain list", "layer", "inspect FILE", "inspect FILE --json", "stages --help")


def ended(words: str, file: Path, stdout: int | None = None, **variables: str) -> subprocess.CompletedProcess[bytes]:
    chosen = [str(file) if word == "FILE" else word for word in words.split()]
    return subprocess.run(
        [*MAIN, *chosen],
        stdout=subprocess.PIPE if stdout is None else stdout,
        stderr=subprocess.PIPE,
        env={**os.environ, **variables},
        check=False,
    )


@pytest.mark.parametrize("words", ALONE)
def test_a_full_output(words: str, file: Path) -> None:
    with open("/dev/full", "wb") as full:
        done = ended(words, file, full.fileno())
    assert done.returncode == 2
    assert done.stderr.startswith(b"kernlens: ")
    assert done.stderr.endswith(b": No space left on device\n")
    assert done.stderr.count(b"\n") == 1


@pytest.mark.parametrize("words", ALONE)
def test_a_reader_that_has_gone(words: str, file: Path) -> None:
    reader, writer = os.pipe()
    os.close(reader)
    done = ended(words, file, writer)
    os.close(writer)
    assert (done.returncode, done.stderr) == (0, b"")


def test_outputs_that_are_closed(file: Path, tmp_path_factory: pytest.TempPathFactory) -> None:
    empty = tmp_path_factory.mktemp("empty")
    for redirection, status in (
        ("inspect FILE >&-", 2),
        ("inspect FILE 2>&- >/dev/null", 0),
        ("inspect EMPTY 2>&-", 2),
    ):
        words = redirection.replace("FILE", str(file)).replace("EMPTY", str(empty))
        script = f'"$0" -c "from kernlens.cli.main import main; main()" {words}'
        done = subprocess.run(["sh", "-c", script, sys.executable], capture_output=True, check=False)
        assert done.returncode == status
        assert b"Traceback" not in done.stderr


@pytest.mark.parametrize("encoding", ["ascii", "latin-1", "utf-8"])
def test_an_output_that_does_not_know_all_letters(encoding: str, tmp_path: Path) -> None:
    path = tmp_path / "漢é.bin"
    path.write_bytes(binary(kernel="größe漢"))
    done = ended("inspect FILE", path, PYTHONIOENCODING=encoding)
    assert (done.returncode, done.stderr) == (0, b"")
    shown = done.stdout.decode(encoding)
    assert {"ascii": r"gr\xf6\xdfe\u6f22", "latin-1": r"größe\u6f22", "utf-8": "größe漢"}[encoding] in shown
    assert ended("inspect /nowhere/漢", path, PYTHONIOENCODING=encoding).returncode == 2
