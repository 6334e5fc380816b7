"""What compilers said: counted truly, warnings of builds that succeed, whole logs; the compiler is a script."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.unit.conftest import Kernlens
from tests.writers.programs import SOURCE

REDEFINED = "warning: 'TILE' macro redefined"


@pytest.fixture
def warned(tmp_path: Path, compiler: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return a source that compiles, with a warning for each device and one for dg2 alone; it stands in the working folder."""
    monkeypatch.setenv("KERNLENS_CACHE", str(tmp_path / "cache"))
    monkeypatch.chdir(tmp_path)
    (tmp_path / "tile.cl").write_text(f"#define TILE 8\n{SOURCE}")
    of_device = 'case "$*" in *"-device dg2"*) is_dg2=1 ;; esac\n    while'
    warnings = (
        '[ "${source##*/}" = tile.cl ] && echo "'
        + str(tmp_path / "tile.cl")
        + f':1:9: {REDEFINED}\n#define TILE 8\n        ^"\n'
        f'    [ "$is_dg2" ] && printf "\\nwarning: in kernel \'scale\': it is odd (in file: k.cl:3)\\n"\n'
        '    cp "$here/binary"'
    )
    text = compiler.read_text().replace("    while", f"    here={compiler.parent}\n    {of_device}", 1)
    compiler.write_text(text.replace(f"cp {compiler.parent}/binary", warnings, 1))
    return Path("tile.cl")


def test_warnings_of_a_build_that_succeeds_are_said_once(kernlens: Kernlens, warned: Path) -> None:
    done = kernlens("compile", warned, "--device", "skl,dg2,icllp", "-o", "x.klens")
    assert done.status == 0
    assert done.err.count(REDEFINED) == 1
    assert f"tile.cl:1:9: {REDEFINED}\n  #define TILE 8\n          ^\n" in done.err
    assert "k.cl:3: warning: in kernel scale: it is odd [dg2 only]\n" in done.err
    assert "compile seconds" not in done.out, "it differs from run to run"
    done = kernlens("compile", warned, "--device", "skl", "-o", "x.klens")
    assert "odd" not in done.err


def test_the_whole_log_by_kernel_and_line(kernlens: Kernlens, warned: Path, compiler: Path) -> None:
    done = kernlens("compile", warned, "--device", "dg2", "-o", "x.klens", "--log")
    assert (done.status, done.err) == (0, "")
    assert "compile seconds" in done.out.splitlines()[0]
    log = (
        "for dg2 (toolchain system): 2 warnings\n"
        f"  {warned.resolve()}:1:9: {REDEFINED}\n    #define TILE 8\n            ^\n"
        "  in kernel scale\n  k.cl:3: warning: it is odd\n"
    )
    assert log in done.out
    assert log in kernlens("inspect", "x.klens", "--log").out
    assert "it is odd" not in kernlens("inspect", "x.klens", "--log", "--kernel", "plain").out
    (program,) = kernlens("compile", warned, "--device", "dg2", "-o", "x.klens", "--log", "--json").document["programs"]
    first, second = program["messages"]
    assert (first["line"], first["column"], first["kernels"]) == (1, 9, [])
    assert (second["path"], second["line"], second["column"], second["kernels"]) == ("k.cl", 3, None, ["scale"])
    assert REDEFINED in program["log"]
    (recorded,) = kernlens("inspect", "x.klens", "--log", "--json").document["logs"]
    assert (recorded["messages"], recorded["log"]) == (program["messages"], program["log"])
    assert "holds no compiler's log" in kernlens("inspect", compiler.parent / "binary", "--log").err


def test_errors_are_counted_without_their_notes_and_once(kernlens: Kernlens, compiler: Path, tmp_path: Path) -> None:
    """Of 18 errors and 9 notes 5 are shown: 13 are left, not 22."""
    error = 'echo "$source:$n:1: error: no $n"'
    notes = 'for m in 1 2 3; do echo "h.h:$m:1: note: candidate"; done'
    messages = f"for n in $(seq 18); do {error}; [ $n -lt 4 ] && {notes}; done; n=1; {error}; {notes}"
    compiler.write_text(compiler.read_text().replace('echo "$source:1:1: error: it is broken"', messages))
    source = tmp_path / "broken.cl"
    source.write_text("broken\n")
    done = kernlens("compile", source, "--device", "skl", "-o", tmp_path / "x.klens", "--build-options", "-DN=3")
    assert done.status == 3
    assert f"{source} does not compile for skl (toolchain system, options -DN=3)\n" in done.err
    assert "and 13 more errors; kernlens compile --log prints all\n" in done.err
    assert "candidate" not in done.err
    done = kernlens("compile", source, "--device", "skl", "-o", tmp_path / "x.klens", "--json")
    assert done.document["programs"][0]["reason"].endswith("(and 17 more)")


def test_a_sweep_shows_why_its_rows_are_equal(kernlens: Kernlens, warned: Path) -> None:
    words = ("sweep", warned, "--device", "skl,dg2", "-D", "TILE=4,8,16")
    done = kernlens(*words)
    assert done.status == 0
    assert "  scale has the same machine code with -DTILE=4, -DTILE=8, -DTILE=16 (skl, dg2)\n" in done.out
    assert f"kernlens: {REDEFINED.replace('warning: ', 'warning: tile.cl:1:9: ')}\n" in done.err
    assert done.err.count("redefined") == 1
    assert "kernlens: warning: k.cl:3: in kernel scale: it is odd [3 of 6 compiles, all with dg2]\n" in done.err
    assert kernlens(*words) == done, "it is the same out of the cache"
    rows = kernlens(*words, "--json").document["rows"]
    assert len({row["code"] for row in rows if row["kernel"] == "scale"}) == 1
    assert rows[0]["warnings"] == ["tile.cl:1:9: 'TILE' macro redefined"]


@pytest.mark.parametrize("verb", ["diff", "check", "advise"])
def test_other_verbs_that_compile_say_the_warnings_too(verb: str, kernlens: Kernlens, warned: Path) -> None:
    words = {"diff": (warned, "--device", "skl,dg2"), "check": (warned, "--device", "skl", "--max-spill-stores", "9")}
    done = kernlens(verb, *words.get(verb, (warned, "--device", "skl")))
    assert done.status in (0, 1)
    assert done.err.count(REDEFINED) == 1
    assert kernlens("compile", warned, "--device", "skl", "-o", "x.klens").status == 0
    assert REDEFINED not in kernlens("check", "x.klens", "--max-spill-stores", "9").err, (
        "a recording has them in its log"
    )
