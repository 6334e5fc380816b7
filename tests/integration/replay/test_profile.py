"""``kernlens replay --profile``: a kept launch under a profiler, on PoCL. The profilers are shell commands."""

from __future__ import annotations

import shlex
import struct
from base64 import b64encode
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from kernlens.dataclass import replace
from kernlens.errors import ArgumentError, NotFoundError, ToolError, UnsupportedError
from kernlens.formats.ptx.ptx_text import read_ptx
from kernlens.model.build import Build
from kernlens.model.kept_launch import KeptArgument, KeptLaunch, KeptMemory
from kernlens.runtime.cuda.cuda_library import Cuda
from kernlens.verbs.replay.cuda_profile import CudaReplay, form_of, output_path, values_of
from kernlens.verbs.replay.elements import Difference
from kernlens.verbs.replay.kept import RecordedLaunch
from kernlens.verbs.replay.replay import replay
from kernlens.verbs.replay.replayed import Compared
from tests.integration.replay.test_replay import FLOATS, KERNELS, kernlens
from tests.writers.kept_launches import READ_ONLY, WRITE_ONLY, Keeper, record_launches

pytestmark = pytest.mark.skipif(not Path("/etc/OpenCL/vendors/pocl.icd").exists(), reason="no PoCL")

#: The file of the requests is the last but one word.
JOB = "for last; do job=$previous; previous=$last; done"
FACTOR = struct.pack("<f", 2.5)


@pytest.fixture(scope="module")
def recording(tmp_path_factory: pytest.TempPathFactory) -> Path:
    keeper = Keeper(KERNELS, "-DGROUPS=1", "kernels")
    launch = keeper.launch("scale", [[FLOATS, READ_ONLY], [bytes(1024), WRITE_ONLY], FACTOR, 256], [256], [64])
    return record_launches(tmp_path_factory.mktemp("kept") / "kept.klens", keeper.build, launch)


def shell(script: str) -> str:
    """Return a profiler's command: a script that starts what it is to profile as ``"$@"``."""
    return shlex.join(["sh", "-c", script, "profiler"])


