"""The native parts, built otherwise than for users: by setup.py, into a folder of their own."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import sysconfig
from pathlib import Path

import kernlens
from tests import made_once
from tests.tree import ROOT

PARTS = (
    "_decoder.abi3.so",
    "native/libkernlens_opencl_layer.so",
    "native/libkernlens_level_zero_layer.so",
    "native/kernlens_second_build",
    "native/kernlens_confine",
    "native/kernlens_demangler",
    "native/kernlens_disassembler",
    "native/kernlens_assembler",
    "native/kernlens_interpreter",
    "native/libkernlens_observer.so",
)


#: Where :func:`build` leaves them, in its folder.
BUILT = Path("lib") / "kernlens"
#: What they are made of, by folders and endings, and the Debian packages whose headers they include.
FOLDERS = ("native", "src/kernlens/include")
ENDINGS = (".c", ".cc", ".h")
HEADERS = ("libc6-dev", "linux-libc-dev", "opencl-*headers", "ocl-icd-*", "libstdc++-*-dev", "python3*-dev")


def build(folder: Path, compiler: tuple[str, ...], flags: str = "") -> Path:
    """Build all of ``native/`` and return the folder with ``PARTS`` in it."""
    command = [sys.executable, "setup.py", "-q", "build_ext", "--parallel", "2"]
    done = subprocess.run(
        [*command, "--build-lib", str(folder / "lib"), "--build-temp", str(folder / "temp")],
        cwd=ROOT,
        env={**os.environ, "CC": " ".join(compiler), "CFLAGS": flags},
        capture_output=True,
        text=True,
        timeout=600,
        check=False,
    )
    built = folder / BUILT
    missing = [part for part in PARTS if not (built / part).exists()]
    assert done.returncode == 0, done.stderr
    assert not missing, f"not built: {missing}\n{done.stderr}"
    return built


def built_parts(name: str, compiler: tuple[str, ...], flags: str = "") -> Path:
    """Return what :func:`build` does, built again only if a source, a header, the flags, Python or the compiler changed."""
    files = [path for folder in FOLDERS for path in sorted((ROOT / folder).rglob("*")) if path.suffix in ENDINGS]
    assert len(files) > 50
    scripts = [Path(word) for word in compiler if word.endswith(".sh")]
    version = subprocess.check_output(["gcc", "-v"], stderr=subprocess.STDOUT, text=True)
    packages = subprocess.run(["dpkg-query", "--show", *HEADERS], capture_output=True, text=True, check=False).stdout
    texts = [*compiler, flags, version, packages, sys.version, sysconfig.get_path("include")]
    return (
        made_once.folder_kept_by_content(
            name, [*texts, *files, *scripts, ROOT / "setup.py"], lambda folder: build(folder, compiler, flags)
        )
        / BUILT
    )


def as_package(built: Path, folder: Path) -> Path:
    """Copy the Python package, with the decoder of ``built`` in it; return what PYTHONPATH has to name."""
    package = Path(kernlens.__file__).parent
    shutil.copytree(package, folder / "kernlens", ignore=shutil.ignore_patterns("*.so", "native", "__pycache__"))
    shutil.copy2(built / PARTS[0], folder / "kernlens")
    return folder
