"""``kernlens replay`` on PoCL: launches that were kept run again, and results are compared with what was kept."""

from __future__ import annotations

import json
import struct
import subprocess
import sys
from collections.abc import Sequence
from math import sin
from pathlib import Path
from typing import Any

import pytest

from kernlens.dataclass import replace
from kernlens.errors import NotFoundError, UnsupportedError
from kernlens.model.build import Build, HeldParts, Source
from kernlens.model.kept_launch import ImageForm, KeptArgument, KeptLaunch, KeptMemory
from kernlens.recording.reader import Recording
from kernlens.runtime.opencl.error_codes import OpenCLError
from kernlens.verbs.replay.elements import Tolerance, signature_of
from kernlens.verbs.replay.replay import replay
from tests.documents import check_printed
from tests.writers.kept_launches import (
    READ_ONLY,
    READ_WRITE,
    USE_HOST_PTR,
    WRITE_ONLY,
    Keeper,
    content,
    record_launches,
)

pytestmark = pytest.mark.skipif(not Path("/etc/OpenCL/vendors/pocl.icd").exists(), reason="no PoCL")

KERNELS = """
kernel void scale(global const float *in, global float *out, float factor, local float *tile) {
    int i = get_global_id(0);
    tile[get_local_id(0)] = in[i];
    barrier(CLK_LOCAL_MEM_FENCE);
    out[i] = tile[get_local_size(0) - 1 - get_local_id(0)] * factor + 1.0f;
}
kernel void where(global int *out) {
    size_t i = (get_global_id(1) - get_global_offset(1)) * get_global_size(0) + get_global_id(0) - get_global_offset(0);
    out[i] += (int)(get_global_id(0) * 100 + get_global_id(1) * 7 + (GROUPS ? get_local_size(0) : 0));
}
kernel void parts(global const uint *low, global uint *high, global uint *none) {
    int i = get_global_id(0);
    high[i] = low[i] * 3u + (none ? 1u : 0u);
}
struct pair { short first; double second; };
kernel void pairs(struct pair pair, float3 vector, global double *out) {
    out[get_global_id(0)] = pair.first + pair.second * get_global_id(0) + vector.z;
}
"""
FLOATS = struct.pack("<256f", *(value / 3 for value in range(256)))


@pytest.fixture(scope="module")
def recording(tmp_path_factory: pytest.TempPathFactory) -> Path:
    keeper = Keeper(KERNELS, "-DGROUPS=1", "kernels")
    scale = [[FLOATS, READ_ONLY], [bytes(1024), WRITE_ONLY], struct.pack("<f", 2.5), 256]
    words: list[Any] = [struct.pack("<512I", *range(512)), READ_WRITE | USE_HOST_PTR]
    launches = [
        keeper.launch("scale", scale, [256], [64]),
        keeper.launch("scale", [*scale[:2], struct.pack("<f", -1.0), 128], [256], [32]),
        keeper.launch("where", [[bytes(4 * 48), READ_WRITE]], [8, 6], [4, 3], [5, 2]),
        keeper.launch("where", [[bytes(4 * 48), READ_WRITE]], [8, 6]),
        keeper.launch("parts", [[*words, 0, 1024], [*words, 1024, 1024], None], [256]),
        keeper.launch(
            "pairs", [struct.pack("<h6xd", 3, 0.1), struct.pack("<4f", 1, 2, 3, 0), [bytes(512), 1]], [64], [8]
        ),
    ]
    # Both parts are of one buffer.
    both = replace(
        launches[4],
        arguments=(
            KeptArgument("memory", memory=0, size=1024), KeptArgument("memory", memory=0, offset=1024, size=1024),
            KeptArgument("null"),
        ),
        memory=(
            KeptMemory(
                "buffer", 2048, READ_WRITE | USE_HOST_PTR, before=content(words[0]),
                after=content(words[0][:1024] + struct.pack("<256I", *(3 * value for value in range(256)))),
            ),
        ),
    )  # fmt: skip
    launches[4] = both
    return record_launches(tmp_path_factory.mktemp("kept") / "kept.klens", keeper.build, *launches)


