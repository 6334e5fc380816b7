"""Whatever stands in files, nothing but text reaches a terminal or a pipe: every verb, on both."""

from __future__ import annotations

import ast
import os
import re
import sys
import threading
import unicodedata
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from kernlens.cli.output import Progress
from kernlens.cli.verb_group import VERBS
from kernlens.model.build import HeldParts, Source
from kernlens.recording.writer import RecordingWriter
from kernlens.report.style import rendered, style
from kernlens.verbs import doctor
from kernlens.verbs.doctor import Check
from tests.unit.conftest import Done, Kernlens
from tests.writers.programs import SOURCE, binary, spirv
from tests.writers.recordings import FULL, snapshot

#: Fills the clipboard (OSC 52), sets a colour (CSI, as ESC [ and as C1), clears, returns, forges a line, turns text round.
HOSTILE = "\x1b]52;c;aGk=\x07\x1b[41m\x9b42mx\x08\x7f\x85\r\u202e\u2066\u2028\nforged [red]\udcff"
#: The same without what cannot stand in UTF-8 (a lone surrogate), or in a line of text.
HOSTILE_LINE = "\x1b]52;c;aGk=\x07\x1b[41m\x9b42mx\x08\x7f\u202e"
#: How OSC begins where it was made visible.
SHOWN = r"\x1b]52;c"

Run = Callable[..., Done]


def strange(text: str) -> set[str]:
    """The characters of an output that are no text: controls, marks of direction, separators, surrogates."""
    kinds = {char: unicodedata.category(char) for char in set(text.replace("\r\n", "\n")) - {"\n", "\t"}}
    return {char for char, kind in kinds.items() if kind in ("Cc", "Cs", "Zl", "Zp")} | (
        set(text) & set("\u061c\u200e\u200f\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069")
    )


def own_colours_removed(text: str) -> str:
    """Without the sequences that kernlens writes, and rich's for a progress bar; 41 and 42 are those of ``HOSTILE``."""
    return re.sub(r"\r?\x1b\[(?!4[12]m)[?0-9;]*[mhlAK]", "", text)


@pytest.fixture(params=["pipe", "terminal"])
def run(request: pytest.FixtureRequest, kernlens: Kernlens, monkeypatch: pytest.MonkeyPatch) -> Run:
    """Runs a verb and checks what it wrote to a pipe, or to a pseudo-terminal for both of its outputs."""

    def run_on_terminal(*words: str | os.PathLike[str]) -> Done:
        with monkeypatch.context() as patch:
            with Terminal(patch) as read:
                status = kernlens(*words).status
                text = read()
            assert strange(own_colours_removed(text)) == set()
            return Done(status, own_colours_removed(text), "")

    def run_on_pipe(*words: str | os.PathLike[str]) -> Done:
        done = kernlens(*words)
        assert strange(done.out) == set()
        assert strange(done.err) == set()
        return done

    def run_and_check(*words: str | os.PathLike[str]) -> Done:
        done = run_on_terminal(*words) if request.param == "terminal" else run_on_pipe(*words)
        assert "Traceback" not in done.out + done.err
        assert not re.search(r"^\s*forged", done.out + done.err, re.MULTILINE)
        return done

    return run_and_check


class Terminal:
    """A pseudo-terminal as both outputs of this process; what was written to it is read by the function it gives."""

    def __init__(self, patch: pytest.MonkeyPatch) -> None:
        self._patch = patch

    def __enter__(self) -> Callable[[], str]:
        import termios

        master, self._slave = os.openpty()
        modes = termios.tcgetattr(self._slave)
        modes[1] &= ~termios.OPOST  # No carriage returns but those that are written.
        termios.tcsetattr(self._slave, termios.TCSANOW, modes)
        pieces: list[bytes] = []

        def collect() -> None:
            with open(master, "rb", buffering=0) as stream:
                try:
                    while piece := stream.read(1 << 16):
                        pieces.append(piece)
                except OSError:  # So ends a terminal that nobody holds open.
                    return

        reader = threading.Thread(target=collect, daemon=True)
        reader.start()
        self._stream = os.fdopen(self._slave, "w", encoding="utf-8")
        self._patch.setattr(sys, "stdout", self._stream)
        self._patch.setattr(sys, "stderr", self._stream)

        def read() -> str:
            self._stream.close()
            reader.join(10)
            return b"".join(pieces).decode()

        return read

    def __exit__(self, *_: object) -> None:
        self._stream.close()


