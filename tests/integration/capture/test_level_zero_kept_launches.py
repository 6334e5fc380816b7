"""``kernlens capture --launch`` of Level Zero: what is kept is what the application knows itself of what it gave the driver."""

from __future__ import annotations

import os
import signal
import struct
import subprocess
import time
from collections import Counter
from collections.abc import Iterable
from pathlib import Path

import pytest

from kernlens.model.kept_launch import IMAGE, LOCAL, MEMORY, POINTER, SAMPLER, VALUE, KeptArgument, KeptLaunch
from kernlens.toolchain.toolchains import NEWEST, SYSTEM
from kernlens.verbs.capture.capture import recover
from tests.integration.capture.capture_fixtures import FLAGS, HERE, MAIN, Done
from tests.integration.capture.level_zero_capture_fixtures import UNTRACED, Driver, sycl_python
from tests.integration.capture.test_kept_launches import hashed, launches_of
from tests.integration.drivers.live_fixtures import compile_spirv
from tests.made_once import once
from tests.whole import before_release

__all__ = ["sycl_python"]

KERNELS = """\
struct pair { ulong address, number; };
kernel void values(global int *data, int number, local int *scratch, struct pair pair, global int *more, ulong mark)
{
    scratch[get_local_id(0)] = number;
    data[get_global_id(0)] = scratch[0] + (int)(pair.number + mark) + more[0];
}
kernel void plain(global int *data, global int *more, int number, float factor) { data[number] = more[0] * (int)factor; }
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


DPCTL = """\
import ctypes, sys
import dpctl, dpctl.memory, dpctl.program
queue = dpctl.SyclQueue(property="in_order")
shared = dpctl.memory.MemoryUSMShared(4096, queue=queue)
device = dpctl.memory.MemoryUSMDevice(8192, queue=queue)
kernel = dpctl.program.create_program_from_spirv(queue, open(sys.argv[1], "rb").read()).get_sycl_kernel("plain")
for number in (3, -5):
    memoryview(shared)[:] = bytes((index * 7 + number) % 251 for index in range(4096))
    queue.submit(kernel, [shared, device, ctypes.c_int32(number), ctypes.c_float(2.5)], [96], [32]).wait()