def kernlens(*words: object, status: int = 0) -> Any:
    """Run the command; return its JSON, or its text."""
    arguments = [str(word) for word in ("replay", *words)]
    command = [sys.executable, "-m", "kernlens", *arguments]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == status, done.stderr + done.stdout
    if "--json" not in arguments:
        return done.stdout + done.stderr
    check_printed(arguments, done.stdout)
    return json.loads(done.stdout)


def test_all_launches_leave_what_they_left(recording: Path) -> None:
    replayed = replay(recording, all_launches=True, runs=0)
    assert [(each.kernel, each.number) for each in replayed] == [
        *(("scale", 1), ("scale", 2), ("where", 1), ("where", 2), ("parts", 1), ("pairs", 1)),
    ]
    assert all(each.is_equal and each.builds[0].compared for each in replayed)
    assert [each.not_compared for each in replayed][:3] == [
        *(("the buffer of argument 0 (in) (a kernel cannot write it)",),) * 2, (),
    ]  # fmt: skip
    assert replayed[0].builds[0].times is None


def test_a_changed_constant_is_found(recording: Path, tmp_path: Path) -> None:
    source = tmp_path / "k2.cl"
    source.write_text(KERNELS.replace("* factor + 1.0f", "* factor + (get_global_id(0) == 77 ? 1.5f : 1.0f)"))
    document = kernlens(recording, "--kernel", "scale", "--source", source, "--runs", 2, "--json", status=1)
    recorded, other = document["launches"][0]["builds"]
    assert (recorded["title"], recorded["results"][0]["difference"]) == ("recorded", None)
    differing = other["results"][0]["difference"]
    assert (differing["count"], differing["first"]) == (1, 77)
    assert float(differing["result"]) - float(differing["recorded"]) == pytest.approx(0.5, abs=1e-5)
    assert 0 < differing["relative"] < 0.02
    assert differing["ulp"] == pytest.approx(0.5 / 2**-18, rel=0.5)
    text = kernlens(recording, "--kernel", "scale", "--source", source, "--runs", 2, "--tolerance", "9ulp", status=1)
    assert "1 of 256 floats differs, the first at 77: " in text
    assert "\ndifferent; " in text
    # What is within the tolerance is equal.
    (launch,) = replay(recording, kernel="scale", source=str(source), runs=0, tolerance=Tolerance(relative=0.02))
    assert launch.is_equal


def test_the_first_launch_that_differs_is_named(recording: Path) -> None:
    text = kernlens(recording, "--all-launches", "--build-options=-DGROUPS=0", "--runs", 0, status=1)
    assert text.splitlines()[:2] == ["launch 1 of scale: equal", "launch 2 of scale: equal"]
    assert "launch 1 of where: 8 x 6 work-items in groups of 4 x 3" in text
    assert "48 of 48 ints differ, the first at 0: 514, recorded was 518" in text
    assert "launch 2 of where" not in text


def test_two_builds_run_in_turn(recording: Path) -> None:
    document = kernlens(
        recording, "--kernel", "pairs", "--build-options=-cl-opt-disable -DGROUPS=1", "--runs", 8, "--json"
    )
    (launch,) = document["launches"]
    assert launch["equal"]
    assert launch["cpu"]
    assert launch["ratio"]["pairs"] == 8
    assert launch["ratio"]["low"] <= launch["ratio"]["median"] <= launch["ratio"]["high"]
    assert [build["times"]["runs"] for build in launch["builds"]] == [8, 8]


def test_a_null_local_size_stays_one(recording: Path) -> None:
    (launch,) = replay(recording, kernel="where", launch=2, runs=0)
    assert launch.local_size is None
    assert launch.is_equal


def test_the_recorded_binary_runs(recording: Path, tmp_path: Path) -> None:
    (launch,) = replay(recording, kernel="scale", runs=1, binary=True)
    assert launch.is_equal
    assert launch.builds[0].times is not None
    binary = tmp_path / "k.bin"
    keeper = Keeper(KERNELS.replace("+ 1.0f", "+ 2.0f"), "-DGROUPS=1")
    binary.write_bytes(keeper.build.binary)
    (launch,) = replay(recording, kernel="scale", runs=1, replace=str(binary))
    (compared,) = launch.builds[1].differing
    assert compared.difference is not None
    assert compared.difference.count == 256


