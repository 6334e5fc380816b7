"""``--line FILE:N`` of programs whose own source came to the compiler without a name, as an application's does."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from kernlens.model.build import Build, HeldParts, Source
from kernlens.recording.writer import RecordingWriter
from tests.integration.cli.test_cli import kernlens

HIST = """\
kernel void hist(global const int *in, global int *out, int n) {
  int i = get_global_id(0);
  int sum = 0;
  for (int j = 0; j < n; j++)
    sum ^= in[i * j];
  if (sum > 3)
    out[i] = sum * 3 + n;
}
"""


def captured(folder: Path, name: str, text: str) -> Build:
    """Return the build of a text that the compiler was given without a name."""
    (folder / "in.cl").write_text(text)
    command = ["ocloc", "compile", "-file", "in.cl", "-device", "dg2", "-output", name, "-output_no_suffix"]
    subprocess.run([*command, "-options", "-gline-tables-only"], cwd=folder, check=True, capture_output=True)
    (folder / "in.cl").unlink()
    read = {ending: (folder / f"{name}{ending}").read_bytes() for ending in ("", ".dbg")}
    parts = HeldParts(binary=read[""], debug=read[".dbg"], sources=(Source("", text, "recording"),))
    return Build(name, "dg2", options="-gline-tables-only", parts=parts)


@pytest.fixture(scope="module")
def recorded(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("nameless")
    with RecordingWriter(folder / "x.klens") as writer:
        writer.add(captured(folder, "program-1", f"#define ADDED 1\n{HIST}\nconstant int also_added = 0;"))
        writer.add(captured(folder, "program-2", HIST.replace("sum * 3", "sum * 5").replace("hist", "other")))
    (folder / "src").mkdir()
    (folder / "src" / "hist.cl").write_text(HIST)
    (folder / "changed.cl").write_text(HIST.replace("sum * 3", "sum * 4"))
    return folder


@pytest.mark.parametrize(
    ("name", "kernels"),
    [
        ("src/hist.cl:7", ["hist"]),  # whose text the program has, below a line that was added
        ("program-1:8", ["hist"]),
        ("program-2:7", ["other"]),
        ("<stdin>:7", ["hist", "other"]),
    ],
)
def test_the_source_is_meant_by_its_names(recorded: Path, name: str, kernels: list[str]) -> None:
    done = kernlens("annotate", "x.klens", "--line", name, cwd=recorded)
    assert done.returncode == 0, done.stderr
    assert [line.split()[0] for line in done.stdout.splitlines() if "program-" in line] == kernels
    assert "out[i] = sum *" in done.stdout
    rows = kernlens("annotate", "x.klens", "--line", name, "--format", "csv", cwd=recorded).stdout.splitlines()[1:]
    assert {row.split(",")[2] for row in rows} == set(kernels)
    done = kernlens("stages", "x.klens", "--line", name, cwd=recorded)
    assert (done.returncode, done.stdout.count("\n  spirv ")) == (0, len(kernels)), done.stderr


@pytest.mark.parametrize("name", ["changed.cl:7", "hist.cl:7"])
def test_a_miss_says_which_files_there_are(recorded: Path, name: str) -> None:
    done = kernlens("annotate", "x.klens", "--line", name, cwd=recorded)
    assert (done.returncode, done.stdout) == (1, "")
    names = "1 (the source of program-1), 1 (the source of program-2)"
    assert done.stderr == f"kernlens: no instruction came from a file {name[:-2]}; the line tables have {names}\n"
    done = kernlens("stages", "x.klens", "--line", name, cwd=recorded)
    assert done.stderr.endswith("the files with lines are /program.cl\n")
    done = kernlens("annotate", "x.klens", "--line", "src/hist.cl:2222", cwd=recorded)
    assert done.stderr.endswith("leave --line out to see the lines that have code\n")
