"""``kernlens capture --launch`` of Level Zero: what is kept is what the application knows itself of what it gave the driver."""

from __future__ import annotations

import subprocess
from collections import Counter
from collections.abc import Iterable
from pathlib import Path

import pytest

from kernlens.model.kept_launch import IMAGE, LOCAL, MEMORY, POINTER, SAMPLER, VALUE, KeptArgument, KeptLaunch
from kernlens.toolchain.toolchains import NEWEST, SYSTEM
from tests.integration.capture.capture_fixtures import FLAGS, HERE
from tests.integration.capture.level_zero_capture_fixtures import UNTRACED, Driver
from tests.integration.capture.test_kept_launches import hashed, launches_of
from tests.integration.drivers.live_fixtures import compile_spirv
from tests.made_once import once

KERNELS = """\
struct pair { ulong address, number; };
kernel void values(global int *data, int number, local int *scratch, struct pair pair, global int *more, ulong mark)
{
    scratch[get_local_id(0)] = number;
    data[get_global_id(0)] = scratch[0] + (int)(pair.number + mark) + more[0];
}
kernel void reaching(ulong mark) { *(global ulong *)mark = mark; }
kernel void picture(read_only image2d_t image, sampler_t sampler, global float4 *out, ulong mark)
{
    out[get_global_id(0)] = read_imagef(image, sampler, (float2)(mark, 0.5f));
}
"""
THREADS, OF_EACH = 4, {"values": 3 + 2 * 2 + 2, "reaching": 1, "picture": 1}


@pytest.fixture(scope="session")
def kept_folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    def fill(folder: Path) -> None:
        words = ["-o", str(folder / "app"), str(HERE / "level_zero_kept.c"), "-lze_loader", "-lpthread", "-ldl"]
        subprocess.run(["gcc", *FLAGS, *words], check=True, timeout=60)
        compile_spirv(KERNELS, folder / "kept.cl", "-no-opaque-pointers")

    return once(tmp_path_factory, "level-zero-kept-launches", fill)


@pytest.fixture(params=[f"{SYSTEM}/dg2", f"{NEWEST}/bmg"])
def driver(request: pytest.FixtureRequest, kept_folder: Path) -> Driver:
    name, device = request.param.split("/")
    if name == NEWEST:
        request.getfixturevalue("newest_root")
    return KeptDriver(name, device, kept_folder)


class KeptDriver(Driver):
    """A driver with the application of these tests."""

    @property
    def app(self) -> list[str]:
        return [str(self.folder / "app"), str(self.folder / "kept.spv")]


def lines_of(launches: Iterable[KeptLaunch]) -> Counter[str]:
    """The lines that the application prints of these launches, from what was kept."""
    lines: Counter[str] = Counter()
    for launch in launches:
        mark = int.from_bytes(launch.arguments[-1].content, "little")
        assert launch.local_size is not None
        sizes = (("global", launch.global_size), ("local", launch.local_size), ("offset", launch.global_offset))
        lines[f"{mark} {launch.kernel} " + " ".join(f"{name} {a} {b} {c}" for name, (a, b, c) in sizes)] += 1
        for number, argument in enumerate(launch.arguments[:-1]):
            lines[f"{mark} argument {number} {_shown(argument, launch)}"] += 1
        for memory in launch.memory:
            assert memory.after is None, "nothing ran"
            assert memory.why
            content = "unread" if memory.before is None else hashed(memory.before())
            lines[f"{mark} memory {memory.kind} {memory.size} {content}"] += 1
    return lines


def _shown(argument: KeptArgument, launch: KeptLaunch) -> str:
    held = None if argument.memory is None else launch.memory[argument.memory]
    match argument.kind:
        case _ if argument.kind == VALUE:
            return f"value {argument.content.hex()}"
        case _ if argument.kind == LOCAL:
            return f"local {argument.size}"
        case _ if argument.kind == POINTER and held is not None:
            return f"pointer {held.kind} {argument.offset}"
        case _ if argument.kind == SAMPLER and argument.sampler is not None:
            return "sampler {} {} {}".format(*argument.sampler)
    assert argument.kind == MEMORY
    assert held is not None
    assert held.kind == IMAGE
    form = held.image
    assert form is not None
    return f"image {form.order} {form.data_type} {form.object_type} {form.width} {form.height}"


def printed(out: str) -> Counter[str]:
    """The lines of launches. The arguments of a list's are printed once, and kept each time that it is executed."""
    return Counter(line for line in out.splitlines() if not line.startswith("done"))


def repeated(lines: Counter[str]) -> Counter[str]:
    """The same with each launch's arguments as often as it came."""
    times = Counter(line.split()[0] for line in lines.elements() if " global " in line)
    return Counter({line: times[line.split()[0]] if " argument " in line else count for line, count in lines.items()})


def test_every_launch_is_kept_as_the_application_knows_it(driver: Driver, tmp_path: Path) -> None:
    """Immediate lists, lists that are executed again with other memory, groups that memory counts, offsets, local memory,
    images, samplers, addresses in values, and memory that is reached without any; from four threads, and past a fork."""
    done = driver.captured(tmp_path, options=("--launch", "*:every=1"), variables=UNTRACED)
    assert done.status == 5, done.err
    assert done.out.endswith("done 3\n")
    launches = launches_of(done.recording)
    numbers: dict[str, set[int]] = {name: set() for name in OF_EACH}
    for launch in launches:
        numbers[launch.kernel].add(launch.number)
    assert numbers == {name: set(range(1, THREADS * count + 1)) for name, count in OF_EACH.items()}
    assert lines_of(launches) == repeated(printed(done.out))
    assert f"{THREADS * sum(OF_EACH.values())} launches kept" in done.err
