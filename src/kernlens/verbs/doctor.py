"""The check of this machine: each part is tested, not just looked for, and one command closes each gap."""

from __future__ import annotations

import ctypes
import time
from collections.abc import Iterator, Sequence
from importlib.util import find_spec
from pathlib import Path

from kernlens.dataclass import dataclass
from kernlens.errors import KernlensError, ToolError, UnsupportedError
from kernlens.report.describe import plural
from kernlens.toolchain.clang import find_front_end, missing_front_end
from kernlens.toolchain.compile_cache import OFF, SIZE_VARIABLE, VARIABLE, CompileCache, cache_folder, cache_limit
from kernlens.toolchain.gpus import INTEL_DRIVERS, NVIDIA_DRIVERS, Gpu, find_gpus
from kernlens.toolchain.loaders.native_layers import LEVEL_ZERO_LAYER, OPENCL_LAYER, NativeLayer, find_layer
from kernlens.toolchain.nvdisasm import find_nvdisasm, how_to_get_nvdisasm, nvdisasm_title
from kernlens.toolchain.packages import how_to_get, reinstall
from kernlens.toolchain.process import temporary_folder
from kernlens.toolchain.registered import register_llvm_roots, register_roots
from kernlens.toolchain.shown_files import mechanism
from kernlens.toolchain.sources.project_file import project_file, read_project
from kernlens.toolchain.sources.source_settings import unused_tables
from kernlens.toolchain.toolchains import NEWEST, SYSTEM, Toolchain, default_toolchain, find_toolchains, library_folders
from kernlens.toolchain.toolchains import toolchain as find_toolchain

_TRIAL_SOURCE = "__kernel void trial(__global int *out) { out[get_global_id(0)] = 1; }\n"
_TRIAL_DEVICE = "dg2"
#: What needs Level Zero's loader and driver.
_LEVEL_ZERO = "link --dynamic and --static, and Level Zero applications"
_LLVM = "the code of AMD's GPUs and of PoCL"
_NVIDIA = "the instructions of NVIDIA's GPUs"
_OBSERVER = "observe and capture --observe"
_CACHE = "compiles that are not done twice"
_PROJECT = "the limits and options of a project"
_CONFINED = "sources of others: serve, diff --git, stages of a recording"
_FRONT_END = "OpenCL C to SPIR-V"
_GPUS = "capture and replay on hardware"


@dataclass(frozen=True, slots=True)
class Check:
    """The check of one part: whether it works, the details, and what to do if it does not work.

    ``serves`` are the commands and inputs that alone need the part, "" if all do.
    """

    name: str
    works: bool
    finding: str
    fix: str | None = None
    serves: str = ""

    @property
    def needed(self) -> bool:
        """True if kernlens is of no use without the part."""
        return not self.serves


def checks() -> Iterator[Check]:
    """Yield the check of every part: those that are needed first, the most basic before the others."""
    yield _native_decoder()
    yield _disassembler()
    toolchains = find_toolchains()
    default = default_toolchain()
    compilers = [_compiler(toolchain, default) for toolchain in toolchains]
    yield from (check for check in compilers if check.needed)
    if find_toolchain().ocloc is not None:
        yield _trial(find_toolchain())
    yield from (check for check in compilers if not check.needed)
    if default != SYSTEM or any(check.works for check in compilers):
        yield from _newest(toolchains)
    yield _llvm_disassembler()
    yield _nvidia_disassembler()
    yield _confinement()
    yield _library("OpenCL loader", "libOpenCL.so.1", "run, capture and replay")
    yield from map(_layer, (OPENCL_LAYER, LEVEL_ZERO_LAYER))
    yield _library("Level Zero loader", "libze_loader.so.1", _LEVEL_ZERO)
    yield _level_zero_driver(toolchains)
    yield _cache()
    yield from project()
    yield _module("pyopencl", "live OpenCL objects in Python", "pip install pyopencl")
    yield _front_end()
    yield _interpreter()
    yield from _gpus()


def _newest(toolchains: Sequence[Toolchain]) -> Iterator[Check]:
    if NEWEST not in {toolchain.name for toolchain in toolchains}:
        yield Check(
            f"toolchain {NEWEST}", False, "not there", f"kernlens toolchain add {NEWEST}", "Xe2 and newer devices"
        )


def _native_decoder() -> Check:
    try:
        from kernlens import _decoder
    except ImportError as error:
        return Check("native decoder", False, str(error), reinstall())
    return Check("native decoder", True, Path(_decoder.__file__ or "").name)


def _disassembler() -> Check:
    from kernlens.isa.intel.iga_library import installed

    register_roots()
    libraries = installed()
    if not libraries:
        return Check("disassembler", False, "no libiga64", how_to_get("libiga64"))
    return Check(
        "disassembler", True, "; ".join(f"{library}, up to {library.platform_titles[-1]}" for library in libraries)
    )