@pytest.fixture
def hostile_binary(file: Path, tmp_path: Path) -> Path:
    """A binary whose kernel, source, options and own name are hostile, beside its source with a hostile line."""
    folder = tmp_path / "binaries"
    folder.mkdir()
    name = HOSTILE.replace("\udcff", "") + ".cl"
    (folder / name).write_text(SOURCE.replace("int id", f"{HOSTILE_LINE} int id"))
    path = folder / f"{HOSTILE}.bin"
    path.write_bytes(binary(name, kernel=HOSTILE[:-1], options=f"-D{HOSTILE[:-1]}"))
    return path


@pytest.mark.parametrize(
    "words",
    [
        ("inspect",),
        ("disasm",),
        ("symbols",),
        ("annotate",),
        ("annotate", "--line", "2"),
        ("annotate", "--offset", "0"),
        ("annotate", "--format", "csv"),
        ("check", "--max-instructions", "0"),
        ("check", "--max-instructions", "0", "--kernel", HOSTILE),
        ("link",),
        ("annotate", "--kernel", f"{HOSTILE}?"),
        ("annotate", "--offset", HOSTILE),
        ("annotate", "--line", f"{HOSTILE}:1"),
        ("inspect", "--device", HOSTILE),
        ("stages",),
        ("inspect", "--verbose"),
    ],
    ids=lambda words: " ".join(words[:2]).encode("unicode_escape").decode(),
)
def test_a_hostile_binary(words: tuple[str, ...], run: Run, hostile_binary: Path) -> None:
    done = run(*words, hostile_binary)
    assert done.status in (0, 1, 2)
    if words[0] != "link":  # A link names modules only where there is something to say of them.
        assert SHOWN in done.out + done.err


def test_documents_hold_it_as_escapes_of_their_own(run: Run, hostile_binary: Path) -> None:
    done = run("annotate", "--json", hostile_binary)
    assert done.status == 0
    assert r"\u001b]52;c" in done.out
    assert r"\u007f" in done.out


def test_json_of_a_terminal_and_of_a_pipe(run: Run, hostile_binary: Path) -> None:
    assert r"\u001b]52;c" in run("inspect", "--json", hostile_binary).out


@pytest.mark.parametrize("format_name", ["text", "csv", "json"])
def test_a_file_of_output_is_as_clean(
    format_name: str, kernlens: Kernlens, hostile_binary: Path, tmp_path: Path
) -> None:
    assert kernlens("annotate", "--format", format_name, "-o", tmp_path / "out", hostile_binary).status == 0
    text = (tmp_path / "out").read_text()
    assert strange(text) == set()
    assert "52;c" in text


def test_parts_of_a_hostile_binary(run: Run, hostile_binary: Path, tmp_path: Path) -> None:
    assert run("extract", hostile_binary, "-o", tmp_path / f"parts{HOSTILE}").status == 0


def test_what_differs_from_a_hostile_binary(run: Run, file: Path, hostile_binary: Path) -> None:
    assert all(SHOWN in run("diff", *sides).out for sides in ((file, hostile_binary), (hostile_binary, file)))


def test_modules_with_hostile_symbols(run: Run, tmp_path: Path) -> None:
    name = HOSTILE_LINE + "\nforged"
    user, library = tmp_path / f"user{HOSTILE}.spv", tmp_path / "library.spv"
    user.write_bytes(spirv(imports=name))
    library.write_bytes(spirv(exports=name))
    for words in (("symbols", user), ("link", user), ("link", user, library, library)):
        done = run(*words)
        assert done.status in (0, 1)
        assert SHOWN in done.out
    done = run("link", user, "--build-options-for", HOSTILE, "")
    assert (done.status, SHOWN in done.out + done.err) == (2, True)


def test_stages_of_a_hostile_recording(run: Run, tmp_path: Path) -> None:
    text = f"// {HOSTILE_LINE}\r\nforged? \x0c\n"
    path = tmp_path / "x.klens"
    sources = (Source(f"/src/{HOSTILE}.cl", text),)
    parts = (snapshot("source", ".cl", text.encode()), snapshot("asm", ".asm", b"mov \x1b]52;c\x07", HOSTILE[:-1]))
    with RecordingWriter(path) as writer:
        changed = replace(FULL, name=HOSTILE, command=f"ocloc {HOSTILE}", options=HOSTILE)
        writer.add(replace(changed, parts=HeldParts(log=HOSTILE, sources=sources, snapshots=parts)))
    assert SHOWN in run("stages", path).out
    assert SHOWN in run("stages", path, "--stage", "asm").out
    assert SHOWN in run("stages", path, "--diff", "source", "asm").out
    for words in (("--line", "1"), ("--line", f"{HOSTILE}:1"), ("--stage", HOSTILE), ("--kernel", HOSTILE)):
        run("stages", path, *words)
    for action in ("list --json", "prune --keep [red]*", "redact --source"):
        run("recording", action.split()[0], path, *action.split()[1:])
    run("recording", "merge", path, "-o", path)
    assert SHOWN in run("recording", "list", path).out
    assert run("recording", "prune", path, "--drop", HOSTILE).status == 2


