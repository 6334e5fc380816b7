"""The reason of a capture without builds: interfaces that kernlens does not record."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

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
    ("library", "title"), [("libcuda.so.1", "CUDA"), ("libamdhip64.so.6", "HIP"), ("libvulkan.so.1", "Vulkan")]
)
def test_another_interface(library: str, title: str, tmp_path: Path) -> None:
    app = program(tmp_path, OPENER, "-ldl")
    words = ["gcc", "-shared", "-x", "c", "-o", str(tmp_path / library), "/dev/null"]
    subprocess.run(words, check=True, timeout=60)
    done = kernlens("capture", "-o", tmp_path / "x.klens", "--", app, tmp_path / library)
    assert done.returncode == 0
    assert f"the application loaded {library} ({title})" in done.stderr
