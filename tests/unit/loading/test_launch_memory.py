"""Local memory that launches of Triton's kernels ask for: no binary states it, the JSON of the cache does."""

from __future__ import annotations

import json
import shutil
import tarfile
from pathlib import Path

import pytest

from kernlens.analysis.budget import against_baseline
from kernlens.analysis.comparison.pairs import pair
from kernlens.errors import FormatError
from kernlens.loading.open import load
from kernlens.model.bounds import Rule, Tolerance, bound
from kernlens.model.figures import figure_named, own_figures
from kernlens.recording.writer import RecordingWriter
from kernlens.verbs.check import judged
from tests.unit.conftest import Kernlens

DATA = Path(__file__).parents[2] / "data"
#: Of each vendor: the file of the cache, the metric of what is declared, its limit, the bytes declared and the launch's.
CACHES = {
    "nvidia": ("matmul.cubin", "shared_bytes", "--max-shared-bytes", 1024, 24_576),
    "amd": ("softmax_kernel.hsaco", "lds_bytes", "--max-lds", 0, 65_536),
    "intel": ("softmax.spv", "slm_bytes", "--max-slm", 0, 16),
}


@pytest.fixture(params=CACHES)
def vendor(request: pytest.FixtureRequest) -> str:
    """The vendor of a cache."""
    name: str = request.param
    return name


@pytest.fixture
def binary(tmp_path: Path, vendor: str) -> Path:
    """The machine code of a cache, with all that Triton keeps beside it."""
    archives = {"nvidia": "nvidia/triton_cache", "amd": "triton/softmax", "intel": "intel_triton/triton_cache"}
    with tarfile.open(DATA / f"{archives[vendor]}.tar.xz") as packed:
        packed.extractall(tmp_path / "cache", filter="data")
    if vendor == "amd":
        (code,) = (tmp_path / "cache").rglob("*.hsaco")
        code.rename(code.parent / "softmax_kernel.hsaco")
        (code.parent / "softmax_kernel.ttir").write_text("module {}\n")
        stated = {
            "name": "softmax_kernel",
            "shared": CACHES["amd"][-1],
            "target": {"backend": "hip", "arch": "gfx1100"},
        }
        (code.parent / "softmax_kernel.json").write_text(json.dumps(stated))
    (path,) = (
        each
        for each in (tmp_path / "cache").rglob(CACHES[vendor][0])
        if vendor != "intel" or each.parent.name == "native"
    )
    return path


def test_a_limit_holds_what_the_launch_adds(kernlens: Kernlens, binary: Path, vendor: str) -> None:
    _, key, limit, declared, added = CACHES[vendor]
    (program,) = load(binary)
    (kernel,) = program.kernels.values()
    assert figure_named(key).read(kernel) == declared
    assert "launch_shared_bytes" in [figure.key for figure in own_figures(kernel)]
    assert kernel.launch_shared_bytes == kernel.unread().launch_shared_bytes == added
    assert judged([program], [Rule("*", (bound(f"max_{key}", declared + added),))]).ok
    done = kernlens("check", str(binary), limit, str(declared + added - 1))
    assert done.status == 1
    words = f"{declared + added:,} ({added:,} of them by the launch), at most {declared + added - 1:,}"
    assert words in done.out


def test_tables_and_documents_have_it(kernlens: Kernlens, binary: Path, vendor: str) -> None:
    added = CACHES[vendor][-1]
    done = kernlens("inspect", str(binary))
    assert "local memory of launches" in done.out
    assert f"{added:,}" in done.out
    (program,) = json.loads(kernlens("inspect", str(binary), "--json").out)["programs"]
    assert [kernel["launch_shared_bytes"] for kernel in program["kernels"]] == [added]


