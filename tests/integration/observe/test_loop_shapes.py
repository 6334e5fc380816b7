"""The line and the rounds of loops of many shapes, held against counters that the kernels keep themselves, on PoCL; and the
weights of their machine code."""

from __future__ import annotations

import shutil
import struct
import subprocess
from pathlib import Path

import pytest

from kernlens.analysis.executions import kernel_with_executions
from kernlens.loading.open import open_file
from kernlens.verbs.observe.observe import observe
from tests.integration.annotate.test_unrolled_nests import bytes_of_lines
from tests.integration.capture.capture_fixtures import environment
from tests.integration.layers.opencl_layer_fixtures import pocl

pytestmark = [
    pytest.mark.skipif(not Path("/usr/lib/oclgrind/liboclgrind-rt.so").exists(), reason="no Oclgrind 21.10"),
    pytest.mark.skipif(shutil.which("ocloc") is None, reason="no compiler for Intel's GPUs"),
]
ITEMS, COUNT, N, M = 256, 262144, 13, 3
HOST = Path(__file__).parent / "sources" / "rounds.c"
#: Each loop counts its rounds at ROUND(number) and how often it is come to at ENTER(number); LOAD has another index each time.
#: The line of the loop's branch back has a comment with its number: machine code has the loop's condition there.
HEAD = r"""#ifdef COUNTED
#define ROUND(number) rounds[2 * number]++;
#define ENTER(number) rounds[2 * number + 1]++;
#else
#define ROUND(number)
#define ENTER(number)
#endif
#define LOAD(index) in[(index) * 256 + g]
float tail(global const float *in, int from, int n, int *rounds)
{
  float s = 0;
  int i = from, g = 0; ENTER(1)
  while (i < n) { // 1
    ROUND(1) s = s * 0.5f + LOAD(i);
    i++;
  }
  return s;
}
int is_below(float value, float limit)
{
  return value < limit;
}
kernel void k(global const float *in, global float *out, int n, int m, global int *counts)
{
  int g = get_global_id(0), i = 0, rounds[4] = {0, 0, 0, 0};
  float s = 0;
"""
TAIL = """
  out[g] = s;
#ifdef COUNTED
  for (int each = 0; each < 4; each++)
    counts[g * 4 + each] = rounds[each];
#endif
}
"""
#: name -> the loops.
SHAPES = {
    "while with and": """ENTER(0)
  while (i < n && // 0
         LOAD(i) < 0.9f) {
    ROUND(0) s = s * 0.5f + LOAD(i + 7);
    i++;
  }""",
    "do": """ENTER(0)
  do {
    ROUND(0) s = s * 0.5f + LOAD(i);
    i++;
  } while (i < n); // 0""",
    "do with and": """ENTER(0)
  do {
    ROUND(0) s = s * 0.5f + LOAD(i);
    i++;
  } while (i < n && s < 1.2f); // 0""",
    "break": """ENTER(0)
  for (; i < n; i++) { // 0
    float v = LOAD(i); ROUND(0)
    if (v > 0.95f)
      break;
    s = s * 0.5f + v;
  }""",
    "continue": """ENTER(0)
  while (i < n) { // 0
    float v = LOAD(i); ROUND(0)
    i++;
    if (v > 0.8f)
      continue;
    if (v < 0.2f) {
      s += 1;
      continue;
    }
    s = s * 0.5f + v;
  }""",
    "do with continue": """ENTER(0)
  do {
    float v = LOAD(i); ROUND(0)
    if (v > 0.8f)
      continue;
    s = s * 0.5f + v;
  } while (++i < n); // 0""",
    "nested": """ENTER(0)
  for (int j = 0; j < m; j++) { // 0
    ROUND(0) i = 0; ENTER(1)
    do {
      ROUND(1) s = s * 0.5f + LOAD(j * 16 + i);
    } while (++i < n); // 1
  }""",
    "inlined": """ENTER(0)
  for (int j = 0; j < m; j++) { // 0
    ROUND(0)
    s += tail(in + g, j, n, rounds);
  }""",
    "inlined first": """ENTER(0)
  do {
    s += tail(in + g, i, n, rounds); ROUND(0)
    i++;
  } while (i < m); // 0""",
    "inlined condition": """ENTER(0)
  while (i < n && is_below(LOAD(i), 0.9f)) { // 0
    ROUND(0) s = s * 0.5f + LOAD(i + 7);
    i++;
  }""",
    "switch": """ENTER(0)
  while (i < n) { // 0
    ROUND(0)
    switch (i & 3) {
    case 0:
      s += LOAD(i);
      break;
    case 1:
      s *= LOAD(i + 1);
      break;
    default:
      s -= LOAD(i + 2);
    }
    i++;
  }""",
    "unrolled": """ENTER(0)
  for (int j = 0; j < m; j++) { // 0
    ROUND(0) ENTER(1)
    for (int r = 0; r < 4; r++) { // 1
      ROUND(1) s = s * 0.5f + LOAD(j * 4 + r);
    }
  }""",
    "condition in the middle": """ENTER(0)
  for (;;) {
    float v = LOAD(i);
    if (i >= n) // 0
      break;
    ROUND(0) s = s * 0.5f + v;
    i++;
  }""",
    "what is above": """ENTER(0)
  float x =
    LOAD(0);
  while (i < n) // 0
  {
    ROUND(0) s += x * LOAD(i);
    i++;
  }""",
    "go back": """ENTER(0)
again:
  ROUND(0) s = s * 0.5f + LOAD(i);
  i++;
  if (i < n) // 0
    goto again;""",
}  # fmt: skip


