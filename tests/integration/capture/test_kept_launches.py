"""``kernlens capture --launch``: what is kept is what the application knows itself of its launches; it sees nothing of that."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import time
from collections import defaultdict
from pathlib import Path

import pytest

from kernlens.model.kept_launch import KeptLaunch
from kernlens.recording.reader import Recording
from kernlens.verbs.capture.capture import recover
from tests.integration.capture.capture_fixtures import FLAGS, HERE, MAIN, Done, alone, environment
from tests.integration.layers.opencl_layer_fixtures import Platform, pocl
from tests.made_once import once
from tests.whole import WHOLE

#: Kernels of the application, and how many launches it makes of each: 8 threads, 4 rounds.
KERNELS, LAUNCHES = ("optional", "part", "picture", "plain", "shared"), 32
#: Moments at which it is killed.
MOMENTS = 30 if WHOLE else 10


@pytest.fixture(scope="module")
def application(tmp_path_factory: pytest.TempPathFactory) -> Path:
    def fill(path: Path) -> None:
        words = ["gcc", *FLAGS, "-o", str(path / "app"), str(HERE / "kept_launches.c"), "-lOpenCL", "-lpthread"]
        subprocess.run(words, check=True, timeout=60)

    return once(tmp_path_factory, "kept-launches-application", fill) / "app"


@pytest.fixture(scope="module")
def platform(tmp_path_factory: pytest.TempPathFactory) -> Platform:
    """PoCL, which builds once for all tests of a process: they are about launches, and its builds take longer than all else."""
    return pocl(tmp_path_factory.mktemp("pocl-cache"))


def capture_with(platform: Platform, work: Path, application: Path, *options: str) -> Done:
    recording = work / "x.klens"
    command = [*MAIN, "capture", *options, "-o", str(recording), "--", str(application)]
    done = subprocess.run(
        command, cwd=work, env=environment(platform), capture_output=True, text=True, timeout=300, check=False
    )
    return Done(done.returncode, done.stdout, done.stderr, recording)


def launches_of(recording: Path) -> list[KeptLaunch]:
    """Return them; the recording stays open as long as they are in use."""
    return [launch for build in Recording(recording).builds() for launch in build.parts.kept_launches]


def hashed(content: bytes) -> str:
    """FNV-1a of 64 bits, as the application has it."""
    value = 0xCBF29CE484222325
    for byte in content:
        value = (value ^ byte) * 0x100000001B3 % (1 << 64)
    return f"{value:016x}"


def lines_of(launches: list[KeptLaunch]) -> list[str]:
    """The lines that the application writes of these launches, from what was kept."""
    lines = []
    for launch in launches:
        mark = int.from_bytes(launch.arguments[-1].content, "little")
        for number, memory in enumerate(launch.memory):
            for when, content in (("before", memory.before), ("after", memory.after)):
                if content is not None:
                    lines.append(f"{launch.kernel} {mark} {when} {number} {hashed(content())}")
    return sorted(lines)


def test_every_launch_is_kept_as_the_application_knows_it(
    tmp_path: Path, platform: Platform, application: Path
) -> None:
    """Buffers that the host may not read, parts of a buffer, images, samplers, shared virtual memory, null pointers; behind
    user events, on queues without order, from eight threads."""
    plain = alone(platform, tmp_path, str(application))
    done = capture_with(platform, tmp_path, application, "--launch", "*:every=1")
    assert (plain.returncode, done.status) == (0, 0), done.err
    assert sorted(done.out.splitlines()) == sorted(plain.stdout.splitlines())
    launches = launches_of(done.recording)
    assert lines_of(launches) == sorted(plain.stdout.splitlines())
    numbers = defaultdict(set)
    for launch in launches:
        numbers[launch.kernel].add(launch.number)
    assert numbers == {kernel: set(range(1, LAUNCHES + 1)) for kernel in KERNELS}
    assert f"{len(KERNELS) * LAUNCHES} launches kept" in done.err


def test_arguments_and_sizes_are_kept_as_they_were_set(tmp_path: Path, platform: Platform, application: Path) -> None:
    done = capture_with(platform, tmp_path, application, *(word for kernel in KERNELS for word in ("--launch", kernel)))
    launches = {launch.kernel: launch for launch in launches_of(done.recording)}
    assert set(launches) == set(KERNELS)
    assert {name: each.number for name, each in launches.items()} == dict.fromkeys(KERNELS, 1)
    part, picture, shared, optional = (launches[name] for name in ("part", "picture", "shared", "optional"))
    assert [(each.kind, each.memory, each.offset, each.size) for each in part.arguments] == [
        ("memory", 0, 0, 512), ("memory", 0, 512, 512), ("local", None, 0, 128), ("value", None, 0, 0),
    ]  # fmt: skip
    assert (part.global_size, part.local_size) == ((128,), (32,))
    assert (picture.global_size, picture.local_size) == ((12, 7), None)
    assert picture.arguments[2].sampler == (0, 0x1131, 0x1140)
    form = picture.memory[0].image
    assert form is not None
    assert (form.width, form.height, form.element_size, form.buffer) == (12, 7, 16, None)
    assert (shared.arguments[0].kind, shared.arguments[0].offset) == ("pointer", 64)
    assert (shared.global_offset, shared.memory[0].kind, shared.memory[0].address != 0) == ((8,), "svm", True)
    # Without a word of the driver on the argument's address space both are set alike: eight bytes, no value.
    assert (optional.arguments[1].kind, optional.arguments[1].size) in (("null", 8), ("local", 8))
    assert launches["picture"].memory[0].after is None, "a kernel cannot write to it"


def test_launches_are_chosen_by_number_step_pattern_and_time(
    tmp_path: Path, platform: Platform, application: Path
) -> None:
    words = ("plain:3", "plain:5", "pa*:every=10", "shared:slowest", "none:first")
    done = capture_with(platform, tmp_path, application, *(word for each in words for word in ("--launch", each)))
    chosen = sorted(
        (launch.kernel, launch.number) for launch in launches_of(done.recording) if launch.kernel != "shared"
    )
    assert chosen == [("part", 1), ("part", 11), ("part", 21), ("part", 31), ("plain", 3), ("plain", 5)]
    (slowest,) = (launch for launch in launches_of(done.recording) if launch.kernel == "shared")
    assert slowest.nanoseconds


@pytest.mark.parametrize("words", [("blur:0",), ("blur:last",), ("blur:every=0",), (":3",), ("blur:every=x",)])
def test_a_launch_that_is_none_is_refused_before_anything_runs(tmp_path: Path, words: tuple[str, ...]) -> None:
    command = [*MAIN, "capture", "--launch", *words, "--", "touch", str(tmp_path / "ran")]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, timeout=60, check=False)
    assert done.returncode != 0
    assert "KERNEL:every=K" in done.stderr
    assert not (tmp_path / "ran").exists()


def test_more_than_may_be_kept_is_told(tmp_path: Path, platform: Platform, application: Path) -> None:
    """A launch of ``part`` has 1,024 bytes before and after: three fit."""
    plain = alone(platform, tmp_path, str(application))
    done = capture_with(platform, tmp_path, application, "--launch", "part:every=1", "--launch-bytes", "6500")
    assert sorted(done.out.splitlines()) == sorted(plain.stdout.splitlines())
    assert len(launches_of(done.recording)) == 3
    assert "its memory is more than may be kept" in done.err


def test_nothing_is_kept_where_no_launch_is_named(tmp_path: Path, platform: Platform, application: Path) -> None:
    done = capture_with(platform, tmp_path, application, "--launch", "absent")
    assert done.status == 0
    assert launches_of(done.recording) == []
    assert "no launch was kept: the application made none that --launch names and that could be kept" in done.err
    assert f"; it launched {', '.join(KERNELS)}" in done.err


def test_what_matched_no_launch_is_named_beside_what_did(tmp_path: Path, platform: Platform, application: Path) -> None:
    done = capture_with(
        platform, tmp_path, application, "--launch", "part:2", "--launch", "plan", "--launch", "part:77"
    )
    assert len(launches_of(done.recording)) == 1
    assert (
        "no launch was kept for --launch plan: the application launched no such kernel; did you mean plain" in done.err
    )
    assert f"no launch was kept for --launch part:77: part was launched {LAUNCHES} times" in done.err
    assert "--launch part:2:" not in done.err


@pytest.mark.skipif(os.geteuid() != 0, reason="a small file system is mounted, which needs to be root")
def test_the_application_goes_on_when_the_disk_is_full(tmp_path: Path, platform: Platform, application: Path) -> None:
    plain = alone(platform, tmp_path, str(application))
    disk = tmp_path / "disk"
    disk.mkdir()
    line = f'mount -t tmpfs -o size=600k none {disk} && cd {disk} && exec "$@"'
    command = [
        "unshare",
        "-m",
        "sh",
        "-c",
        line,
        "sh",
        *MAIN,
        "capture",
        "--launch",
        "*:every=1",
        "-o",
        str(disk / "x.klens"),
        "--",
    ]
    filled = f"head -c 10M /dev/zero > {disk}/fill 2>/dev/null; {application}; status=$?; rm {disk}/fill; exit $status"
    done = subprocess.run(
        [*command, "sh", "-c", filled],
        env=environment(platform),
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert sorted(done.stdout.splitlines()) == sorted(plain.stdout.splitlines())
    assert "No space left on device" in done.stderr


def test_a_killed_application_leaves_finished_launches_whole(
    tmp_path: Path, platform: Platform, application: Path
) -> None:
    """At ten moments, before a release at thirty: each launch that the recording has is one of the application's, and
    unfinished ones are named."""
    known = set(alone(platform, tmp_path, str(application)).stdout.splitlines())
    for moment in range(MOMENTS):
        work = tmp_path / f"{moment}"
        work.mkdir()
        command = [*MAIN, "capture", "--launch", "*:every=1", "-o", str(work / "x.klens"), "--", str(application)]
        with subprocess.Popen(
            command, cwd=work, env=environment(platform), stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
            start_new_session=True,
        ) as process:  # fmt: skip
            spool = work / "x.klens.capture"
            while process.poll() is None and len(list(spool.glob("[!.]*.launch"))) < 80 * moment // MOMENTS:
                time.sleep(0.005)
            os.killpg(process.pid, signal.SIGKILL)
        if not spool.is_dir():
            continue
        begun, finished = (len(list(spool.glob(pattern))) for pattern in (".*.launch", "[!.]*.launch"))
        done = recover(spool)
        launches = launches_of(work / "x.klens") if done.recording else []
        assert len(launches) >= finished >= 80 * moment // MOMENTS
        assert set(lines_of(launches)) <= known
        named = sum("had not ended" in each or "was to be kept" in each for each in done.missing)
        assert len(launches) + named >= finished + begun, "one that had ended may not have had its name yet"
        shutil.rmtree(work)


SIMULATED = """\
#include <CL/cl.h>
#include <stdio.h>
#include <string.h>
int main(void)
{
    const char *text = "kernel void add(global int *a, global int *b) { a[get_global_id(0)] += b[0]; }";
    cl_platform_id platforms[8];
    cl_device_id device = NULL;
    cl_uint count = 0;
    char name[256] = "";
    clGetPlatformIDs(8, platforms, &count);
    for (cl_uint index = 0; index < count && strstr(name, "Intel") == NULL; ++index) {
        clGetPlatformInfo(platforms[index], CL_PLATFORM_NAME, sizeof name, name, NULL);
        clGetDeviceIDs(platforms[index], CL_DEVICE_TYPE_GPU, 1, &device, NULL);
    }
    cl_context context = clCreateContext(NULL, 1, &device, NULL, NULL, NULL);
    cl_command_queue queue = clCreateCommandQueueWithProperties(context, device, NULL, NULL);
    cl_program program = clCreateProgramWithSource(context, 1, &text, NULL, NULL);
    clBuildProgram(program, 1, &device, "", NULL, NULL);
    cl_kernel kernel = clCreateKernel(program, "add", NULL);
    int bytes[256];
    memset(bytes, 7, sizeof bytes);
    cl_mem buffer = clCreateBuffer(context, CL_MEM_COPY_HOST_PTR, sizeof bytes, bytes, NULL);
    int *shared = clSVMAlloc(context, CL_MEM_READ_WRITE, sizeof bytes, 0);
    clEnqueueSVMMap(queue, CL_TRUE, CL_MAP_WRITE, shared, sizeof bytes, 0, NULL, NULL);
    memset(shared, 9, sizeof bytes);
    clEnqueueSVMUnmap(queue, shared, 0, NULL, NULL);
    clSetKernelArg(kernel, 0, sizeof buffer, &buffer);
    clSetKernelArgSVMPointer(kernel, 1, shared);
    size_t size = 256;
    printf("%d", clEnqueueNDRangeKernel(queue, kernel, 1, NULL, &size, NULL, 0, NULL, NULL));
    printf(" %d\\n", clFinish(queue));
}
"""


def test_nothing_is_claimed_of_what_a_simulated_device_gives_back(tmp_path: Path) -> None:
    """Nothing runs there: no memory has contents after the launch, and a buffer's are not those that the driver reads back."""
    source = tmp_path / "app.c"
    source.write_text(SIMULATED)
    subprocess.run(["gcc", "-DCL_TARGET_OPENCL_VERSION=300", "-o", tmp_path / "app", source, "-lOpenCL"], check=True)
    command = [*MAIN, "capture", "--simulate", "dg2", "--launch", "add", "-o", str(tmp_path / "x.klens")]
    done = subprocess.run(
        [*command, "--", str(tmp_path / "app")], capture_output=True, text=True, timeout=120, check=False
    )
    assert (done.returncode, done.stdout) == (0, "0 0\n"), done.stderr
    (launch,) = launches_of(tmp_path / "x.klens")
    buffer, shared = launch.memory
    assert (buffer.kind, buffer.before, buffer.after) == ("buffer", None, None)
    assert buffer.why == "a simulated device gives back nothing of it"
    assert shared.before is not None
    assert (shared.kind, shared.before(), shared.after) == ("svm", bytes([9]) * 1024, None)
    assert shared.why == "nothing runs on a simulated device"