print(dpctl.SyclDevice().backend)
"""


def captured_below_dpctl(python: Path, folder: Path, work: Path, adapter: str) -> Done:
    script = work / "app.py"
    script.write_text(DPCTL)
    words = (str(python), str(script), str(folder / "kept.spv"))
    variables = {**UNTRACED, "ONEAPI_DEVICE_SELECTOR": "level_zero:gpu", "UR_LOADER_USE_LEVEL_ZERO_V2": adapter}
    driver = KeptDriver(NEWEST, "bmg", folder)
    done = driver.captured(work, *words, options=("--launch", "plain:every=1"), variables=variables)
    assert (done.status, done.out) == (0, "backend_type.level_zero\n"), done.err
    return done


@pytest.mark.parametrize("adapter", ["0", "1"], ids=["older adapter", "newer adapter"])
def test_launches_of_sycl_below_dpctl(
    sycl_python: Path, newest_root: Path, kept_folder: Path, tmp_path: Path, adapter: str
) -> None:
    """SYCL may reach all memory by addresses: it is there too, and what the host cannot read is named. Its newer adapter
    launches and sets all arguments in one call, whose sizes the driver knows."""
    launches = launches_of(captured_below_dpctl(sycl_python, kept_folder, tmp_path, adapter).recording)
    assert [each.number for each in launches] == [1, 2]
    for launch, number in zip(launches, (3, -5), strict=True):
        data, more, *values = launch.arguments
        assert [each.content for each in values] == [struct.pack("<i", number), struct.pack("<f", 2.5)]
        assert (launch.global_size, launch.local_size) == ((96, 1, 1), (32, 1, 1))
        assert data.memory is not None
        assert more.memory is not None
        before = launch.memory[data.memory].before
        assert before is not None
        assert before()[data.offset : data.offset + 4096] == bytes((index * 7 + number) % 251 for index in range(4096))
        assert (launch.memory[more.memory].kind, launch.memory[more.memory].before) == ("device", None)
        assert launch.memory[more.memory].size - more.offset >= 8192


def test_launches_below_dpnp(sycl_python: Path, newest_root: Path, kept_folder: Path, tmp_path: Path) -> None:
    script = tmp_path / "app.py"
    script.write_text('import dpnp\na = dpnp.arange(1000, dtype="f4")\nb = dpnp.sqrt(a) * 2.5\nprint(b.shape)\n')
    variables = {**UNTRACED, "ONEAPI_DEVICE_SELECTOR": "level_zero:gpu"}
    driver = KeptDriver(NEWEST, "bmg", kept_folder)
    done = driver.captured(
        tmp_path, str(sycl_python), str(script), options=("--launch", "*:first"), variables=variables
    )
    assert (done.status, done.out) == (0, "(1000,)\n"), done.err
    launches = launches_of(done.recording)
    assert {each.kernel for each in launches} == set(done.launches()), done.err
    assert len(launches) >= 3
    assert all(memory.before is not None or memory.why for launch in launches for memory in launch.memory)


def test_a_kept_launch_is_built_and_launched_again_on_a_simulated_device(kept_folder: Path, tmp_path: Path) -> None:
    """Its SPIR-V, through OpenCL; a device that takes no SPIR-V is named, with the reason."""
    driver = KeptDriver(SYSTEM, "dg2", kept_folder)
    done = driver.captured(tmp_path, options=("--launch", "*:first"), variables=UNTRACED)
    for kernel in OF_EACH:
        words = [*MAIN, "replay", str(done.recording), "--kernel", kernel]
        again = subprocess.run([*words, "--simulate", "dg2"], capture_output=True, text=True, timeout=120, check=False)
        assert again.returncode == 0, again.stderr
        assert "recorded: builds, and is launched\nthe device is simulated: nothing was computed" in again.stdout
        refused = subprocess.run(
            [*words, "--device", "Portable"], capture_output=True, text=True, timeout=120, check=False
        )
        assert refused.returncode == 2
        assert "takes no SPIR-V, and the recording has no source of program-1" in refused.stderr


@pytest.mark.skipif(os.geteuid() != 0, reason="a small file system is mounted, which needs to be root")
def test_the_application_goes_on_when_the_disk_is_full(kept_folder: Path, tmp_path: Path) -> None:
    driver, disk = KeptDriver(SYSTEM, "dg2", kept_folder), tmp_path / "disk"
    disk.mkdir()
    mounted = f'mount -t tmpfs -o size=600k none {disk} && cd {disk} && exec "$@"'
    capture = ["capture", "--simulate", "dg2", "--launch", "*:every=1", "-o", str(disk / "x.klens"), "--"]
    filled = f"head -c 10M /dev/zero > {disk}/fill 2>/dev/null; {' '.join(driver.app)}; status=$?; rm {disk}/fill; exit $status"
    words = ["unshare", "-m", "sh", "-c", mounted, "sh", *MAIN, *capture, "sh", "-c", filled]
    done = subprocess.run(words, capture_output=True, text=True, timeout=300, check=False)
    assert done.returncode == 5, done.stderr
    assert done.stdout.endswith("done 3\n")
    assert len([line for line in done.stdout.splitlines() if " global " in line]) == THREADS * sum(OF_EACH.values())
    assert "No space left on device" in done.stderr


@pytest.mark.parametrize("moments", [3, pytest.param(20, marks=before_release)])
def test_a_killed_application_leaves_finished_launches_whole(kept_folder: Path, tmp_path: Path, moments: int) -> None:
    """What the recording has is what the application printed of it; launches that had not ended are named."""
    driver = KeptDriver(SYSTEM, "dg2", kept_folder)
    for moment in range(moments):
        work = tmp_path / f"{moment}"
        work.mkdir()
        capture = ["capture", "--simulate", "dg2", "--launch", "*:every=1", "-o", str(work / "x.klens"), "--"]
        with (
            (work / "out").open("w") as out,
            subprocess.Popen(
                [*MAIN, *capture, *driver.app, "200"], stdout=out, stderr=subprocess.DEVNULL, start_new_session=True
            ) as process,
        ):
            spool = work / "x.klens.capture"
            while process.poll() is None and len(list(spool.glob("[!.]*.launch"))) < 1 + 13 * moment:
                time.sleep(0.005)
            os.killpg(process.pid, signal.SIGKILL)
        begun, finished = (len(list(spool.glob(pattern))) for pattern in (".*.launch", "[!.]*.launch"))
        done = recover(spool)
        launches = launches_of(work / "x.klens") if done.recording else []
        assert len(launches) >= finished > 13 * moment
        assert set(lines_of(launches)) <= set(printed((work / "out").read_text()))
        named = sum("had not ended" in each or "was to be kept" in each for each in done.missing)
        assert len(launches) + named >= finished + begun, "one that had ended may not have had its name yet"