def test_what_there_is_is_listed(recording: Path) -> None:
    document = kernlens(recording, "--list", "--json")
    assert [(each["kernel"], each["number"]) for each in document["kept"]][2:4] == [("where", 1), ("where", 2)]
    assert "6 launches kept" in kernlens(recording, "--list")
    assert "keeps launches of 4 kernels: scale, where, parts, pairs; choose with --kernel" in kernlens(
        recording, status=2
    )
    assert "did you mean scale" in kernlens(recording, "--kernel", "scales", status=2)
    assert "no launch 3 of scale; kept are: 1, 2" in kernlens(recording, "--kernel", "scale", "--launch", 3, status=2)
    assert "no OpenCL device is called Nobody:0" in kernlens(
        recording, "--kernel", "scale", "--device", "Nobody:0", status=2
    )
    import pyopencl

    number = next(n for n, platform in enumerate(pyopencl.get_platforms()) if "Portable" in platform.name)
    for device in ("Portable:0", f"{number}:0", "portable", "Portable:p"):
        assert replay(recording, kernel="scale", device=device, runs=0)[0].is_equal


def test_junit_has_a_case_for_each_build(recording: Path, tmp_path: Path) -> None:
    file = tmp_path / "j.xml"
    words = ("--kernel", "where", "--build-options=-DGROUPS=0", "--runs", 0, "--junit", file)
    kernlens(recording, *words, status=1)
    text = file.read_text()
    assert 'tests="2" failures="1" errors="0"' in text
    assert "48 of 48 ints differ" in text


def by_hand(
    folder: Path, source: str, kernel: str, arguments: Sequence[KeptArgument], memory: Sequence[KeptMemory], **more: Any
) -> Path:
    """Write a recording whose launch was never made: what it left is computed here."""
    build = Build("hand", "nothing", options="-cl-std=CL2.0", parts=HeldParts(sources=(Source("hand.cl", source),)))
    sizes: dict[str, Any] = {"global_size": (4,), "local_size": None, "global_offset": (0,), **more}
    launch = KeptLaunch(kernel, 1, 1, **sizes, arguments=tuple(arguments), memory=tuple(memory))
    return record_launches(folder / "hand.klens", build, launch)


IMAGES = """
kernel void shift(read_only image2d_t in, write_only image2d_t out, sampler_t sampler) {
    int2 at = (int2)(get_global_id(0), get_global_id(1));
    write_imageui(out, at, read_imageui(in, sampler, at + (int2)(1, 0)) + 1u);
}
"""


OF_IMAGES = (
    KeptArgument("memory", memory=0),
    KeptArgument("memory", memory=1),
    KeptArgument("sampler", sampler=(0, 0x1131, 0x1140)),
)


def test_images_and_samplers(tmp_path: Path) -> None:
    pixels = bytes(range(4 * 3 * 4))
    form = ImageForm(0x10B5, 0x10DA, 0x10F1, 4, 3, 1, 1, element_size=4)
    # Beyond the edge the sampler takes the pixel at the edge.
    moved = b"".join(
        bytes(value + 1 for value in pixels[(y * 4 + min(x + 1, 3)) * 4 :][:4]) for y in range(3) for x in range(4)
    )
    path = by_hand(
        tmp_path, IMAGES, "shift",
        OF_IMAGES,
        [
            KeptMemory("image", 48, READ_ONLY, image=form, before=content(pixels)),
            KeptMemory("image", 48, WRITE_ONLY, image=form, before=content(bytes(48)), after=content(moved)),
        ],
        global_size=(4, 3), global_offset=(0, 0),
    )  # fmt: skip
    (launch,) = replay(path, runs=1)
    assert launch.is_equal
    assert [(each.title, each.elements) for each in launch.builds[0].compared] == [
        ("the image of argument 1 (out)", 48)
    ]
    # With another sampler the edge is another.
    source = tmp_path / "other.cl"
    source.write_text(IMAGES.replace("+ 1u", "+ (uint)(get_global_id(1) == 2)"))
    (launch,) = replay(path, runs=0, source=str(source))
    (compared,) = launch.builds[1].differing
    assert compared.difference is not None
    assert (compared.difference.count, compared.difference.first) == (32, 0)