def test_a_stage_keeps_the_line_ends_of_windows(kernlens: Kernlens, tmp_path: Path) -> None:
    parts = HeldParts(snapshots=(snapshot("source", ".cl", b"kernel\r\n\tvoid\r\n"),), sources=(Source("/a", "b"),))
    with RecordingWriter(tmp_path / "x.klens") as writer:
        writer.add(replace(FULL, parts=parts))
    assert kernlens("stages", tmp_path / "x.klens", "--stage", "source").out == "kernel\r\n\tvoid\r\n"


def test_a_hostile_compiler_and_source(run: Run, compiler: Path, tmp_path: Path) -> None:
    octal = "".join(f"\\{byte:03o}" for byte in HOSTILE_LINE.encode())
    command = f"printf '%s:1:1: error: {octal}\\n' \"$source\""
    script = compiler.read_text().replace('echo "$source:1:1: error: it is broken"', command)
    compiler.write_text(script)
    broken, good = tmp_path / f"broken{HOSTILE_LINE}.cl", tmp_path / f"good{HOSTILE}.cl"
    broken.write_text(f"{HOSTILE_LINE} broken\n")
    good.write_text(SOURCE)
    done = run("compile", broken, good, "--device", "skl", "-o", tmp_path / f"{HOSTILE[:-1]}.klens")
    assert (done.status, SHOWN in done.out) == (3, True)
    assert run("sweep", broken, "--device", "skl").status == 3
    for words in ((good, "--device", HOSTILE), (HOSTILE, "--device", "skl")):
        assert run("compile", *words).status == 2


def test_words_about_the_machine(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(doctor, "checks", lambda: iter([Check("one", False, HOSTILE, HOSTILE)]))
    assert SHOWN in run("doctor").out
    for words in (
        ("toolchain", "remove", HOSTILE),
        ("toolchain", "add", HOSTILE, "--root", f"/nowhere{HOSTILE}"),
        ("run", "--simulate", HOSTILE, "--", HOSTILE),
        ("capture", "--simulate", HOSTILE, "--", HOSTILE),
        ("devices", HOSTILE),
        ("report", HOSTILE, "-o", "x.html"),
        ("replay", HOSTILE),
        ("advise", HOSTILE),
        ("assemble", HOSTILE, "--into", HOSTILE, "-o", "x.bin"),
        ("mcp", HOSTILE),
        ("observe", HOSTILE, "--size", "64", "--group", "64"),
        ("serve", HOSTILE, "--no-browser"),
        ("layer", f"--{HOSTILE}"),
        (HOSTILE,),
    ):
        done = run(*words)
        assert done.status in (2, 3)
        # Without a driver there is none to simulate the device, whatever it is called.
        assert SHOWN in done.out + done.err or (
            words[0] in ("run", "capture") and "has no driver" in done.err + done.out
        )


def test_every_verb_is_tested_here() -> None:
    words = {node.value for node in ast.walk(ast.parse(Path(__file__).read_text())) if isinstance(node, ast.Constant)}
    assert set(VERBS) <= words


def test_progress_shows_names_as_they_are(monkeypatch: pytest.MonkeyPatch) -> None:
    with Terminal(monkeypatch) as read:
        with Progress("compiling", quiet=False) as progress:
            progress.show(1, 2, "\x1b]52;\x07[bold]x[/nothing]")
        text = read()
    assert "[bold]x[/nothing]" in text
    assert "\x1b]52" not in text
    assert "\x07" not in text
    assert text.count("\x1b[?25l") == text.count("\x1b[?25h") == 1, "the cursor is hidden, and shown again"


def test_marks_cannot_be_forged() -> None:
    """Colours come from ``style`` alone: not from ANSI, nor from characters that look like the beginning of a mark."""
    assert rendered(style("x", fg="red", bold=True), True) == "\x1b[1;31mx\x1b[0m"
    assert rendered(style("x\x1b[31m", dim=True)) == r"x\x1b[31m"
    key = style("", fg="red")[:8]
    for forged in (f"{key[:7]}A", f"{key[1:]}A", f"{key[::-1]}A", "\ud800\udbff\U000f0001", f"{key}\x1b"):
        assert "\x1b" not in rendered(forged, True)


def test_tabs_and_other_letters_stay() -> None:
    assert rendered("\tint é = 'ש'; // 漢 🙂") == "\tint é = 'ש'; // 漢 🙂"
