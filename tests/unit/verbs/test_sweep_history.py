"""``sweep --append`` and ``--plot``: commits of sources, a history that loses nothing, and the page of it."""

from __future__ import annotations

import os
import subprocess
import sys
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import pytest

from kernlens import sweep as kernlens_sweep
from kernlens.dataclass import replace
from kernlens.errors import KernlensError
from kernlens.model.figures import figure_named
from kernlens.report.history_page import Point, history_page
from kernlens.verbs.sweep import history
from kernlens.verbs.sweep.history import SourceState, append, check_history, points_of, state_of
from tests.unit.conftest import Kernlens
from tests.unit.model.test_best_sets import row
from tests.writers.programs import SOURCE

parquet = pytest.importorskip("pyarrow.parquet")
SPILLS = figure_named("spill-stores")


def git(folder: Path, *words: str, date: str = "2026-01-02T03:04:05+01:00") -> str:
    names = {f"GIT_{who}_{what}": "nobody" for who in ("AUTHOR", "COMMITTER") for what in ("NAME", "EMAIL")}
    environment = os.environ | names | {"GIT_COMMITTER_DATE": date, "GIT_AUTHOR_DATE": date}
    done = subprocess.run(["git", "-C", folder, *words], env=environment, capture_output=True, text=True, check=True)
    return done.stdout.strip()