LISTS = """
struct node { global struct node *next; long value; };
kernel void walk(global struct node *first, global long *sum) {
    long total = 0;
    for (global struct node *node = first; node; node = node->next)
        total += node->value;
    sum[get_global_id(0)] = total;
    if (get_global_id(0) == 0)
        first->next->next->value = (long)first;
}
"""
FIRST, SECOND = 0x7F00_1234_0000, 0x7F00_5678_0000


@pytest.mark.parametrize("kind", ["svm", "shared"])
def test_pointers_lead_to_where_memory_is(kind: str, tmp_path: Path) -> None:
    """A list through two allocations, of which one is reached by addresses alone."""
    first = struct.pack("<QqQq", SECOND + 32, 5, 0, 1 << 40)
    second = struct.pack("<Qq16xQq", 0, 999, FIRST + 16, 7)
    after = struct.pack("<QqQq", SECOND + 32, 5, 0, FIRST)
    total = 5 + 7 + (1 << 40)
    path = by_hand(
        tmp_path, LISTS, "walk", [KeptArgument("pointer", memory=0), KeptArgument("memory", memory=2)],
        [
            KeptMemory(kind, 32, 1, FIRST, before=content(first), after=content(after)),
            KeptMemory(kind, 48, 1, SECOND, before=content(second), after=content(second)),
            KeptMemory("buffer", 8, 1, before=content(bytes(8)), after=content(struct.pack("<q", total))),
        ],
        global_size=(1,),
    )  # fmt: skip
    with_indirect(path)
    (launch,) = replay(path, runs=3)
    assert launch.is_equal, launch.builds[0].differing
    assert [each.elements for each in launch.builds[0].compared] == [8, 12, 1]
    assert any("shared virtual memory takes its place" in note for note in launch.notes) == (kind == "shared")


def with_indirect(path: Path) -> None:
    """Say in the recording that the second memory is reached by addresses."""

    with Recording(path) as opened:
        (build,) = opened.builds()
        (launch,) = build.kept_launches
        held = build.with_parts(kept_launches=(replace(launch, indirect=(1,)),))
        other = path.with_suffix(".new")
        record_launches(other, held.with_parts(kept_launches=()), *held.kept_launches)
    other.replace(path)


def test_a_vectors_padding_is_not_compared(tmp_path: Path) -> None:
    source = "kernel void v(global float3 *out) { ((global float4 *)out)[get_global_id(0)] = (float4)(1, 2, 3, 9); }"
    left = struct.pack("<16f", *[1, 2, 3, -1] * 4)
    memory = [KeptMemory("buffer", 64, 1, before=content(bytes(64)), after=content(left))]
    path = by_hand(tmp_path, source, "v", [KeptArgument("memory", memory=0)], memory)
    (launch,) = replay(path, runs=0)
    assert launch.is_equal
    assert launch.not_compared == ("each fourth element of the buffer of argument 0 (out) (padding)",)


def test_what_was_not_kept_is_said(tmp_path: Path) -> None:
    source = "kernel void v(global int *out, global int *more) { out[get_global_id(0)] = 3; more[0] = 1; }"
    memory = [
        KeptMemory("buffer", 16, 1, before=None, after=content(struct.pack("<4i", 3, 3, 3, 3))),
        KeptMemory("buffer", 16, 1, why="the application forbids it"),
    ]
    arguments = [KeptArgument("memory", memory=0), KeptArgument("memory", memory=1)]
    path = by_hand(tmp_path, source, "v", arguments, memory)
    text = kernlens(path, "--runs", 0)
    assert text.splitlines()[-1] == (
        "not compared: what the buffer of argument 0 (out) had before was not kept: it began with zeros, the buffer of"
        " argument 1 (more) (the application forbids it)"
    )
    assert "recorded on nothing" in text


