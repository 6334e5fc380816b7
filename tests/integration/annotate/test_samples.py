"""Samples on real kernels, in files by unitrace's printing rules, not from real hardware: each sample lands or is named."""

from __future__ import annotations

import csv
import json
import os
import random
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from kernlens import compile
from kernlens.analysis.placed_samples import PlacedSamples, placed_samples
from kernlens.analysis.sampled_kernels import SampledKernels
from kernlens.formats.samples.unitrace import read_unitrace
from kernlens.model.kernel import Kernel
from kernlens.toolchain.toolchains import NEWEST, SYSTEM
from tests.example_samples import EXAMPLE, example
from tests.explore_reader import Page
from tests.packed_code import packed
from tests.unit.conftest import Kernlens, kernlens
from tests.writers.stall_samples import METRICS, REASONS, Device, Row, counts, legacy_stall_samples, stall_samples

__all__ = ["kernlens"]

SOURCE = """\
float scaled(global const float *b, int i)
{
  return b[i] * 7.0f;
}
kernel void joined(global float *a, global const float *b, int n, int m)
{
  int i = get_global_id(0);
  float x = b[i];
  for(int k = 0; k < n; k++)
  {
    float y = b[i + k * m];
    if(y > 3.0f)
    {
      a[i + k] = x;
      x = b[(int)y];
    }
    else
      x = scaled(b, (int)y * 7 + m);
    barrier(CLK_LOCAL_MEM_FENCE);
  }
  a[i] = x;
}
kernel void plain(global float *a)
{
  a[get_global_id(0)] = native_exp(a[get_global_id(1)]);
}
"""
SBID, DISTANCE = REASONS.index("SbidStall"), REASONS.index("DistStall")


#: Where bmg's disassembler is.
NEWEST_ROOT = os.environ.get("KERNLENS_NEWEST_ROOT")


@pytest.fixture
def run(kernlens: Kernlens, monkeypatch: pytest.MonkeyPatch) -> Kernlens:
    """The command line, which finds the newest toolchain."""
    if NEWEST_ROOT is not None:
        monkeypatch.setenv("KERNLENS_NEWEST_ROOT", NEWEST_ROOT)
    return kernlens


@pytest.fixture(scope="module", params=["dg2", "bmg"])
def recording(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, list[Kernel]]:
    """The recording, and its kernels."""
    if request.param == "bmg":
        request.getfixturevalue("newest_root")
    folder = tmp_path_factory.mktemp("samples")
    (folder / "k.cl").write_text(SOURCE)
    toolchain = NEWEST if request.param == "bmg" else SYSTEM
    (program,) = compile(folder / "k.cl", [request.param], toolchain=toolchain, recording=folder / "k.klens")
    return folder / "k.klens", list(program.kernels.values())


def _rows(kernels: list[Kernel], chance: random.Random) -> list[Row]:
    """Return rows of most instructions, and some at offsets and of kernels that are not there."""
    rows: list[Row] = []
    for kernel in kernels:
        for offset in kernel.instructions.offsets:
            if chance.random() < 0.8:
                rows.append((kernel.name, offset, [chance.choice((0, chance.randrange(1000))) for _ in METRICS]))
        rows += [(kernel.name, kernel.code_size + 8 * chance.randrange(9), counts(Active=chance.randrange(50)))] * 2
    rows += [("absent<int, 4>(float*)", 8 * number, counts(SyncStall=number)) for number in range(4)]
    return rows


@pytest.mark.parametrize("seed", range(3))
def test_each_sample_lands_or_is_named(
    recording: tuple[Path, list[Kernel]], run: Kernlens, tmp_path: Path, seed: int
) -> None:
    path, kernels = recording
    chance = random.Random(seed)
    rows = _rows(kernels, chance)
    split = chance.randrange(len(rows))
    devices = [Device(1, rows[:split]), Device(4, rows[split:])]
    text = stall_samples(rows) if seed == 0 else legacy_stall_samples(devices)
    samples = tmp_path / "stalls.csv"
    samples.write_text(text)
    total = sum(sum(numbers) for _, _, numbers in rows)

    document = json.loads(run("annotate", path, "--samples", samples, "--json").out)
    each = [kernel["samples"] for kernel in document["programs"][0]["kernels"]]
    absent = sum(kernel["samples"] for kernel in document["samples"]["without_kernel"])
    beside = sum(sum(row["samples"].values()) for kernel in each for row in kernel["without_instruction"])
    landed = sum(sum(row["samples"].values()) for kernel in each for row in kernel["instructions"])
    assert landed + beside + absent == total == document["samples"]["total"]
    assert absent == 6
    assert {kernel["name"] for kernel in document["samples"]["without_kernel"]} == {"absent<int, 4>(float*)"}
    for kernel in each:
        waiting = sum(kernel["reasons"].get(REASONS[column], 0) for column in (SBID, DISTANCE))
        laid = sum(wait["samples"] for row in kernel["instructions"] for wait in row["waits_for"])
        assert laid + kernel["unknown_producer"] == waiting
        assert sum(row["waited_for"] for row in kernel["instructions"]) == laid

    table = list(csv.DictReader(run("annotate", path, "--samples", samples, "--format", "csv").out.splitlines()))
    assert sum(int(row["samples"]) for row in table) == landed
    done = run("annotate", path, "--samples", samples, "--top", "3")
    assert json.loads(run("annotate", path, "--samples", samples, "--top", "3", "--json").out)["by"] == "samples"
    assert "6 samples at 4 addresses not shown" in done.err or "6 samples at 3 addresses not shown" in done.err
    for kernel, placed in zip(kernels, each, strict=True):
        assert f"{placed['total']:,} samples of unitrace" in done.out, kernel.name


