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


@dataclass(frozen=True, slots=True)
class Check:
    """The check of one part: whether it works, the details, and what to do if it does not work.

    ``needed`` is False if only some verbs need the part.
    """

    name: str
    works: bool
    finding: str
    fix: str | None = None
    needed: bool = True


def checks() -> Iterator[Check]:
    """Yield the check of every part, the most basic first."""
    yield _native_decoder()
    yield _disassembler()
    yield _llvm_disassembler()
    yield _nvidia_disassembler()
    toolchains = find_toolchains()
    default = default_toolchain()
    for toolchain in toolchains:
        yield _compiler(toolchain, default)
    yield _trial(find_toolchain())
    yield _confinement()
    yield _library("OpenCL loader", "libOpenCL.so.1")
    yield from map(_layer, (OPENCL_LAYER, LEVEL_ZERO_LAYER))
    yield _library("Level Zero loader", "libze_loader.so.1")
    yield _level_zero_driver(toolchains)
    yield _cache()
    yield from project()
    yield _module("pyopencl", "live OpenCL objects", "pip install pyopencl")
    yield _front_end()
    yield _interpreter()
    if NEWEST not in {toolchain.name for toolchain in toolchains}:
        yield Check(
            f"toolchain {NEWEST}",
            False,
            "not there: needed for Xe2 and newer",
            f"kernlens toolchain add {NEWEST}",
            False,
        )
    yield from _gpus()


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
        return Check(name, False, "its program was not built", reinstall(), needed=False)
    works, failures = [], []
    for library in installed_llvm():
        try:
            works.append(f"{library.title} ({library.path}) for {', '.join(library.targets) or 'nothing that is read'}")
        except ToolError as error:
            failures.append(str(error))
    if not works:
        finding = "; ".join(failures) or "no libLLVM: needed for the code of PoCL and of AMD's GPUs"
        return Check(name, False, finding, how_to_get("libLLVM"), needed=False)
    return Check(name, True, "; ".join(works + failures), needed=False)


def _nvidia_disassembler() -> Check:
    name = "NVIDIA disassembler"
    path = find_nvdisasm()
    if path is None:
        finding = "no nvdisasm: needed for the instructions of NVIDIA's GPUs, and kernlens may not contain it"
        return Check(name, False, finding, how_to_get_nvdisasm(), needed=False)
    try:
        return Check(name, True, f"{nvdisasm_title(path)}, {path}", needed=False)
    except KernlensError as error:
        return Check(name, False, str(error), how_to_get_nvdisasm(), needed=False)


def _interpreter() -> Check:
    from kernlens.toolchain.oclgrind import oclgrind, plugin

    try:
        interpreter = oclgrind()
        plugin()
    except UnsupportedError as error:
        return Check("interpreter", False, str(error), "kernlens toolchain add oclgrind", needed=False)
    return Check("interpreter", True, f"Oclgrind 21.10 ({interpreter.library}), for observe", needed=False)


def _compiler(toolchain: Toolchain, default: str) -> Check:
    from kernlens.toolchain.amd_compiler import amd_compiler

    name = f"toolchain {toolchain.name}"
    if toolchain.ocloc is None and toolchain.name == SYSTEM != default:
        return Check(name, False, f"no ocloc; {default} is the default", needed=False)
    other = amd_compiler(toolchain)
    if toolchain.ocloc is None and toolchain.root is not None and other is not None:
        return Check(name, True, f"{other.title} for AMD GPUs, {other.clang}")
    if toolchain.ocloc is None:
        again = f"kernlens toolchain remove {toolchain.name}, then add it again"
        return Check(name, False, "no ocloc", how_to_get("ocloc") if toolchain.root is None else again)
    return Check(name, True, f"{toolchain.title}, {toolchain.ocloc}")


