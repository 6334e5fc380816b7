"""The reason of a capture without builds: interfaces that kernlens does not record."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from kernlens.toolchain.loaders.application import lost_on_children
from kernlens.toolchain.toolchains import toolchain
from tests.integration.capture.capture_fixtures import FLAGS
from tests.integration.cli.test_cli import kernlens

OPENER = """\
#include <dlfcn.h>
#include <unistd.h>
int main(int count, char **words)
{
    int failed = 0;
    for (int index = 1; index < count; ++index)
        failed |= dlopen(words[index], RTLD_NOW) == NULL;
    usleep(600000);
    return failed;
}
"""


def program(folder: Path, text: str, *options: str) -> str:
    (folder / "app.c").write_text(text)
    words = [*FLAGS, "-o", str(folder / "app"), str(folder / "app.c"), *options]
    subprocess.run(["gcc", *words], check=True, timeout=60)
    return str(folder / "app")


@pytest.mark.parametrize(
    ("library", "title"),
    [
        ("libcuda.so.1", "CUDA"),
        ("libamdhip64.so.6", "HIP"),
        ("libvulkan.so.1", "Vulkan"),
        ("libze_loader.so.1", "Level Zero"),
    ],
)
def test_another_interface(library: str, title: str, tmp_path: Path) -> None:
    app = program(tmp_path, OPENER, "-ldl")
    words = ["gcc", "-shared", "-x", "c", "-o", str(tmp_path / library), "/dev/null"]
    subprocess.run(words, check=True, timeout=60)
    done = kernlens("capture", "-o", tmp_path / "x.klens", "--", app, tmp_path / library)
    assert done.returncode == 0
    assert f"the application loaded {library} ({title})" in done.stderr


#: Builds a program, once a process of its own has looked for OpenCL.
BUILDS = """\
import subprocess, sys
import pyopencl
subprocess.run(sys.argv[1:], check=True)
context = pyopencl.create_some_context(interactive=False)
pyopencl.Program(context, "kernel void own(global int *out) { *out = 1; }").build()
"""


def test_children_that_cannot_load_the_driver_of_a_toolchain(newest_root: Path, tmp_path: Path) -> None:
    if not lost_on_children(toolchain("newest")):
        pytest.skip("this system's C library is new enough for the driver of newest")
    opener = program(tmp_path, OPENER, "-ldl")
    words = ("capture", "--simulate", "bmg", "--toolchain", "newest", "-o", tmp_path / "x.klens", "--")
    launched = kernlens(*words, "/bin/sh", "-c", f"{opener} libOpenCL.so.1; true")
    sentence = "get this system's C library, which cannot load the OpenCL driver of newest ("
    assert f"sh: nothing was recorded: processes that the application starts {sentence}" in launched.stderr
    assert "so they see no OpenCL platform" in launched.stderr
    unseen = kernlens(*words, "/bin/sh", "-c", "true")
    assert "nothing was built that kernlens can see" in unseen.stderr
    assert sentence in unseen.stderr
    built = kernlens(*words, sys.executable, "-c", BUILDS, opener, "libOpenCL.so.1")
    assert "1 build, 1 kernel" in built.stderr
    assert sentence in built.stderr
    without = kernlens(*words, sys.executable, "-c", BUILDS, opener, "libc.so.6")
    assert "1 build, 1 kernel" in without.stderr
    assert sentence not in without.stderr


def test_children_that_have_the_driver(tmp_path: Path) -> None:
    opener = program(tmp_path, OPENER, "-ldl")
    done = kernlens(
        "capture", "--simulate", "dg2", "-o", tmp_path / "x.klens", "--", "/bin/sh", "-c", f"{opener} libOpenCL.so.1"
    )
    assert "C library" not in done.stderr