def _placed(kernel: Kernel, rows: Sequence[Row]) -> PlacedSamples:
    return placed_samples(SampledKernels(read_unitrace(stall_samples(rows).encode())), kernel.name, kernel.instructions)


def test_waits_are_laid_on_producers_over_all_ways(recording: tuple[Path, list[Kernel]]) -> None:
    kernel = next(kernel for kernel in recording[1] if kernel.name == "joined")
    code = packed(kernel.instructions)
    rows = [(kernel.name, offset, counts(SbidStall=101, DistStall=10)) for offset in code.offsets]
    placed = _placed(kernel, rows)
    waits: dict[int, dict[int, int]] = {}
    for blame in placed.blames:
        waits.setdefault(blame.waiter, {})[blame.producer] = blame.samples
    ways = taken = 0
    for row, instruction in enumerate(iter(code)):
        swsb = instruction.swsb
        if swsb is None or swsb.token is None:
            continue
        if swsb.token_use == "set":  # It waits until the token is free.
            taken += any(
                (other := code[producer].swsb) and other.token == swsb.token for producer in waits.get(row, ())
            )
            continue
        producers = [
            producer for producer in waits[row] if (other := code[producer].swsb) and other.token == swsb.token
        ]
        assert producers, instruction.text
        parts = sorted(waits[row][producer] for producer in producers)
        if swsb.distance is None:
            assert sum(parts) == 101
            assert parts[-1] - parts[0] <= 1, "in equal parts"
        ways += len(producers) > 1
    assert ways, "a token may have been taken before the loop, in either branch, or the last time around"
    assert taken


def test_the_page_has_the_samples(recording: tuple[Path, list[Kernel]], run: Kernlens, tmp_path: Path) -> None:
    path, kernels = recording
    samples = tmp_path / "stalls.csv"
    samples.write_text(stall_samples([("plain", kernels[1].instructions.offsets[3], counts(Active=5, SendStall=2))]))
    page = tmp_path / "k.html"
    assert run("report", path, "--samples", samples, "-o", page).status == 0
    chunks = {name: chunk["code"]["samples"] for name, chunk in _kernels(page).items()}
    assert chunks["joined"] is None
    assert chunks["plain"]["rows"] == {"row": [3], "counts": [list(counts(Active=5, SendStall=2))]}


def _kernels(page: Path) -> dict[str, dict[str, Any]]:
    whole = Page(page.read_text())
    ids = [name for name, entry in whole.index["chunks"].items() if entry["kind"] == "kernel"]
    return {chunk["name"]: chunk for chunk in map(whole.chunk, ids)}


def test_two_sides(recording: tuple[Path, list[Kernel]], run: Kernlens, tmp_path: Path) -> None:
    path, kernels = recording
    offset = kernels[1].instructions.offsets[3]
    files = tmp_path / "old.csv", tmp_path / "new.csv"
    for file, number in zip(files, (40, 4), strict=True):
        file.write_text(stall_samples([("plain", offset, counts(SendStall=number))]))
    done = run("diff", path, path, "--samples", files[0], "--samples", files[1], "--json")
    assert done.status == 0, "the code is the same"
    (kernel,) = json.loads(done.out)["samples"]
    assert (kernel["kernel"], kernel["old"], kernel["new"]) == ("plain", 40, 4)
    assert kernel["reasons"] == [{"name": "SendStall", "old": 40, "new": 4}]
    assert run("diff", path, path, "--samples", files[0]).status == 2


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("--sort", "samples", "--top", "3"), "needs --samples"),
        (("--samples", "CSV", "--pressure"), "--samples is shown beside lines and instructions; remove --pressure"),
        (("--samples", "CSV", "--waits", "--top", "3"), "in the listing only; remove --waits"),
        (("--samples", "CSV", "--offset", "8"), "beside lines and instructions; remove --offset"),
        (
            ("--samples", "CSV", "--top", "3", "--sort", "memory"),
            "orders the table of --top itself; remove --sort memory",
        ),
        (("--samples", "OTHER"), "no line has the columns"),
        (("--samples", "NONE"), "no kernel of the input has samples"),
        (("--samples", "no-such.csv"), "there is no file of samples"),
    ],
)
def test_what_is_refused(
    recording: tuple[Path, list[Kernel]],
    run: Kernlens,
    tmp_path: Path,
    words: tuple[str, ...],
    message: str,
) -> None:
    files = {
        "CSV": stall_samples([("plain", 0, counts(Active=1))]),
        "OTHER": "a,b\n",
        "NONE": stall_samples([("absent", 0, counts(Active=1))]),
    }
    for name, text in files.items():
        (tmp_path / name).write_text(text)
    done = run("annotate", recording[0], *(tmp_path / word if word in files else word for word in words))
    assert done.status == 2
    assert message in done.err


def test_the_example_is_what_the_rules_write() -> None:
    assert EXAMPLE.read_text() == example(), "python -m tests.example_samples writes it"
    assert "not measured" in EXAMPLE.read_text().partition("\n")[0]