def _llvm_disassembler() -> Check:
    """Return the check of what disassembles the code of PoCL and of AMD's GPUs: each libLLVM is opened."""
    from kernlens.isa.llvm.llvm_libraries import installed_llvm
    from kernlens.isa.llvm.llvm_process import is_possible

    register_llvm_roots()
    name = "LLVM disassembler"
    if not is_possible():
        return Check(name, False, "its program was not built", reinstall(), _LLVM)
    works, failures = [], []
    for library in installed_llvm():
        try:
            works.append(f"{library.title} ({library.path}) for {', '.join(library.targets) or 'nothing that is read'}")
        except ToolError as error:
            failures.append(str(error))
    if not works:
        return Check(name, False, "; ".join(failures) or "no libLLVM", how_to_get("libLLVM"), _LLVM)
    return Check(name, True, "; ".join(works + failures), serves=_LLVM)


def _nvidia_disassembler() -> Check:
    name = "NVIDIA disassembler"
    path = find_nvdisasm()
    if path is None:
        return Check(name, False, "no nvdisasm, which kernlens may not contain", how_to_get_nvdisasm(), _NVIDIA)
    try:
        return Check(name, True, f"{nvdisasm_title(path)}, {path}", serves=_NVIDIA)
    except KernlensError as error:
        return Check(name, False, str(error), how_to_get_nvdisasm(), _NVIDIA)


def _interpreter() -> Check:
    from kernlens.toolchain.oclgrind import oclgrind, plugin

    try:
        interpreter = oclgrind()
        plugin()
    except UnsupportedError as error:
        return Check("interpreter", False, str(error), "kernlens toolchain add oclgrind", _OBSERVER)
    return Check("interpreter", True, f"Oclgrind 21.10 ({interpreter.library})", serves=_OBSERVER)


def _compiler(toolchain: Toolchain, default: str) -> Check:
    from kernlens.toolchain.amd_compiler import amd_compiler

    name = f"toolchain {toolchain.name}"
    if toolchain.ocloc is None and toolchain.name == SYSTEM != default:
        return Check(name, False, f"no ocloc; {default} is the default", serves="--toolchain system")
    other = amd_compiler(toolchain)
    if toolchain.ocloc is None and toolchain.root is not None and other is not None:
        return Check(name, True, f"{other.title}, {other.clang}", serves="compiles for AMD's GPUs")
    if toolchain.ocloc is None:
        again = f"kernlens toolchain remove {toolchain.name}, then add it again"
        return Check(name, False, "no ocloc", how_to_get("ocloc") if toolchain.root is None else again)
    return Check(name, True, f"{toolchain.title}, {toolchain.ocloc}")


def _cache() -> Check:
    """Return the check of the compile cache: where it is, how much it holds and may hold, and what it would drop first."""
    folder = cache_folder()
    if folder is None:
        return Check("cache", True, f"nothing is kept: {VARIABLE}={OFF}", serves=_CACHE)
    try:
        limit = cache_limit()
    except KernlensError as error:
        return Check("cache", False, str(error), f"{SIZE_VARIABLE}=10GB", _CACHE)
    allowed = f"{_gigabytes(limit)} GB at most, {SIZE_VARIABLE} changes it"
    if not folder.exists():
        return Check("cache", True, f"{folder}: empty; {allowed}", serves=_CACHE)
    try:
        entries = list(CompileCache(folder, limit).entries())
    except (KernlensError, OSError) as error:
        return Check("cache", False, str(error), f"{VARIABLE}=FOLDER, for one that is yours", _CACHE)
    if not entries:
        return Check("cache", True, f"{folder}: empty; {allowed}", serves=_CACHE)
    use = (
        f"{len(entries):,} entr{'y' if len(entries) == 1 else 'ies'}, {_gigabytes(sum(size for size, _ in entries))} GB"
    )
    age = _age(min(used for _, used in entries))
    finding = f"{folder}: {use} of {allowed}; the oldest was used {age}; rm -r {folder} empties it"
    return Check("cache", True, finding, serves=_CACHE)


def _gigabytes(size: int) -> str:
    return f"{size / 1e9:,.3f}".rstrip("0").rstrip(".")


