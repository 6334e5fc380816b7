"""AMD's offline compiler as Debian has it: clang, lld and the ROCm device libraries, from OpenCL C to a code object.

These observations on clang 15.0.6 with device libraries 5.2.3 (Debian 12), and clang 21.1 with those of its version (Debian's
newest), shape the module:

* ``--rocm-device-lib-path`` has clang link the libraries that the processor and the options need. A processor is compiled
  for if there is a library ``oclc_isa_version_N.bc`` of it and clang knows it: 21 has the libraries of gfx940, and does not.
* Started through a root's dynamic loader, clang takes the loader's folder for its own: the folder of its headers
  (``-resource-dir``) is therefore named, and the linker is a command of its own.
* Without ``-O`` clang optimises nothing, where drivers take ``-O3``.
* gfx940 to gfx950 have no images. clang compiles kernels with images for them without a word, to code that reads nothing.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Mapping, Sequence
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING

from kernlens import log
from kernlens.dataclass import dataclass
from kernlens.errors import KernlensError, NotFoundError, ToolError, UnsupportedError
from kernlens.formats.amdgpu.code_object import read_code_object
from kernlens.formats.spirv.magic import is_spirv
from kernlens.isa.amd.gpu_devices import AMD_DEVICES, WITHOUT_IMAGES
from kernlens.model.build import Build, BuildToolchain, HeldParts
from kernlens.runtime.file_limit import FILE_SIZE_LIMIT
from kernlens.toolchain.child import Child
from kernlens.toolchain.diagnostics import error_lines
from kernlens.toolchain.includes import existing_source, source_files, split_options
from kernlens.toolchain.process import Completed, command_line, run, temporary_folder
from kernlens.toolchain.toolchains import QUESTION_TIMEOUT, Toolchain, find_toolchains, library_folders

if TYPE_CHECKING:
    from kernlens.toolchain.parcels import SourceCopy

TARGET = "amdgcn-amd-amdhsa"
#: What builds a root with the compiler of Debian 12, and of Debian's newest release.
GET_COMPILER = "kernlens toolchain add amd-newest gets one (kernlens toolchain add amd: Debian 12's)"
_ISA_LIBRARY = re.compile(r"oclc_isa_version_([0-9a-z-]+)\.bc")
#: Options that only Intel's compilers know.
_OF_OTHERS = ("-cl-intel-", "-ze-", "-igc", "-vc-codegen", "-cl-take-global-address", "-library-compilation")
_LANGUAGE = "-cl-std=CL1.2"
_UNKNOWN_OPTION = re.compile(r"unknown argument:? '?([^' ]+)'?")


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
            "-I", os.curdir, "-c", source, "-o", output,
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


def amd_devices_of(chosen: Toolchain) -> tuple[str, ...]:
    """Return the AMD GPUs that the toolchain compiles for, oldest first; none if it has no such compiler."""
    compiler = amd_compiler(chosen)
    return () if compiler is None else _devices(compiler)


@lru_cache(maxsize=32)
def _devices(compiler: AmdCompiler) -> tuple[str, ...]:
    matches = (_ISA_LIBRARY.fullmatch(path.name) for path in compiler.libraries.iterdir())
    libraries = {f"gfx{match[1]}" for match in matches if match}
    known = _supported(compiler)
    return tuple(
        device.name for device in AMD_DEVICES if device.name in libraries and (not known or device.name in known)
    )


def _supported(compiler: AmdCompiler) -> frozenset[str]:
    """Return the processors that clang says it knows; none if it does not say, as before LLVM 17."""
    try:
        command = compiler.toolchain.command(compiler.clang, f"--target={TARGET}", "--print-supported-cpus")
        answer = run(command, timeout=QUESTION_TIMEOUT)
    except ToolError as error:
        log.debug("toolchain", "%s does not list its processors: %s", compiler.clang, error)
        return frozenset()
    return frozenset(re.findall(r"^\s+(gfx[0-9a-z-]+)$", answer.log, re.MULTILINE))


def toolchain_for(device: str) -> Toolchain | None:
    """Return the first toolchain that compiles for an AMD GPU, the machine's own first; None if none does."""
    name = device.partition(":")[0]
    return next((each for each in find_toolchains() if name in amd_devices_of(each)), None)


