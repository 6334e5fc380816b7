"""A clang with what it needs for AMD's GPUs, linker and device libraries, in a toolchain's root or on this machine."""

from __future__ import annotations

import os
import re
from collections.abc import Sequence
from functools import lru_cache
from pathlib import Path

from kernlens import log
from kernlens.dataclass import dataclass
from kernlens.model.build import BuildToolchain
from kernlens.toolchain.sources.includes import operand
from kernlens.toolchain.toolchains import Toolchain, library_folders, loader

TARGET = "amdgcn-amd-amdhsa"
#: Options that only Intel's compilers know.
_OF_OTHERS = ("-cl-intel-", "-ze-", "-igc", "-vc-codegen", "-cl-take-global-address", "-library-compilation")
_LANGUAGE = "-cl-std=CL1.2"


@dataclass(frozen=True, slots=True)
class AmdCompiler:
    """A clang with a linker and device libraries beside it. ``libraries`` is their folder, ``headers`` clang's own."""

    toolchain: Toolchain
    clang: Path
    linker: Path
    libraries: Path
    headers: Path

    @property
    def version(self) -> str:
        """The version of clang: ``15.0.6``, or ``21``, as its folder of headers is called."""
        return self.headers.name

    @property
    def files(self) -> list[Path]:
        """All files of its own that a compile may depend on, the program first: when one is replaced, its state changes."""
        start = loader(self.toolchain.root) if self.toolchain.root else None
        starts = [self.clang.parent, *([start.parent] if start else [])]
        settings = [path for folder in starts for path in sorted(folder.glob("*.cfg"))]
        headers = [path for path in sorted((self.headers / "include").iterdir()) if path.is_file()]
        return [self.clang, self.linker, *settings, *headers, *sorted(self.libraries.glob("*.bc"))]

    @property
    def title(self) -> str:
        """Its name and version."""
        return f"clang {self.version}"

    @property
    def of_build(self) -> BuildToolchain:
        """The toolchain as a Build holds it."""
        return BuildToolchain(self.toolchain.name, igc_version=self.title)

    def command(self, processor: str, words: Sequence[str], source: str, output: str) -> list[str]:
        """Return the command that compiles ``source`` with these options; ``output`` is an object that is not linked, or what
        the options say."""
        own = [word for word in _without_name(words) if not word.startswith(_OF_OTHERS)]
        language = [] if any(word.startswith("-cl-std=") for word in own) else [_LANGUAGE]
        level = [] if any(re.fullmatch(r"-O\w?|-cl-opt-disable", word) for word in own) else ["-O3"]
        return self.toolchain.command(
            self.clang, "-resource-dir", str(self.headers), "-x", "cl", f"--target={TARGET}", f"-mcpu={processor}",
            f"--rocm-device-lib-path={self.libraries}", "-Xclang", "-finclude-default-header", *language, *level, *own,
            "-I", os.curdir, "-c", operand(source), "-o", output,
        )  # fmt: skip

    def link_command(self, source: str, output: str) -> list[str]:
        """Return the command that links an object to a code object."""
        return self.toolchain.command(self.linker, "-flavor", "gnu", "--no-undefined", "-shared", source, "-o", output)


def _without_name(words: Sequence[str]) -> list[str]:
    """Return the words without ``-s FILE``, which tells Intel's compilers a source's name: clang strips symbols for it."""
    names = {number + each for number, word in enumerate(words) if word == "-s" for each in (0, 1)}
    return [word for number, word in enumerate(words) if number not in names]


@lru_cache(maxsize=32)
def amd_compiler(chosen: Toolchain) -> AmdCompiler | None:
    """Return the toolchain's compiler for AMD's GPUs, the newest of several; None if it has none that is whole."""
    root = chosen.root or Path("/")
    folders = sorted(root.glob("usr/lib/llvm-*"), key=lambda path: _number(path.name), reverse=True)
    for folder in folders:
        clang, linker = folder / "bin/clang", folder / "bin/lld"
        headers = sorted(folder.glob("lib/clang/[0-9]*"), key=lambda path: _number(path.name))
        own = [path / "amdgcn/bitcode" for path in headers]
        shared = [path / "amdgcn/bitcode" for path in library_folders(root)]
        libraries = next((path for path in (*own, *shared) if (path / "ocml.bc").is_file()), None)
        if clang.exists() and linker.exists() and headers and libraries is not None:
            return AmdCompiler(chosen, clang, linker, libraries, headers[-1])
        log.debug("toolchain", "%s: %s has no clang, lld, headers or device libraries for AMD", chosen.name, folder)
    return None


def _number(text: str) -> tuple[int, ...]:
    return tuple(int(number) for number in re.findall(r"\d+", text))