def _age(used: float) -> str:
    days = int(max(time.time() - used, 0) // 86_400)
    return "today" if days == 0 else f"{days:,} day{'' if days == 1 else 's'} ago"


def project() -> Iterator[Check]:
    """Yield the check of the working folder's ``kernlens.toml``, if there is one: what it has, and what fits nothing."""
    path = project_file("")
    if path is None:
        return
    try:
        content, unused = read_project(path), unused_tables(path)
    except KernlensError as error:
        yield Check("project file", False, str(error), f"edit {path}", _PROJECT)
        return
    kernels, sources = len({rule.pattern for rule in content.rules}), len(content.sources)
    parts = [f"limits for {plural(kernels, 'pattern')} of kernels"] if kernels else []
    parts += [f"build options for {plural(sources, 'pattern')} of sources"] if sources else []
    finding = f"{path}: {', '.join(parts) or 'no limits and no build options'}"
    yield Check("project file", not unused, "; ".join([finding, *unused]), f"edit {path}", _PROJECT)


def _trial(toolchain: Toolchain) -> Check:
    """Compile and decode a one-line kernel, which tests the main path end to end."""
    from kernlens.loading import open_build
    from kernlens.toolchain.ocloc import compile_source

    name = f"compile and decode for {_TRIAL_DEVICE}"
    try:
        with temporary_folder() as folder:
            source = Path(folder, "trial.cl")
            source.write_text(_TRIAL_SOURCE, "utf-8")
            result = compile_source(source, _TRIAL_DEVICE, "", toolchain)
        if not result.ok:
            return Check(name, False, result.reason or "failed", "kernlens doctor --verbose")
        (program,) = open_build(result)
        count = len(program.kernels["trial"].instructions)
    except KernlensError as error:
        return Check(name, False, str(error), how_to_get("ocloc"))
    return Check(name, True, f"{count} instructions in {result.seconds:.1f} s")


def _confinement() -> Check:
    """Return the check of whether text that may be somebody else's can be compiled."""
    name = "confined compilers"
    try:
        return Check(name, True, f"by {mechanism()}", serves=_CONFINED)
    except UnsupportedError as error:
        return Check(name, False, str(error), "allow user namespaces, or Landlock (docs/confinement.md)", _CONFINED)


def _library(name: str, file: str, serves: str) -> Check:
    try:
        ctypes.CDLL(file)
    except OSError as error:
        return Check(name, False, str(error), how_to_get(file), serves)
    return Check(name, True, file, serves=serves)


def _level_zero_driver(toolchains: Sequence[Toolchain]) -> Check:
    """Return the check of the driver: the machine's own, else that of a root, which serves simulated devices."""
    check = _library("Level Zero driver", "libze_intel_gpu.so.1", _LEVEL_ZERO)
    if check.works:
        return check
    for toolchain in toolchains:
        for folder in library_folders(toolchain.root) if toolchain.root is not None else ():
            if (folder / "libze_intel_gpu.so.1").is_file():
                finding = f"of toolchain {toolchain.name}, for simulated devices"
                return Check(check.name, True, finding, serves=_LEVEL_ZERO)
    return check


def _layer(layer: NativeLayer) -> Check:
    library = find_layer(layer)
    path = str(library) if library is not None else "this installation was built without it"
    return Check(
        f"{layer.interface} layer", library is not None, path, layer.fix, f"capture of {layer.interface} applications"
    )


def _module(name: str, purpose: str, fix: str) -> Check:
    works = find_spec(name) is not None
    return Check(name, works, "installed" if works else "not installed", fix, purpose)


def _front_end() -> Check:
    name = "clang and llvm-spirv"
    try:
        tools = find_front_end()
    except ToolError:
        missing = missing_front_end()
        return Check(name, False, f"not installed: {', '.join(missing)}", how_to_get(*missing), _FRONT_END)
    return Check(name, True, f"{tools.clang}, {tools.translator}", serves=_FRONT_END)


def _gpus() -> Iterator[Check]:
    """Yield the check of each GPU, whoever made it: what kernlens can do with it."""
    gpus = find_gpus()
    for gpu in gpus:
        yield _gpu(gpu)
    if not gpus:
        yield Check("GPU", True, "none on this machine: devices can be simulated (kernlens devices)", serves=_GPUS)


def _gpu(gpu: Gpu) -> Check:
    if gpu.is_screen:
        use = "it shows pictures and runs no kernels: devices can be simulated (kernlens devices)"
    elif gpu.driver is None:
        use = "programs cannot use it until it has one: devices can be simulated (kernlens devices)"
    elif gpu.node is not None and not gpu.is_open:
        group = Path(gpu.node).group()
        fix = f'sudo usermod -aG {group} "$USER", then log in again'
        return Check("GPU", False, f"{gpu}: only the group {group} may open it", fix, _GPUS)
    elif gpu.driver in INTEL_DRIVERS:
        use = "kernlens reads the machine code that its driver builds"
    elif gpu.driver in NVIDIA_DRIVERS:
        use = "kernlens capture records what applications build and launch on it, with the code in the driver's cache"
    else:
        use = "kernlens capture records what applications build and launch on it, and decodes none of its machine code"
    return Check("GPU", True, f"{gpu}: {use}", serves=_GPUS)