def test_a_baseline_that_asks_for_less_fails(binary: Path, vendor: str, tmp_path: Path) -> None:
    _, key, _, declared, added = CACHES[vendor]
    before = Path(shutil.copytree(binary.parent, tmp_path / "before")) / binary.name
    stated = before.with_suffix(".json")
    stated.write_text(json.dumps(json.loads(stated.read_text()) | {"shared": added // 2}))
    (both,) = pair(load(before), load(binary)).kernels
    (finding,) = against_baseline(both, [Tolerance(figure_named(key))], False)
    assert (finding.before, finding.value, finding.state) == (declared + added // 2, declared + added, "failed")


@pytest.mark.parametrize("vendor", ["nvidia"])
@pytest.mark.parametrize("shared", [None, -1, True, "24576", 1 << 60, {}])
def test_what_is_no_size_is_not_known(binary: Path, shared: object) -> None:
    stated = binary.with_suffix(".json")
    stated.write_text(json.dumps(json.loads(stated.read_text()) | {"shared": shared}))
    (program,) = load(binary)
    (kernel,) = program.kernels.values()
    assert kernel.launch_shared_bytes is None


@pytest.mark.parametrize("vendor", ["nvidia"])
def test_a_function_beside_the_kernel_is_not_launched(binary: Path) -> None:
    stated = binary.with_suffix(".json")
    stated.write_text(json.dumps(json.loads(stated.read_text()) | {"name": "another"}))
    (program,) = load(binary)
    (kernel,) = program.kernels.values()
    assert kernel.launch_shared_bytes is None
    assert judged([program], [Rule("*", (bound("max_shared_bytes", 1024),))]).ok


@pytest.mark.parametrize("vendor", ["nvidia", "amd"])
def test_a_binary_alone_does_not_say_what_launches_add(kernlens: Kernlens, binary: Path, vendor: str) -> None:
    _, key, limit, declared, _ = CACHES[vendor]
    binary.with_suffix(".json").unlink()
    reason = "without what launches add, which no binary states"
    done = kernlens("check", str(binary), limit, str(declared))
    assert done.status == 0
    assert done.out.endswith(f"all kept, 1 {reason}\n")
    (finding,) = kernlens("check", str(binary), limit, str(declared), "--json").document["findings"]
    assert finding["reason"] == reason
    assert f"  {figure_named(key).heading}: {reason}" in kernlens("inspect", str(binary)).out
    (program,) = json.loads(kernlens("inspect", str(binary), "--json").out)["programs"]
    assert [kernel["launch_shared_bytes"] for kernel in program["kernels"]] == [None]


def test_a_recording_keeps_what_launches_add(kernlens: Kernlens, binary: Path, vendor: str, tmp_path: Path) -> None:
    added = CACHES[vendor][-1]
    (program,) = load(binary)
    recording = tmp_path / "cache.klens"
    with RecordingWriter(recording) as writer:
        writer.add(program.build.with_parts(binary=bytes(program.binary)))
    again = tmp_path / "again.klens"
    assert kernlens("recording", "merge", "-o", str(again), str(recording)).status == 0
    for path in (recording, again):
        (program,) = load(path)
        assert [kernel.launch_shared_bytes for kernel in program.kernels.values()] == [added]
    assert kernlens("recording", "list", str(again), "--json").status == 0


@pytest.mark.parametrize("vendor", ["nvidia"])
@pytest.mark.parametrize("text", [b"{", b"[1]", b'{"matmul": "x"}', b"[" * 100_000])
def test_a_damaged_recording_of_launches(binary: Path, text: bytes, tmp_path: Path) -> None:
    (program,) = load(binary)
    path = tmp_path / "cache.klens"
    with RecordingWriter(path) as writer, pytest.MonkeyPatch.context() as patch:
        patch.setattr("kernlens.recording.writer.json.dumps", lambda value: text.decode())
        writer.add(program.build.with_parts(binary=bytes(program.binary)))
    with pytest.raises(FormatError, match="damaged"):
        load(path)


@pytest.mark.parametrize("vendor", ["intel"])
def test_arguments_whose_sizes_nothing_says(kernlens: Kernlens, binary: Path) -> None:
    binary.with_suffix(".json").unlink()
    done = kernlens("check", str(binary), "--max-slm", "0")
    assert done.status == 0
    reason = "without the local memory of arguments, whose size each launch says"
    assert done.out.endswith(f"all kept, 1 {reason}\n")
    (finding,) = kernlens("check", str(binary), "--max-slm", "0", "--json").document["findings"]
    assert finding["reason"] == reason
    assert kernlens("check", str(binary), "--max-barriers", "1").out.endswith("all kept\n")