@pytest.fixture
def folder(tmp_path: Path, compiler: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A repository with the source k/scale.cl, which is the working folder."""
    monkeypatch.setenv("KERNLENS_CACHE", str(tmp_path / "cache"))
    path = tmp_path / "project"
    (path / "k").mkdir(parents=True)
    monkeypatch.chdir(path)
    Path("k/scale.cl").write_text(SOURCE)
    git(path, "init", "-q")
    git(path, "add", "k")
    git(path, "commit", "-qm", "first")
    return path


def test_the_commit_of_a_source(folder: Path) -> None:
    commit = git(folder, "rev-parse", "HEAD")
    assert state_of("k/scale.cl") == SourceState(commit, "2026-01-02T02:04:05Z", False)
    Path("k/scale.cl").write_text(SOURCE + "\n")
    assert state_of("k/scale.cl").changed is True
    Path("k/new.cl").write_text(SOURCE)
    assert state_of("k/new.cl") == SourceState(commit, "2026-01-02T02:04:05Z", True)
    assert state_of(str(folder.parent / "x.cl")) == SourceState()


def test_nothing_of_the_repository_is_run(folder: Path) -> None:
    trap = folder / "trap"
    trap.write_text(f"#!/bin/sh\ntouch {folder}/sprung\n")
    trap.chmod(0o755)
    for setting in (
        "core.fsmonitor",
        "core.pager",
        "gpg.program",
        "filter.x.clean",
        "diff.external",
        "core.sshCommand",
    ):
        git(folder, "config", setting, str(trap))
    git(folder, "config", "log.showSignature", "true")
    Path(".gitattributes").write_text("*.cl filter=x\n")
    for hook in ("post-index-change", "reference-transaction", "post-checkout"):
        (folder / ".git/hooks" / hook).write_bytes(trap.read_bytes())
        (folder / ".git/hooks" / hook).chmod(0o755)
    assert state_of("k/scale.cl").changed is False
    assert not Path("sprung").exists()


def test_the_command_appends_and_draws(kernlens: Kernlens, folder: Path) -> None:
    command = ("sweep", "k/scale.cl", "--device", "skl", "--append", "runs.parquet", "--plot", "runs.html")
    assert kernlens(*command, "--sort", "code-size").status == 0
    Path("k/scale.cl").write_text(f"{SOURCE}\n")
    git(folder, "commit", "-qam", "second", date="2026-02-02T00:00:00Z")
    assert kernlens(*command, "--sort", "code-size").status == 0
    table = parquet.read_table("runs.parquet").to_pydict()
    commits = git(folder, "log", "--reverse", "--format=%H").split()
    assert table["commit"] == [commits[0]] * 2 + [commits[1]] * 2
    assert table["commit_date"][2:] == ["2026-02-02T00:00:00Z"] * 2
    assert (table["kernel"], table["changed"]) == (["scale", "plain"] * 2, [False] * 4)
    assert len(set(table["code_size"])) == 1
    page = Path("runs.html").read_text()
    assert page.count("<circle") == 4
    assert f"{commits[1][:10]} 2026-02-02T00:00:00Z" in page
    assert "<script" not in page


def test_so_does_the_function(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    words: dict[str, Any] = {"append": Path("runs.parquet"), "plot": "runs.html", "sort": "code-size"}
    rows = kernlens_sweep(["k/scale.cl"], "skl", **words)
    kernlens_sweep(["k/scale.cl"], "skl", append="runs.parquet")
    table = parquet.read_table("runs.parquet").to_pydict()
    assert table["kernel"] == [each.kernel for each in rows] * 2 == ["scale", "plain"] * 2
    assert table["commit"] == [git(folder, "rev-parse", "HEAD")] * 4
    page = Path("runs.html").read_text()
    assert page.count("<circle") == 2
    assert "code size" in page
    with pytest.raises(KernlensError, match="plot draws the history that append names"):
        kernlens_sweep(["k/scale.cl"], "skl", plot="runs.html")
    with pytest.raises(KernlensError, match=r"cannot write no/runs\.html: No such file"):
        kernlens_sweep(["k/scale.cl"], "skl", append="runs.parquet", plot="no/runs.html")
    assert len(parquet.read_table("runs.parquet")) == 6


def test_a_history_loses_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = str(tmp_path / "runs.parquet")
    append(path, [row("-a", spill_stores=1)])
    before = Path(path).read_bytes()

    def full(descriptor: int) -> None:
        raise OSError(28, "No space left on device")

    with monkeypatch.context() as patch:
        patch.setattr(os, "fsync", full)
        with pytest.raises(KernlensError, match=f"cannot write {path}: No space left"):
            append(path, [row("-b")])
    assert Path(path).read_bytes() == before
    assert os.listdir(tmp_path) == ["runs.parquet"]
    assert append(path, [row("-b", None)]).to_pydict()["options"] == ["-a", "-b"]
    check_history(path)


def test_those_who_append_at_the_same_time_wait(tmp_path: Path) -> None:
    script = (
        "import sys\nfrom kernlens.model.sweep_row import MEASURED, SweepRow\nfrom kernlens.verbs.sweep.history import append\n"
        "row = SweepRow('/x/a.cl', 'dg2', 'system', 'NEO', sys.argv[2], 'k', tuple(range(len(MEASURED))))\n"
        "for _ in range(5): append(sys.argv[1], [row])\n"
    )
    path = tmp_path / "runs.parquet"
    started = [subprocess.Popen([sys.executable, "-c", script, path, f"-D{name}"]) for name in "ABC"]
    assert [each.wait(120) for each in started] == [0, 0, 0]
    options = parquet.read_table(path).to_pydict()["options"]
    assert sorted(options) == ["-DA"] * 5 + ["-DB"] * 5 + ["-DC"] * 5


def test_figures_that_older_rows_lack_are_unknown(tmp_path: Path) -> None:
    path = str(tmp_path / "runs.parquet")
    older = row("-a")
    append(path, [replace(older, values=older.values[:-3])])
    assert append(path, [row("-b", cycles=7)]).to_pydict()["wait_cycles"] == [None, 7]


def test_what_is_no_history(kernlens: Kernlens, folder: Path) -> None:
    import pyarrow

    command = ("sweep", "k/scale.cl", "--device", "skl")
    assert "add that" in kernlens(*command, "--plot", "x.html").err
    Path("text.parquet").write_text("text")
    done = kernlens(*command, "--append", "text.parquet")
    assert (done.status, "text.parquet is no Parquet file" in done.err) == (2, True)
    parquet.write_table(pyarrow.table({"date": ["now"]}), "other.parquet")
    assert (
        "other.parquet has no column commit, so it is no history" in kernlens(*command, "--append", "other.parquet").err
    )
    table = append("own.parquet", [row("")])
    parquet.write_table(table.set_column(table.column_names.index("simd"), "simd", [["16"]]), "own.parquet")
    with pytest.raises(KernlensError, match="a column of another type"):
        append("own.parquet", [row("")])
    # The sweep's other files are written all the same.
    done = kernlens(*command, "--append", "own.parquet", "--csv", "x.csv")
    assert (done.status, "a column of another type" in done.err, Path("x.csv").exists()) == (2, True, True)
    Path("empty.parquet").write_text("")
    assert kernlens(*command, "--append", "empty.parquet").status == 0
    assert parquet.read_table("empty.parquet").num_rows == 2


def test_points_are_in_the_order_of_commits_and_the_last_run_of_one_counts(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = str(tmp_path / "runs.parquet")
    runs = [("b", "2026-02", 5), ("a", "2026-01", 3), ("b", "2026-02", 6), (None, None, 9)]
    for commit, date, spills in runs:
        state = SourceState(commit, date, False)
        monkeypatch.setattr(history, "state_of", lambda source, state=state: state)
        table = append(path, [row("", spill_stores=spills), row("", None)])
    (points,) = points_of(table, SPILLS).values()
    assert [(point.commit, point.value) for point in points] == [("a", 3), ("b", 6), (None, 9)]
    assert points_of(table, figure_named("live-grfs")) == {}


class Lines(HTMLParser):
    """The classes of the points of a page."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.points: list[str | None] = []
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        if tag == "circle":
            self.points.append(dict(attrs)["class"])


def test_the_page_has_what_got_worse_first() -> None:
    def points(*values: int | None) -> list[Point]:
        return [Point(f"2026-0{month}", "c" * 40, False, value) for month, value in enumerate(values, 1)]

    series: dict[tuple[str, ...], list[Point]] = {
        ("a.cl", "same", "dg2", "system", ""): points(5, 5),
        ("a.cl", "<better>", "dg2", "system", ""): points(7, 2),
        ("a.cl", "worse", "dg2", "system", "-x"): points(1, None, 4, 3),
        ("a.cl", "unknown", "dg2", "system", ""): points(None),
    }
    page = "".join(history_page(series, SPILLS))
    places = [page.index(f"<th>{name}</th>") for name in ("worse", "same", "unknown", "&lt;better&gt;")]
    assert places == sorted(places)
    assert Lines(page).points == ["", "worse", "better", "", "", "", "better"]
    assert "cccccccccc 2026-01" in page
    narrow = "".join(history_page({("a.cl", "k", "dg2", "system", ""): points(8, 16)}, figure_named("simd")))
    assert Lines(narrow).points == ["", "better"]