def check_amd_device(device: str, chosen: Toolchain) -> None:
    """Raise NotFoundError, with the next step, if the toolchain does not compile for this AMD GPU."""
    if device.partition(":")[0] in amd_devices_of(chosen):
        return
    other = toolchain_for(device)
    compiler = amd_compiler(chosen)
    lacks = f"({compiler.title}) knows no device {device!r}" if compiler else "has no compiler for AMD's GPUs"
    advice = f"but {other.name} does: add --toolchain {other.name}" if other else GET_COMPILER
    raise NotFoundError(f"the toolchain {chosen.name} {lacks}{', ' if other else '; '}{advice}")


def compile_for_amd(
    source: str | Path,
    device: str,
    options: str,
    chosen: Toolchain,
    timeout: float,
    on_start: Callable[[Child], None] | None = None,
    environment: Mapping[str, str] | None = None,
    *,
    has_sources: bool = True,
    copy: SourceCopy | None = None,
) -> Build:
    """Compile OpenCL C for one AMD GPU; the arguments, the Build and what is raised are those of ``ocloc.compile_source``."""
    path = Path(source)
    words = split_options(options if copy is None else copy.options)
    check_amd_device(device, chosen)
    compiler = amd_compiler(chosen)
    assert compiler is not None, "a toolchain that knows the device has a compiler"
    file = existing_source(path if copy is None else copy.path)
    with file.open("rb") as opened:
        if is_spirv(opened.read(4)):
            raise UnsupportedError(
                f"{path} is SPIR-V, which Debian's clang does not compile for AMD's GPUs; compile its source"
            )
    sources = source_files(path, options) if has_sources and copy is None else ()
    name, cwd = (str(path), None) if copy is None else (copy.name, copy.folder)
    env = {**os.environ, **environment} if environment else None
    with temporary_folder() as folder:
        unlinked, linked = os.path.join(folder, "program.o"), os.path.join(folder, "program.hsaco")
        compile_command = compiler.command(device, words, name, unlinked)
        completed = run(
            compile_command, timeout=timeout, cwd=cwd, env=env, file_size_limit=FILE_SIZE_LIMIT, on_start=on_start
        )
        words_of_both, seconds = completed.log, completed.seconds
        if completed.ok:
            completed = run(compiler.link_command(unlinked, linked), timeout=timeout, env=env, on_start=on_start)
            words_of_both, seconds = words_of_both + completed.log, seconds + completed.seconds
        binary = Path(linked).read_bytes() if completed.ok and os.path.isfile(linked) else b""
    reason = _reason(completed, path, device) if not binary else _without_images(binary, path, device)
    return Build(
        name=path.stem,
        device=device,
        toolchain=compiler.of_build,
        options=options,
        command=command_line(compile_command),
        ok=reason is None,
        reason=reason,
        seconds=seconds,
        path=str(path),
        folder="" if copy is None else copy.folder,
        parts=HeldParts(log=words_of_both, binary=b"" if reason else binary, sources=sources),
    )


def _without_images(binary: bytes, source: Path, device: str) -> str | None:
    """Return why the code is not what its source says: it uses images on a GPU that has none; None if it does not."""
    processor = device.partition(":")[0]
    if processor not in WITHOUT_IMAGES:
        return None
    try:
        kernels = read_code_object(memoryview(binary)).kernels
    except KernlensError as error:
        return f"{source} does not compile for {device}: what clang made cannot be read: {error}"
    named = [
        kernel.name
        for kernel in kernels
        if any(
            (each.type_name or "").startswith("image")
            for each in (kernel.metadata.arguments if kernel.metadata else ())
        )
    ]
    if not named:
        return None
    return (
        f"{source} does not compile for {device}: it has no images, and {named[0]} takes one; clang says nothing, and makes"
        " code that reads and writes none"
    )


def _reason(completed: Completed, source: Path, device: str) -> str:
    refusal = f"{source} does not compile for {device}: "
    if completed.signal is not None:
        return f"clang was killed by {completed.signal} while it compiled {source} for {device}"
    errors = [each for each in error_lines(completed.log, str(source)) if each.severity == "error"]
    if errors:
        first = errors[0]
        unknown = _UNKNOWN_OPTION.search(first.message)
        where = f" at {first.path}:{first.line}:{first.column}" if first.path and not unknown else ""
        more = f" (and {len(errors) - 1} more)" if len(errors) > 1 else ""
        return f"{refusal}{first.message}{where}{more}"
    lines = [line.strip() for line in completed.log.splitlines() if line.strip()]
    return f"{refusal}{lines[0]}" if lines else f"clang {completed.ending} while it compiled {source} for {device}"