Sums = dict[int, tuple[int, int]]


def line_of(source: str, number: int) -> int:
    return max(line for line, text in enumerate(source.splitlines(), 1) if text.endswith(f"// {number}"))


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A file for each shape, and the array that all of them read."""
    folder = tmp_path_factory.mktemp("rounds")
    values = [((each * 2654435761) >> 7) % 1000 / 1000 for each in range(COUNT)]
    (folder / "in").write_bytes(struct.pack(f"<{COUNT}f", *values))
    for name, body in SHAPES.items():
        (folder / f"{name}.cl").write_text(HEAD + "  " + body + TAIL)
    return folder


@pytest.fixture(scope="module")
def sums(folder: Path) -> dict[str, Sums]:
    """How often the work-items of each shape came to its loops, and their rounds, by the lines."""
    host = folder / "host"
    words = ["gcc", "-std=gnu11", "-Wall", "-Wextra", "-Werror", "-o", str(host), str(HOST), "-lOpenCL"]
    subprocess.run(words, check=True, timeout=60)
    paths = [folder / f"{name}.cl" for name in SHAPES]
    variables = environment(pocl(folder / "pocl"))
    done = subprocess.run([host, folder / "in", *paths], env=variables, capture_output=True, timeout=300, check=False)
    assert done.returncode == 0, done.stderr.decode()
    own = struct.iter_unpack("<4i", done.stdout)
    result = {}
    for name, path in zip(SHAPES, paths, strict=True):
        counts = [next(own) for _ in range(ITEMS)]
        totals = {
            number: (sum(each[2 * number + 1] for each in counts), sum(each[2 * number] for each in counts))
            for number in (0, 1)
        }
        result[name] = {line_of(path.read_text(), number): total for number, total in totals.items() if total[1]}
    return result


@pytest.mark.parametrize("name", SHAPES)
def test_rounds_are_what_the_kernels_count_themselves(
    name: str, folder: Path, sums: dict[str, Sums], tmp_path: Path
) -> None:
    arguments = [str(folder / "in"), f"zeros:float:{ITEMS}", str(N), str(M), "zeros:int:1024"]
    recording = tmp_path / "k.klens"
    launch = observe(
        folder / f"{name}.cl",
        kernel="k",
        size=[ITEMS],
        group=[64],
        arguments=arguments,
        device="dg2",
        recording=recording,
    )
    loops = {each.place.line: (each.entries, round(each.entries * each.mean)) for each in launch.loops if each.place}
    assert sums[name]
    assert {line: rounds for line, (_, rounds) in loops.items()} == {
        line: rounds for line, (_, rounds) in sums[name].items()
    }
    # Where the condition is the first thing, a work-item that runs no round does not come in.
    assert all(loops[line][0] <= came for line, (came, _) in sums[name].items())
    (program,) = open_file(recording).programs
    kernel = kernel_with_executions(program, program.kernels["k"])
    weighed, counted = bytes_of_lines(kernel)
    # The condition in the middle, which ran once more than the rounds, is weighed by these.
    assert all(weighed[line] * 1.1 >= counted[line] for line in counted)
    assert kernel.trip_weights is not None
    assert kernel.trip_weights.observed is not None
    notes = kernel.trip_weights.observed.notes
    assert not any("one round each" in note for note in notes)
    if (
        name == "condition in the middle"
    ):  # Its load is in front of the loop once more where the condition is at the end.
        assert not any("at most" in note for note in notes)
