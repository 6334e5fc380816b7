"""An application that goes on without a program that does not build, and sources that one device refuses: who says so."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest

from tests.integration.cli.test_cli import kernlens

GOOD = "kernel void good(global float *a) { a[get_global_id(0)] *= 2; }\n"
BAD = "kernel void bad(global float *a) { a[get_global_id(0)] = nothere; }\n"
DOUBLES = "kernel void doubles(global double *a) { a[get_global_id(0)] *= 2; }\n"
#: It tolerates every program that does not build, and builds one that does last.
TOLERANT = f"""\
import pyopencl as cl
devices = [each for platform in cl.get_platforms() if "Intel" in platform.name for each in platform.get_devices()]
context = cl.Context(devices[:1])
for text in ({BAD!r}, {DOUBLES!r}, {GOOD!r}):
    try:
        cl.Program(context, text).build(options="-DN=3", cache_dir=False)
    except cl.RuntimeError:
        print("tolerated")
"""


@pytest.fixture(scope="module")
def captured(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("failed")
    (folder / "application.py").write_text(TOLERANT)
    words = ("capture", "--simulate", "dg2", "-o", "app.klens", "--", sys.executable, "application.py")
    done = kernlens(*words, cwd=folder)
    assert (done.returncode, done.stdout.count("tolerated")) == (0, 2), done.stderr
    assert "3 builds, 2 of them failed" in done.stderr
    assert "      kernlens inspect app.klens says why builds failed\n" in done.stderr
    return folder / "app.klens"


def test_who_failed_and_why_in_a_capture(captured: Path) -> None:
    document = json.loads(kernlens("inspect", captured, "--json").stdout)
    bad, doubles = document["failed_builds"]
    assert {entry["device"] for entry in (bad, doubles)} == {"dg2"}, "as kernlens calls it, not as the driver does"
    assert "use of undeclared identifier 'nothere'" in bad["reason"]
    assert "requires cl_khr_fp64 support" in doubles["reason"]
    assert all("-DN=3" in entry["build_options"] for entry in (bad, doubles))
    for verb in ("annotate", "disasm", "advise", "symbols", "inspect"):
        assert "2 of 3 builds failed" in kernlens(verb, captured).stdout, verb
    check = ("check", captured, "--max-spill-bytes", "0")
    assert (kernlens(*check).returncode, kernlens(*check, "--allow-failed-builds").returncode) == (1, 0)
    parts = captured.parent / "parts"
    assert kernlens("extract", captured, "-o", parts).returncode == 0
    texts = {path.read_text().strip() for path in (parts / "failed_builds").glob("*/sources/*")}
    assert {text.split("\n")[-1] for text in texts} == {BAD.strip(), DOUBLES.strip()}


def test_what_one_of_two_devices_refuses(tmp_path: Path) -> None:
    (tmp_path / "good.cl").write_text(GOOD)
    (tmp_path / "doubles.cl").write_text(DOUBLES)
    words = ("compile", "good.cl", "doubles.cl", "--device", "dg2,pvc", "-o", "both.klens")
    assert kernlens(*words, cwd=tmp_path).returncode == 3
    (entry,) = json.loads(kernlens("annotate", "both.klens", "--json", cwd=tmp_path).stdout)["failed_builds"]
    assert (entry["program"], entry["device"], entry["toolchain_name"]) == ("doubles", "dg2", "system")
    assert "1 of 4 builds failed" in kernlens("disasm", "both.klens", cwd=tmp_path).stdout
    for device, status in (("pvc", 0), ("dg2", 1)):
        check = ("check", "both.klens", "--device", device, "--max-spill-bytes", "0")
        assert kernlens(*check, cwd=tmp_path).returncode == status, device
    for verb in ("annotate", "disasm", "inspect", "advise", "extract"):
        asked = (
            verb,
            "both.klens",
            "--kernel",
            "doubles",
            "--device",
            "dg2",
            *(("-o", "x") if verb == "extract" else ()),
        )
        done = kernlens(*asked, cwd=tmp_path)
        assert (done.returncode, done.stdout) == (2, "")
        assert "doubles is there for pvc" in done.stderr, verb
        assert "a build of it failed: " in done.stderr, verb
    folder = ("check", ".", "--device", "dg2", "--max-spill-bytes", "0", "--json")
    (tmp_path / "both.klens").unlink()
    done = kernlens(*folder, cwd=tmp_path)
    assert done.returncode == 3
    assert [finding["kernel"] for finding in json.loads(done.stdout)["findings"]] == ["good"]


#: It builds and loads, one after the other, what needs more shared local memory than dg2 has beside what does not.
TOO_LARGE = """\
kernel void too_large(global ulong *o) {
  local ulong t[32768]; int l = get_local_id(0);
  for (int i = l; i < 32768; i += get_local_size(0)) t[i] = o[i];
  barrier(CLK_LOCAL_MEM_FENCE); o[get_global_id(0)] = t[(l * 77) & 32767]; }
kernel void small(global float *o) { o[get_global_id(0)] *= 2; }
"""


@pytest.mark.parametrize("toolchain", ["system", "newest"])
def test_why_the_driver_does_not_load_what_compiles(toolchain: str, newest_root: Path, tmp_path: Path) -> None:
    (tmp_path / "application.py").write_text(TOLERANT.replace(repr(DOUBLES), repr(TOO_LARGE)))
    words = ("capture", "--simulate", "dg2", "--toolchain", toolchain, "-o", "app.klens")
    done = kernlens(*words, "--", sys.executable, "application.py", cwd=tmp_path)
    assert (done.returncode, done.stdout.count("tolerated")) == (0, 2), done.stderr
    _, refused = json.loads(kernlens("inspect", "app.klens", "--json", cwd=tmp_path).stdout)["failed_builds"]
    assert refused["log"] == "", "the driver gives no reason"
    assert refused["reason"] == (
        "the application's build failed with CL_OUT_OF_RESOURCES: too_large declares 262,144 bytes of SLM,"
        " and the device has 65,536"
    )
