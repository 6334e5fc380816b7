"""sweep: the matrix, what goes wrong in its cells, and what is written; the compiler is a script."""

from __future__ import annotations

import csv
import io
import json
import subprocess
import sys
import threading
from array import array
from collections.abc import Iterator, Sequence
from pathlib import Path

import pytest

import kernlens as package
from kernlens.cli.answers.sweep_table import sweep_document, sweep_table
from kernlens.errors import KernlensError
from kernlens.loading import open_build
from kernlens.model.build import Build
from kernlens.model.kernel import Kernel
from kernlens.model.pressure import Pressure
from kernlens.model.program import Program
from kernlens.model.spills import SPILLED_BYTES
from kernlens.model.sweep_row import MEASURED, SweepRow
from kernlens.report.style import rendered
from kernlens.toolchain.parallel_compiles import OnStart, do_many
from kernlens.verbs.sweep.cells import matrix
from kernlens.verbs.sweep.option_sets import macro_sets, option_sets
from tests.limits import memory, processor_time
from tests.unit.cli.test_terminal_text import HOSTILE, SHOWN, strange
from tests.unit.conftest import Kernlens
from tests.unit.toolchain.test_compile_cache import calls
from tests.writers.programs import SOURCE


@pytest.fixture
def source(tmp_path: Path, compiler: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("KERNLENS_CACHE", str(tmp_path / "cache"))
    monkeypatch.chdir(tmp_path)
    path = tmp_path / "scale.cl"
    path.write_text(SOURCE)
    return path


def rows_of(text: str) -> list[dict[str, str]]:
    return list(csv.DictReader(io.StringIO(text)))


def test_the_matrix_is_compiled_and_measured(kernlens: Kernlens, source: Path, compiler: Path) -> None:
    words = ("sweep", "scale.cl", "--device=skl,dg2", "--build-options=-DX", "--build-options=", "--csv", "x.csv")
    done = kernlens(*words)
    assert (done.status, done.err) == (0, "")
    assert "4 compiles, 8 kernels" in done.out
    rows = rows_of(Path("x.csv").read_text())
    assert [(row["device"], row["options"], row["kernel"]) for row in rows] == [
        (device, options, kernel)
        for device in ("skl", "dg2")
        for options in ("-DX", "")
        for kernel in ("scale", "plain")
    ]
    assert {(row["simd"], row["instructions"], row["spill_stores"], row["move_instructions"]) for row in rows} == {
        ("16", "3", "0", "3")
    }
    assert {row["compiler"][:17] for row in rows} == {"NEO 22.43.24595 /"}
    assert calls(compiler) == 4
    first = Path("x.csv").read_bytes()
    assert kernlens(*words) == done
    assert (Path("x.csv").read_bytes(), calls(compiler)) == (first, 4)


def test_as_json(kernlens: Kernlens, source: Path) -> None:
    (source.parent / "broken.cl").write_text("broken\n")
    done = kernlens("sweep", "scale.cl", "broken.cl", "--device", "skl", "--json")
    assert done.status == 3
    first, _, failed = done.document["rows"]
    assert (first["kernel"], first["figures"]["instructions"], first["reason"]) == ("scale", 3, None)
    assert (failed["source"], failed["kernel"], failed["figures"]) == ("broken.cl", None, None)
    assert failed["reason"] == "broken.cl does not compile for skl: it is broken at broken.cl:1:1"


def test_in_python(source: Path, tmp_path: Path) -> None:
    seen: list[tuple[int, int]] = []
    rows = package.sweep(
        source, ["skl"], options=["-DA=1", ["-DB=2", "-I", "a b"]], on_progress=lambda *counts: seen.append(counts)
    )
    assert [(row.options, row.kernel) for row in rows] == [
        (options, kernel) for options in ("-DA=1", '-DB=2 -I "a b"') for kernel in ("scale", "plain")
    ]
    assert rows[0].figures["simd"] == 16
    assert seen == [(1, 2), (2, 2)]


@pytest.mark.slow
def test_registers_needed_are_measured_where_they_are_asked_for(
    kernlens: Kernlens, source: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[str] = []

    def pressure(kernel: Kernel) -> Pressure:
        asked.append(kernel.name)
        return Pressure(array("H", [3, len(kernel.name)]), len(kernel.name), 1, 9, 32, False, False)

    monkeypatch.setattr("kernlens.model.kernel.Kernel.pressure", property(pressure))
    words = ("sweep", "scale.cl", "broken.cl", "--device", "skl,dg2", "--csv", "x.csv")
    Path("broken.cl").write_text("broken\n")
    assert "live GRFs" not in kernlens(*words).out
    assert not asked
    first, *_ = rows_of(Path("x.csv").read_text())
    assert "live_grfs" not in first
    counts = []
    for _ in range(2):
        done = kernlens(*words, "--sort", "live-grfs")
        assert done.out.splitlines()[0].split()[:5] == ["kernel", "source", "device", "live", "GRFs"]
        rows = rows_of(Path("x.csv").read_text())
        told = [(row["kernel"], row["live_grfs"], row["referenced_grfs"]) for row in rows]
        assert told == 2 * [("scale", "5", "9"), ("plain", "5", "9")] + 2 * [("", "", "")]
        counts.append(len(asked))
    assert counts[0] == counts[1] > 0, "the second time it is taken from the cache"
    assert package.sweep(source, "skl", pressure=True)[0].figures["live_grfs"] == 5
    assert "live_grfs" not in package.sweep(source, "skl")[0].figures


def test_a_source_that_goes_meanwhile(kernlens: Kernlens, source: Path, compiler: Path) -> None:
    for name in ("a", "b", "c"):
        Path(f"{name}.cl").write_text(f"// {name}\n{SOURCE}")
    fate = f'    case "$source" in *a.cl) rm -f {source.parent}/c.cl ;; esac\n'
    compiler.write_text(compiler.read_text().replace("    if grep", f"{fate}    if grep"))
    done = kernlens("sweep", "a.cl", "b.cl", "c.cl", "--device", "skl", "--jobs", "1")
    assert done.status == 3
    assert "3 compiles, 4 kernels, 1 failed" in done.out
    assert done.err.startswith(
        "kernlens: c.cl (skl system): c.cl does not compile for skl: there is no source file c.cl;"
    )
    assert done.err.count("\n") == 1
    Path("c.cl").write_text(SOURCE)
    planned = matrix(["a.cl", "c.cl"], ["skl"], ["system"], [""])
    Path("c.cl").unlink()
    assert [cell.source for cell in planned.largest_first()] == ["a.cl", "c.cl"]


def test_what_is_the_same_is_compiled_once(kernlens: Kernlens, source: Path, compiler: Path) -> None:
    Path("link.cl").symlink_to(source)
    words = ("--device", "skl,skylake", "--toolchain", "system,system", "--no-cache")
    sets = [word for each in ('""', "-DA=1   -DB=2", '"-DA=1" -DB=2') for word in ("--build-options", each)]
    done = kernlens("sweep", "scale.cl", str(source), "link.cl", *words, *sets)
    assert done.status == 0
    assert "2 compiles, 4 kernels" in done.out
    assert calls(compiler) == 2


def test_the_worst_come_first_and_the_rest_is_counted(kernlens: Kernlens, source: Path) -> None:
    done = kernlens("sweep", "scale.cl", "--device", "skl,dg2,icllp", "--top", "2", "--sort", "code bytes")
    lines = done.out.splitlines()
    assert lines[0].split()[:2] == ["kernel", "device"]
    assert len(lines) == 5
    assert "and 4 more rows" in lines[3]
    assert kernlens("sweep", "scale.cl", "--device", "skl", "--top", "0").out.count("\n") == 4


@pytest.mark.slow
def test_cells_that_crash_or_hang_say_so_and_the_others_finish(
    kernlens: Kernlens, source: Path, compiler: Path
) -> None:
    text = compiler.read_text()
    fate = '    case "$source" in *hang*) sleep 100 ;; *crash*) kill -SEGV $$ ;; esac\n'
    compiler.write_text(text.replace("    if grep", f"{fate}    if grep"))
    for name in ("hang", "crash"):
        Path(f"{name}.cl").write_text(SOURCE)
    done = kernlens(
        "sweep", "hang.cl", "crash.cl", "scale.cl", "--device", "skl,dg2", "--timeout", "1", "--csv", "x.csv"
    )
    assert done.status == 3
    assert "6 compiles, 4 kernels, 4 failed" in done.out
    rows = rows_of(Path("x.csv").read_text())
    reasons = {(row["source"], row["device"]): row["reason"] for row in rows}
    for device in ("skl", "dg2"):
        assert "did not finish within 1 s" in reasons["hang.cl", device]
        assert "was killed by SIGSEGV" in reasons["crash.cl", device]
        assert reasons["scale.cl", device] == ""
    assert done.err.count("\n") == 4
    assert "crash.cl (dg2 system): " in done.err


def test_a_fault_in_one_cell_is_its_own(kernlens: Kernlens, source: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def opened(build: Build) -> Sequence[Program]:
        return open_build(build) if build.device == "skl" else [] * (1 // 0)

    monkeypatch.setattr("kernlens.verbs.sweep.measuring.open_build", opened)
    done = kernlens("sweep", "scale.cl", "--device", "skl,dg2")
    assert done.status == 3
    assert "1 failed" in done.out
    assert "a fault of kernlens itself, please report it: ZeroDivisionError" in done.err


@pytest.mark.slow
def test_an_interrupted_sweep_goes_on(kernlens: Kernlens, source: Path, compiler: Path) -> None:
    """The first run is stopped, as by Ctrl-C, while its third compile runs; what was done is not done again."""
    compiler.write_text(
        compiler.read_text().replace(
            "    if grep",
            f'    [ "$(wc -l < {compiler.parent}/calls)" -eq 3 ] && kill -INT $PPID && sleep 100\n    if grep',
        )
    )
    words = ("sweep", "scale.cl", "--device", "skl", "-D", "A=1,2,3,4,5", "--jobs", "1", "--csv", "x.csv")
    script = "import sys; from kernlens.cli.main import main; main()"
    done = subprocess.run([sys.executable, "-c", script, *words], capture_output=True, text=True, timeout=60)
    assert done.returncode == 130
    assert "interrupted" in done.stderr
    assert not Path("x.csv").exists()
    assert calls(compiler) == 3
    assert kernlens(*words).status == 0
    assert calls(compiler) == 3 + 3
    assert len(rows_of(Path("x.csv").read_text())) == 10


def test_a_recording_of_all_programs(kernlens: Kernlens, source: Path) -> None:
    Path("broken.cl").write_text("broken\n")
    done = kernlens("sweep", "broken.cl", "--device", "skl", "-o", "x.klens")
    assert (done.status, Path("x.klens").exists()) == (3, False)
    done = kernlens("sweep", "scale.cl", "broken.cl", "--device", "skl", "-D", "N=1,2", "-o", "x.klens")
    assert done.status == 3
    assert len(kernlens("inspect", "x.klens", "--json").document["programs"]) == 2
    assert "int id" in kernlens("annotate", "x.klens").out


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (("--csv", "nowhere/x.csv"), "cannot write nowhere/x.csv: the folder nowhere does not exist"),
        (("--csv", "."), "cannot write .; choose another location"),
        (("-o", "bad"), "bad exists and is not a recording; kernlens leaves it alone"),
        (("--csv", "x", "-o", "x"), "two output options name the same file"),
        (("--heat-map", "x.jpg"), "--heat-map writes .html files"),
        (("--csv", "scale.cl"), "scale.cl is named twice in this command"),
        (("--sort", "spil"), "there is no metric 'spil'; did you mean spill-bytes"),
        (("--device", "sk"), "knows no device 'sk'; did you mean skl"),
        (("--toolchain", "old"), "there is no toolchain 'old'"),
        (("--device", ","), "no target device for scale.cl"),
        (("-D", "1A=2"), "-D 1A=2 does not read like NAME=1,2,4"),
        (("-D", "A=1", "-D", "A=2"), "-D A is given twice"),
        (("-D", "A=1,,2"), "empty value"),
        (("--build-options", '-DA="x'), "a double quote is not closed"),
        (("--build-options", f"-DA{'a' * 100_000}"), "100,003 characters are too many for a compiler"),
        (("--build-options", "-DA=\x1b[1m"), "control character"),
        (
            ("--jobs", "2", "--scheduler", "tcp://x:1"),
            "--scheduler has each Dask worker use its own threads; remove --jobs",
        ),
        (("unreadable.cl",), "there is no source file unreadable.cl"),
        (("hollow",), "hollow is a folder"),
    ],
)
def test_what_is_refused_before_anything_is_compiled(
    words: tuple[str, ...], sentence: str, kernlens: Kernlens, source: Path, compiler: Path
) -> None:
    Path("hollow").mkdir()
    Path("bad").write_text("no recording\n")
    device = () if "--device" in words else ("--device", "skl")
    done = kernlens("sweep", "scale.cl", *device, *words)
    assert (done.status, done.out) == (2, "")
    assert sentence in done.err
    assert "Traceback" not in done.err
    assert calls(compiler) == 0


@pytest.mark.parametrize(
    ("module", "words", "package"),
    [
        ("distributed", ("--scheduler", "tcp://127.0.0.1:9"), "distributed"),
    ],
)
def test_an_extra_that_is_not_installed_is_named(
    module: str, words: tuple[str, ...], package: str, kernlens: Kernlens, source: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, module, None)
    done = kernlens("sweep", "scale.cl", "--device", "skl", *words)
    assert (done.status, done.out, done.err.count("\n")) == (2, "", 1)
    assert f"pip install {package}" in done.err


def test_sets_of_options() -> None:
    assert list(macro_sets(["A=1,2,1", "B", "C=x y"])) == ['-DA=1 -DB -D"C=x y"', '-DA=2 -DB -D"C=x y"']
    assert list(macro_sets(["A="])) == ["-DA="]
    assert list(macro_sets([])) == [""]
    assert option_sets(["-O1", ""], ["A=1,2"]) == ["-O1 -DA=1", "-O1 -DA=2", "-DA=1", "-DA=2"]
    assert option_sets([]) == [""]
    with pytest.raises(KernlensError, match="1,000,000,000 combinations; at most 100,000"):
        list(macro_sets([f"{name}=" + ",".join(map(str, range(1000))) for name in "ABC"]))


def test_formulas_of_spreadsheets_are_texts(kernlens: Kernlens, source: Path) -> None:
    Path("=cmd.cl").write_text(SOURCE)
    assert kernlens("sweep", "./=cmd.cl", "=cmd.cl", "--device", "skl", "--csv", "x.csv").status == 0
    assert rows_of(Path("x.csv").read_text())[0]["source"] == "./=cmd.cl"
    assert kernlens("sweep", "=cmd.cl", "--device", "skl", "--build-options", "-DX", "--csv", "x.csv").status == 0
    row = rows_of(Path("x.csv").read_text())[0]
    assert (row["source"], row["options"]) == ("'=cmd.cl", "-DX")


@pytest.mark.slow
def test_jobs_are_taken_as_they_are_done_and_results_are_forgotten() -> None:
    """10,000 jobs: never more taken than a few beside those that were given back, and no result is kept."""
    taken = yielded = most = 0
    lock = threading.Lock()

    def jobs() -> Iterator[int]:
        nonlocal taken, most
        for number in range(10_000):
            taken += 1
            most = max(most, taken - yielded)
            yield number

    def work(number: int, on_start: OnStart) -> bytes:
        with lock:
            return number.to_bytes(4, "little") * 25_000

    seen = set()
    # All results together are 1 GB.
    with processor_time(20), memory(8 << 20):
        for result in do_many(jobs(), work, 3):
            yielded += 1
            seen.add(int.from_bytes(result[:4], "little"))
            del result
    assert len(seen) == yielded == 10_000
    assert most <= 8


def test_what_work_raises_ends_all() -> None:
    def work(number: int, on_start: OnStart) -> int:
        if number == 5:
            raise KernlensError("five")
        return number

    with pytest.raises(KernlensError, match="five"):
        list(do_many(range(100_000_000), work, 2))


def test_the_order_of_the_answer_is_that_of_the_matrix(kernlens: Kernlens, source: Path) -> None:
    for size in range(4):
        Path(f"{size}.cl").write_text(SOURCE + " " * size * 100)
    words = ("sweep", "0.cl", "3.cl", "1.cl", "2.cl", "--device", "skl", "--json")
    document = kernlens(*words).document
    assert [row["source"] for row in document["rows"]][::2] == ["0.cl", "3.cl", "1.cl", "2.cl"]
    assert json.dumps(document) == json.dumps(kernlens(*words, "--no-cache").document)


def test_outputs_hold_nothing_that_is_no_text(kernlens: Kernlens, source: Path) -> None:
    broken, good = Path(f"broken{HOSTILE}.cl"), Path(f"good{HOSTILE}.cl")
    broken.write_text("broken\n")
    good.write_text(SOURCE)
    done = kernlens("sweep", broken, good, "--device", "skl", "--csv", "x.csv", "--heat-map", "x.html")
    assert (done.status, SHOWN in done.out, SHOWN in done.err, strange(done.err)) == (3, True, True, set())
    for name in ("x.csv", "x.html"):
        text = Path(name).read_text()
        assert (strange(text), SHOWN in text) == (set(), True)
    assert kernlens("sweep", good, "--device", "skl", "--build-options", HOSTILE).status == 2


def test_spills_without_bytes_are_no_missing_spills() -> None:
    """The binary states no bytes; the code has 488 spill stores."""

    def row(spilled: int | None, stores: int | None) -> SweepRow:
        known = {"spill_bytes": spilled, "spill_stores": stores, "simd": 16}
        return SweepRow("a.cl", "dg2", "system", "", "", "k", tuple(known.get(figure.key) for figure in MEASURED))

    rows = [row(None, 488), row(None, 0), row(None, None), row(0, None), row(64, None)]
    assert [each["has_spills"] for each in sweep_document(rows)["rows"]] == [True, False, None, False, True]
    _, *lines = map(rendered, sweep_table(rows, SPILLED_BYTES, 0))
    assert sum("> 0" in line for line in lines) == 1