def _cache() -> Check:
    """Return the check of the compile cache: where it is, how much it holds and may hold, and what it would drop first."""
    folder = cache_folder()
    if folder is None:
        return Check("cache", True, f"nothing is kept: {VARIABLE}={OFF}")
    try:
        limit = cache_limit()
    except KernlensError as error:
        return Check("cache", False, str(error), f"{SIZE_VARIABLE}=10GB", needed=False)
    allowed = f"{_gigabytes(limit)} GB at most, {SIZE_VARIABLE} changes it"
    if not folder.exists():
        return Check("cache", True, f"{folder}: empty; {allowed}")
    try:
        entries = list(CompileCache(folder, limit).entries())
    except (KernlensError, OSError) as error:
        return Check("cache", False, str(error), f"{VARIABLE}=FOLDER, for one that is yours", needed=False)
    if not entries:
        return Check("cache", True, f"{folder}: empty; {allowed}")
    use = (
        f"{len(entries):,} entr{'y' if len(entries) == 1 else 'ies'}, {_gigabytes(sum(size for size, _ in entries))} GB"
    )
    age = _age(min(used for _, used in entries))
    return Check("cache", True, f"{folder}: {use} of {allowed}; the oldest was used {age}; rm -r {folder} empties it")


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
        yield Check("project file", False, str(error), f"edit {path}", needed=False)
        return
    kernels, sources = len({rule.pattern for rule in content.rules}), len(content.sources)
    parts = [f"limits for {plural(kernels, 'pattern')} of kernels"] if kernels else []
    parts += [f"build options for {plural(sources, 'pattern')} of sources"] if sources else []
    finding = f"{path}: {', '.join(parts) or 'no limits and no build options'}"
    yield Check("project file", not unused, "; ".join([finding, *unused]), f"edit {path}", needed=False)


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
        return Check(name, True, f"by {mechanism()}", needed=False)
    except UnsupportedError as error:
        return Check(name, False, str(error), "allow user namespaces, or Landlock (docs/confinement.md)", needed=False)


def _library(name: str, file: str) -> Check:
    try:
        ctypes.CDLL(file)
    except OSError as error:
        return Check(name, False, str(error), how_to_get(file), needed=False)
    return Check(name, True, file, needed=False)


def _level_zero_driver(toolchains: Sequence[Toolchain]) -> Check:
    """Return the check of the driver: the machine's own, else that of a root, which serves simulated devices."""
    check = _library("Level Zero driver", "libze_intel_gpu.so.1")
    if check.works:
        return check
    for toolchain in toolchains:
        for folder in library_folders(toolchain.root) if toolchain.root is not None else ():
            if (folder / "libze_intel_gpu.so.1").is_file():
                return Check(check.name, True, f"of toolchain {toolchain.name}, for simulated devices", needed=False)
    return check


def _layer(layer: NativeLayer) -> Check:
    library = find_layer(layer)
    path = str(library) if library is not None else "this installation was built without it"
    return Check(f"{layer.interface} layer", library is not None, path, layer.fix, needed=False)


def _module(name: str, purpose: str, fix: str) -> Check:
    works = find_spec(name) is not None
    return Check(name, works, "installed" if works else f"not installed: {purpose}", fix, needed=False)


def _front_end() -> Check:
    name = "clang and llvm-spirv"
    try:
        tools = find_front_end()
    except ToolError:
        missing = missing_front_end()
        finding = f"not installed: {', '.join(missing)}: OpenCL C to SPIR-V"
        return Check(name, False, finding, how_to_get(*missing), needed=False)
    return Check(name, True, f"{tools.clang}, {tools.translator}", needed=False)


def _gpus() -> Iterator[Check]:
    """Yield the check of each GPU, whoever made it: what kernlens can do with it."""
    gpus = find_gpus()
    for gpu in gpus:
        yield _gpu(gpu)
    if not gpus:
        yield Check("GPU", True, "none on this machine: devices can be simulated (kernlens devices)", needed=False)


def _gpu(gpu: Gpu) -> Check:
    if gpu.is_screen:
        use = "it shows pictures and runs no kernels: devices can be simulated (kernlens devices)"
    elif gpu.driver is None:
        use = "programs cannot use it until it has one: devices can be simulated (kernlens devices)"
    elif gpu.node is not None and not gpu.is_open:
        group = Path(gpu.node).group()
        fix = f'sudo usermod -aG {group} "$USER", then log in again'
        return Check("GPU", False, f"{gpu}: only the group {group} may open it", fix, needed=False)
    elif gpu.driver in INTEL_DRIVERS:
        use = "kernlens reads the machine code that its driver builds"
    elif gpu.driver in NVIDIA_DRIVERS:
        use = "kernlens capture records what applications build and launch on it, with the code in the driver's cache"
    else:
        use = "kernlens capture records what applications build and launch on it, and decodes none of its machine code"
    return Check("GPU", True, f"{gpu}: {use}", needed=False)