def test_a_profiler_stands_around_the_launch(recording: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("SECRET", "hidden")
    command = shell('echo began; echo "$SECRET" "$@" >words; "$@"; status=$?; echo "ended $status" >&2; exit $status')
    text = kernlens(recording, "--runs", 2, "--profile", command)
    assert f"the recorded build under {command}: equal\nbegan\n" in text
    assert text.endswith("ended 0\n")
    # The profiler has the user's environment and folder, and the launch has not.
    words = (tmp_path / "words").read_text().split()
    assert words[0] == "hidden"
    assert words.index("SECRET") == words.index("-u", words.index("SECRET") - 1) + 1
    assert [word for word in words if word.endswith("/kernlens_confine")]
    document = kernlens(recording, "--runs", 0, "--profile", command, "--unconfined", "--json")
    profile = document["launches"][0]["profile"]
    assert (profile["command"], profile["output"]) == (command, "began\nended 0\n")
    assert [(each["memory"], each["difference"]) for each in profile["results"]] == [
        ("the buffer of argument 1 (out)", None)
    ]
    assert not [word for word in (tmp_path / "words").read_text().split() if word.endswith("/kernlens_confine")]
    assert kernlens(recording, "--runs", 0, "--json")["launches"][0]["profile"] is None


def test_a_variable_of_the_profiler_reaches_the_launch(recording: Path) -> None:
    # The dynamic loader tells on standard error what it loads, if it is asked to.
    text = kernlens(recording, "--runs", 0, "--profile", shell('export LD_DEBUG=libs; exec "$@"'))
    assert "calling init: " in text
    assert "libpocl" in text


def test_the_other_build_alone_is_profiled(recording: Path, tmp_path: Path) -> None:
    source = tmp_path / "k2.cl"
    source.write_text(KERNELS + "\n// another\n")
    count = shell(f'{JOB}; grep -o "// another" "$job" | wc -l; exec "$@"')
    text = kernlens(recording, "--runs", 2, "--source", source, "--profile", count)
    assert f"the {source} build under {count}: equal\n1\n" in text


def test_what_differs_is_not_profiled(recording: Path, tmp_path: Path) -> None:
    source = tmp_path / "k2.cl"
    source.write_text(KERNELS.replace("* factor", "* factor * 2.0f"))
    command = shell(f'touch {tmp_path}/began; exec "$@"')
    text = kernlens(recording, "--runs", 2, "--source", source, "--profile", command, status=1)
    assert "\ndifferent; " in text
    assert not (tmp_path / "began").exists()


def test_a_profiler_that_changes_the_results_is_told(recording: Path, tmp_path: Path) -> None:
    changed = tmp_path / "changed.sh"
    other = struct.pack("<f", 3.5)
    encoded = [b64encode(each).decode() for each in (FACTOR, other)]
    changed.write_text(f'{JOB}; sed -i "s|{encoded[0]}|{encoded[1]}|" "$job"; exec "$@"\n')
    text = kernlens(recording, "--runs", 2, "--profile", f"sh {changed}", status=1)
    assert f"under sh {changed}: 1 of 1 result differs\n" in text
    assert "the buffer of argument 1 (out): 255 of 256 floats differ" in text


def test_a_profiler_that_fails_is_told(recording: Path) -> None:
    def message(command: str) -> str:
        with pytest.raises(ToolError) as caught:
            replay(recording, runs=0, profile=command)
        return str(caught.value)

    assert message("false") == "false ended with status 1 before the launch had run: it printed nothing"
    assert message("true") == "true ended with status 0 before the launch had run: it printed nothing"
    command = shell('"$@"; echo no counters; exit 4')
    assert message(command) == "sh ended with status 4 after the launch had run: no counters"
    assert message("no-such-profiler stat") == "no-such-profiler was not found; install it or correct its path"
    assert message(shell("echo kernlens_confine: namespaces: no; exit 125")) == (
        "the launch cannot be confined under sh (namespaces: no): for a recording that you trust, add --unconfined"
    )
    for words in ("", "perf 'stat"):
        with pytest.raises(ArgumentError, match="--profile"):
            replay(recording, runs=0, profile=words)


def test_nsight_compute_is_for_nvidias_gpus(recording: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", "/usr/bin:/bin")
    text = kernlens(recording, "--profile", "ncu", status=3)
    assert text.startswith("kernlens: Nsight Compute (ncu) was not found: it comes with NVIDIA's CUDA toolkit; install")
    ncu = tmp_path / "ncu"
    ncu.write_text("#!/bin/sh\nexit 1\n")
    ncu.chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}:/usr/bin:/bin")
    with pytest.raises(
        NotFoundError, match=r"Nsight Compute profiles NVIDIA's GPUs, and the launch runs on .*Portable"
    ):
        replay(recording, profile="ncu", runs=0)
    assert "needs --profile" in kernlens(recording, "-o", "name", status=2)


def test_without_a_driver_there_is_no_cuda(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("kernlens.runtime.cuda.cuda_library._LIBRARY", "libcuda-none.so.1")
    with pytest.raises(ToolError, match=r"CUDA's driver interface libcuda-none\.so\.1 cannot be opened"):
        Cuda("a GPU")


class Answers:
    """Answers in place of a driver's, of which one may be an error."""

    def __init__(self, *answers: Mapping[int, str] | ToolError) -> None:
        self.answers, self.closed = list(answers), 0

    def request(self, api: str, request: str, *, input: str, **_: Any) -> Mapping[str, Any]:
        assert (api, request, input) == ("cuda", "launch", "launch 3 of k")
        if isinstance(answer := self.answers.pop(0), ToolError):
            raise answer
        return {"results": list(answer.items())}

    def close(self) -> None:
        self.closed += 1


def test_the_drivers_own_code_is_profiled_only_if_it_leaves_the_same_through_cuda(tmp_path: Path) -> None:
    equal = Compared("out", 1, "float", None)
    other = replace(equal, difference=Difference(1, 0, "1", "2", 1, 1.0))

    def compared(results: Mapping[int, str]) -> tuple[Compared, ...]:
        return tuple(equal if path == "equal" else other for path in results.values())

    def tried(*answers: Mapping[int, str] | ToolError) -> tuple[str, int, int, str]:
        driver: Any = Answers(*answers)
        recorded = RecordedLaunch(Build("program"), launch((64,), (64,)))
        profiled = CudaReplay(recorded, "a GPU", driver, tmp_path, {}, compared, "name")
        job, results, problems = profiled._through_cuda(driver, [{"program": b"own"}, {"program": b"copy"}])
        return (
            job["program"].decode(),
            sum(each.difference is not None for each in results),
            driver.closed,
            "".join(problems),
        )

    other_results = "OpenCL's own code of the program leaves other results through CUDA"
    assert tried({0: "equal"}) == ("own", 0, 0, "")
    assert tried({0: "other"}, {0: "equal"}) == ("copy", 0, 0, other_results)
    assert tried({}, {0: "equal"}) == ("copy", 0, 0, other_results)
    assert tried({0: "other"}, {0: "other"}) == ("copy", 1, 0, other_results)
    # A kernel that fails takes the process with it.
    failed = "OpenCL's own code of the program does not run through CUDA: cuCtxSynchronize failed"
    assert tried(ToolError("cuCtxSynchronize failed"), {0: "equal"}) == ("copy", 0, 1, failed)
    with pytest.raises(ToolError, match="the copy"):
        tried(ToolError("its own"), ToolError("the copy"))


PTX = read_ptx(
    memoryview(b""".version 8.0
.target sm_80
.address_size 64
.entry k(
.param .u64 .ptr .global .align 4 k_param_0,
.param .u32 k_param_1
)
{
ret;
}
""")
)


def launch(
    size: tuple[int, ...], local: tuple[int, ...] | None, value: bytes = b"1234", kernel: str = "k"
) -> KeptLaunch:
    arguments = (KeptArgument("memory", memory=0, offset=16), KeptArgument("value", value))
    return KeptLaunch(kernel, 3, 1, size, local, (0,) * len(size), arguments, (KeptMemory("buffer", 80),))


def test_the_values_of_a_launch_for_cuda() -> None:
    values, notes = values_of(launch((96, 10), (32, 2)), PTX)
    assert (values.local_size, values.buffers, values.local, notes) == ((32, 2), {0: 64}, {}, ())
    for size, chosen in (((4096,), (256,)), ((96, 10), (96, 2)), ((7919,), (1,)), ((250, 3, 5), (250, 1, 1))):
        values, notes = values_of(launch(size, None), PTX)
        assert values.local_size == chosen
        words = "x".join(map(str, chosen))
        assert notes == (f"the driver chose the local size and does not tell which: through CUDA it is {words}",)
    demanding = read_ptx(memoryview(PTX.text.replace(")\n{", ")\n.reqntid 8, 2, 1\n{").encode()))
    assert values_of(launch((96, 10), None), demanding)[0].local_size == (8, 2)
    for size, local in (((100,), (32,)), ((64,), (0,)), ((0,), None)):
        with pytest.raises(UnsupportedError, match="CUDA cannot launch"):
            values_of(launch(size, local), PTX)


def test_arguments_that_are_not_the_kernels_are_refused() -> None:
    values, _ = values_of(launch((64,), (64,)), PTX)
    assert form_of(launch((64,), (64,)), PTX, values).parameters == (8, 4)
    for wrong in (launch((64,), (64,), b"12345678"), launch((64,), (64,), b"")):
        with pytest.raises(UnsupportedError, match="the arguments of the launch are not those of k in the PTX"):
            form_of(wrong, PTX, values)
    assert output_path(launch((64,), None, kernel="../a b$c")) == "___a_b_c-3"
