"""The reason of a capture without builds: a loader that is linked in, and interfaces that kernlens does not record."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from tests.integration.capture.capture_fixtures import FLAGS
from tests.integration.cli.test_cli import kernlens

#: It looks for drivers as loaders do.
OWN_LOADER = """\
#include <dirent.h>
#include <stdlib.h>
#include <unistd.h>
int main(void)
{
    const char *folder = getenv("OCL_ICD_VENDORS");
    usleep(600000);
    return opendir(folder != NULL ? folder : "/etc/OpenCL/vendors") == NULL;
}
"""
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


def test_a_loader_that_is_linked_in(tmp_path: Path) -> None:
    app = program(tmp_path, OWN_LOADER)
    done = kernlens("capture", "-o", tmp_path / "x.klens", "--", app)
    assert done.returncode == 0
    assert f"a process loaded {app}, which has an OpenCL loader of its own linked in" in done.stderr
    assert "found no driver" not in done.stderr


@pytest.mark.parametrize(
    ("library", "title"), [("libcuda.so.1", "CUDA"), ("libamdhip64.so.6", "HIP"), ("libvulkan.so.1", "Vulkan")]
)
def test_another_interface(library: str, title: str, tmp_path: Path) -> None:
    app = program(tmp_path, OPENER, "-ldl")
    words = ["gcc", "-shared", "-x", "c", "-o", str(tmp_path / library), "/dev/null"]
    subprocess.run(words, check=True, timeout=60)
    done = kernlens("capture", "-o", tmp_path / "x.klens", "--", app, tmp_path / library)
    assert done.returncode == 0
    assert f"the application loaded {library} ({title})" in done.stderr