def test_a_recording_without_launches(tmp_path: Path) -> None:
    build = Build("hand", "nothing", parts=HeldParts(sources=(Source("hand.cl", "kernel void k() {}"),)))
    path = record_launches(tmp_path / "a.klens", build)
    with pytest.raises(NotFoundError, match="keeps no launches; kernlens capture --launch KERNEL -- APP keeps them"):
        replay(path)


def test_a_tolerance_accepts_what_is_near(tmp_path: Path, recording: Path) -> None:
    assert replay(recording, kernel="scale", runs=0, tolerance=Tolerance(ulp=4))[0].is_equal
    assert "neither units in the last place (4ulp) nor a share" in kernlens(recording, "--tolerance", "x", status=2)


@pytest.mark.parametrize(
    ("apart", "answer"),
    [(4, "within what one call may differ by between two devices (2 x 4 ulp of sin)"), (40, "more than one call")],
)
def test_what_opencl_c_allows_is_said_of_another_device(apart: int, answer: str, tmp_path: Path) -> None:
    source = "kernel void k(global float *out, global const float *in) { out[0] = sin(in[0]); }"
    (near,) = struct.unpack("<i", struct.pack("<f", sin(0.5)))
    memory = [
        KeptMemory("buffer", 4, WRITE_ONLY, before=content(bytes(4)), after=content(struct.pack("<i", near + apart))),
        KeptMemory("buffer", 4, READ_ONLY, before=content(struct.pack("<f", 0.5))),
    ]
    arguments = [KeptArgument("memory", memory=0), KeptArgument("memory", memory=1)]
    path = by_hand(tmp_path, source, "k", arguments, memory, global_size=(1,))
    text = kernlens(path, "--runs", 0, "--full", status=1)
    assert f"    {answer}" in text
    assert "; OpenCL C's bounds of a call: sin 4 ulp\n" in text
    accuracy = kernlens(path, "--runs", 0, "--json", status=1)["launches"][0]["builds"][0]["accuracy"]
    assert accuracy["bounds"] == [{"function": "sin", "ulp": 4.0, "words": ""}]


def test_the_binary_runs_where_the_source_does_not_build(recording: Path, tmp_path: Path) -> None:
    """As a source that includes a file which the recording lacks; on another device its error is the answer."""
    with Recording(recording) as opened:
        (build,) = opened.builds()
        lacking = Source("kernels.cl", f'#include "absent.h"\n{KERNELS}', "recording")
        own = build.with_parts(sources=(lacking,), kept_launches=())
        launch = build.kept_launches[0]
        path = record_launches(tmp_path / "a.klens", own, launch)
        foreign = record_launches(tmp_path / "b.klens", replace(own, device="another"), launch)
    (replayed,) = replay(path, runs=0)
    assert replayed.is_equal
    assert replayed.builds[0].compared
    (note,) = replayed.notes
    assert note.startswith("the recorded binary ran, as the source does not build here: clBuildProgram returned ")
    assert "absent.h" in note
    with pytest.raises(OpenCLError, match=r"absent\.h"):
        replay(foreign, runs=0)


def test_the_binary_of_another_device_is_not_tried(recording: Path, tmp_path: Path) -> None:
    with Recording(recording) as opened:
        (build,) = opened.builds()
        bare = replace(build.with_parts(sources=(), kept_launches=()), device="another")
        path = record_launches(tmp_path / "a.klens", bare, build.kept_launches[0])
    with pytest.raises(UnsupportedError, match="--fresh-cache records what programs are built from"):
        replay(path, runs=0)


def test_a_hostile_source_takes_no_time() -> None:
    """Each of these took minutes or more, with expressions that try again from every place."""
    for text in ("/* " * 200_000, f"k({' ' * 200_000}) {{", f"k({'a ' * 100_000}) {{", "k (" * 100_000):
        assert signature_of(text, "k") in ([], [("", "")], [(("a " * 99_999).strip(), "a")])
    stated = signature_of("kernel void k(global const float *in /* a, b */, float4 v) {", "k")
    assert stated == [("global const float *", "in"), ("float4", "v")]
