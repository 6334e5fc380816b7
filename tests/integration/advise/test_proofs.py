"""``kernlens advise --prove``: edits of advice, run on launches that PoCL computed and compiled for dg2."""

from __future__ import annotations

import json
import struct
from pathlib import Path
from typing import Any

import pytest

from kernlens.verbs.replay.replay import RUNS
from tests.integration.docs.json_shapes import shapes
from tests.integration.replay.test_replay import pytestmark as has_pocl
from tests.warm_commands import kernlens as command
from tests.writers.kept_launches import READ_ONLY, WRITE_ONLY, Keeper, record_launches

pytestmark = has_pocl
KERNELS = """\
kernel void tone(global const float *in, global float *out, float gamma)
{
  const int i = get_global_id(0);
  const float light = fmax(in[i], 0.0f);
  out[i] = pow(light /* a ) */, gamma) + pow(light,
      2.0f);
}
kernel void sums(global const float *in, global float *out, long n)
{
  const int i = get_global_id(0);
  float sum = 0;
  for (long k = 0; k < n; k++)
    sum += in[i] * in[(i + (int)k) & 63];
  out[i] = sum;
  barrier(CLK_LOCAL_MEM_FENCE);
}
kernel void many(global const float *in, global float *out)
{
  const int i = get_global_id(0);
  float sum = 0;
  for (int k = 0; k < 64; k++)
    sum += in[(i * k) & 63];
  out[i] = sum;
}
kernel void divided(global const int *in, global int *out, int width)
{
  out[get_global_id(0)] = 3 * in[get_global_id(0)] / width * 1000 + in[get_global_id(0)] % width;
}
kernel void printing(global float *out)
{
  out[get_global_id(0)] = get_global_id(0);
  if (get_local_id(0) > 100) printf("(%d", 1);
}
"""
ITEMS = 64
QUOTIENT = (
    "out[get_global_id(0)] = ((__typeof__((3 * in[get_global_id(0)]) / (width)))"
    "(((float)(3 * in[get_global_id(0)]) + 0.5f) / (width))) * 1000 + in[get_global_id(0)] % width;"
)
REMAINDER = (
    "out[get_global_id(0)] = 3 * in[get_global_id(0)] / width * 1000 + ((in[get_global_id(0)]) - "
    "(__typeof__((in[get_global_id(0)]) / (width)))(((float)(in[get_global_id(0)]) + 0.5f) / (width)) * (width));"
)


@pytest.fixture(scope="module")
def recording(tmp_path_factory: pytest.TempPathFactory) -> Path:
    keeper = Keeper(KERNELS, "", "shapes")
    numbers = struct.pack(f"<{ITEMS}f", *(each / 7 for each in range(ITEMS)))
    read: list[Any] = [[numbers, READ_ONLY], [bytes(4 * ITEMS), WRITE_ONLY]]
    integers: list[Any] = [
        [struct.pack(f"<{ITEMS}i", *range(0, 41 * ITEMS, 41)), READ_ONLY],
        [bytes(4 * ITEMS), WRITE_ONLY],
    ]
    launches = [
        keeper.launch("tone", [*read, struct.pack("<f", 2.2)], [ITEMS], [16]),
        keeper.launch("sums", [*read, struct.pack("<q", 40)], [ITEMS], [16]),
        keeper.launch("many", read, [ITEMS], [16]),
        keeper.launch("divided", [*integers, struct.pack("<i", 41)], [ITEMS], [16]),
        keeper.launch("printing", [[bytes(4 * ITEMS), WRITE_ONLY]], [ITEMS], [16]),
    ]
    return record_launches(tmp_path_factory.mktemp("kept") / "kept.klens", keeper.build, *launches)


