"""``sweep --append``: commits of sources, and a history that loses nothing."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from kernlens import sweep as kernlens_sweep
from kernlens.dataclass import replace
from kernlens.errors import KernlensError
from kernlens.verbs.sweep.history import SourceState, append, check_history, state_of
from tests.unit.conftest import Kernlens
from tests.unit.model.test_best_sets import row
from tests.writers.programs import SOURCE

parquet = pytest.importorskip("pyarrow.parquet")


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


def test_the_command_appends(kernlens: Kernlens, folder: Path) -> None:
    command = ("sweep", "k/scale.cl", "--device", "skl", "--append", "runs.parquet")
    assert kernlens(*command).status == 0
    Path("k/scale.cl").write_text(f"{SOURCE}\n")
    git(folder, "commit", "-qam", "second", date="2026-02-02T00:00:00Z")
    assert kernlens(*command).status == 0
    table = parquet.read_table("runs.parquet").to_pydict()
    commits = git(folder, "log", "--reverse", "--format=%H").split()
    assert table["commit"] == [commits[0]] * 2 + [commits[1]] * 2
    assert table["commit_date"][2:] == ["2026-02-02T00:00:00Z"] * 2
    assert (table["kernel"], table["changed"]) == (["scale", "plain"] * 2, [False] * 4)
    assert len(set(table["code_size"])) == 1


def test_so_does_the_function(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    rows = kernlens_sweep(["k/scale.cl"], "skl", append=Path("runs.parquet"))
    kernlens_sweep(["k/scale.cl"], "skl", append="runs.parquet")
    table = parquet.read_table("runs.parquet").to_pydict()
    assert table["kernel"] == [each.kernel for each in rows] * 2 == ["scale", "plain"] * 2
    assert table["commit"] == [git(folder, "rev-parse", "HEAD")] * 4


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