@pytest.fixture(scope="module")
def source(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("source") / "shapes.cl"
    path.write_text(KERNELS)
    return path


@pytest.fixture(scope="module")
def answer(recording: Path, source: Path) -> list[dict[str, Any]]:
    done = command("advise", str(source), "--device", "dg2", "--prove", str(recording), "--json")
    assert done.returncode == 0, done.stderr
    proofs: list[dict[str, Any]] = json.loads(done.stdout)["proofs"]
    return proofs


PAIR = """\
kernel void pair(global int *out, int width, global const int *in)
{
  const int i = get_global_id(0);
  const int row = i / width; // not i % width
  const int column = (i % width) + 2;
  out[i] = row * 3 + column * 7 + in[i] * i / width;
}
"""


@pytest.mark.parametrize("device", ["dg2", "pvc"])
def test_a_quotient_and_its_remainder_are_edited_together(tmp_path: Path, device: str) -> None:
    """They share their instructions: each alone would be more of them, not fewer."""
    source = tmp_path / "pair.cl"
    source.write_text(PAIR)
    keeper = Keeper(PAIR, "", "pair")
    zeros: list[Any] = [bytes(4 * ITEMS), WRITE_ONLY]
    numbers: list[Any] = [struct.pack(f"<{ITEMS}i", *range(ITEMS)), READ_ONLY]
    launch = keeper.launch("pair", [zeros, struct.pack("<i", 7), numbers], [ITEMS], [16])
    recording = record_launches(tmp_path / "pair.klens", keeper.build, launch)
    done = command("advise", str(source), "--device", device, "--prove", str(recording), "--json")
    assert done.returncode == 0, done.stderr
    followed = json.loads(done.stdout)["proofs"]
    together = [each for each in followed if "int column" in each["becomes"]]
    assert len(together) == 1
    assert "row = ((__typeof__((i) / (width)))" in together[0]["becomes"]
    assert "// not i % width" in together[0]["becomes"]
    assert len(followed) == 2
    for each in followed:
        assert each["equal"] is True, each
        assert each["counted"]["after"]["instructions"] < each["counted"]["before"]["instructions"], each


def test_each_edit_is_what_the_sentence_says(answer: list[dict[str, Any]]) -> None:
    assert {(each["kernel"], each["rule"], each["becomes"]) for each in answer} == {
        ("tone", "slow-built-in", "out[i] = native_powr(light /* a ) */, gamma) + pow(light,"),
        ("tone", "pow-with-a-constant", "out[i] = pow(light /* a ) */, gamma) + (light * light) ;"),
        ("sums", "long-counter", "for (int k = 0; k < (int)(n); k++)"),
        ("sums", "barrier-over-nothing", ";"),
        ("divided", "integer-division", QUOTIENT),
        ("divided", "integer-division", REMAINDER),
        ("many", "unrolled-too-far", "__attribute__((opencl_unroll_hint(8))) for (int k = 0; k < 64; k++)"),
        ("printing", "printf-left-in", "if (get_local_id(0) > 100) 0;"),
    }


def test_results_are_compared_and_the_promises_hold(answer: list[dict[str, Any]]) -> None:
    for each in answer:
        assert each["reason"] is None, each
        assert each["equal"] or each["results"] != "stay equal", each
        assert each["replayed"]["ratio"]["pairs"] == RUNS
        assert each["kept"] is True


def test_the_code_for_the_device_gets_smaller(answer: list[dict[str, Any]]) -> None:
    for each in answer:
        counted = each["counted"]
        assert counted is not None, each
        assert counted["after"]["instructions"] < counted["before"]["instructions"], each


def test_results_that_differ_are_shown_with_their_distance(tmp_path: Path) -> None:
    text = """kernel void scale(global const float *in, global float *out)
{
  out[get_global_id(0)] = in[get_global_id(0)] * 0.3 + M_PI;
}
"""
    source = tmp_path / "scale.cl"
    source.write_text(text)
    keeper = Keeper(text, "", "scale")
    numbers = struct.pack(f"<{ITEMS}f", *(each / 7 for each in range(ITEMS)))
    launch = keeper.launch("scale", [[numbers, READ_ONLY], [bytes(4 * ITEMS), WRITE_ONLY]], [ITEMS], [16])
    recording = record_launches(tmp_path / "scale.klens", keeper.build, launch)
    done = command("advise", str(source), "--device", "pvc", "--prove", str(recording))
    assert done.returncode == 0, done.stderr
    assert "out[get_global_id(0)] = in[get_global_id(0)] * 0.3f + M_PI_F;" in done.stdout
    assert "results: different (promised: results differ)" in done.stdout
    assert "ulp" in done.stdout
    assert (
        "1 piece of advice followed; 0 equal, 1 different as promised; 0 against the promise, 0 not known; 0 pieces left"
        in done.stdout
    )


def test_a_source_that_was_not_recorded_is_compiled_and_not_compared(recording: Path, tmp_path: Path) -> None:
    other = tmp_path / "shapes.cl"
    other.write_text(KERNELS.replace("2.0f", "0.5f"))
    done = command("advise", str(other), "--device", "dg2", "--kernel", "tone", "--prove", str(recording))
    assert done.returncode == 0, done.stderr
    assert "not compared: its source is not the one that the kept launch was built from" in done.stdout
    assert "0 equal, 0 different as promised; 0 against the promise, 2 not known" in done.stdout


def test_a_recording_without_the_kernel_is_an_error(recording: Path, tmp_path: Path) -> None:
    other = tmp_path / "other.cl"
    other.write_text(KERNELS.replace("kernel void ", "kernel void un").replace("void untone", "void x"))
    done = command("advise", str(other), "--device", "dg2", "--prove", str(recording))
    assert done.returncode == 2, done.stderr
    assert "keeps no launch of a kernel that the advice is on" in done.stderr


def test_every_key_is_documented(answer: list[dict[str, Any]]) -> None:
    *_, shape = shapes("advise")
    for each in answer:
        # A launch is that of replay, whose own tests hold it against the page.
        shape.check({**each, "replayed": None}, "proof")
