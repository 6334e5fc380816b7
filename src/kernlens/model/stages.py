"""Stages: the points of a compile at which a program can be looked at. The only list of them.

``kernlens stages``, live programs, the readers of what compilers leave, and the viewer are made from
``STAGES``. ``tests/unit/rules/test_stage_table.py`` holds the tables of docs/stages.md and those of the OpenCL layer
(``native/opencl_layer/compilers/``) against it. A new stage is one entry here, one of the layer's if the layer offers the
compiler, and a reader in ``pipeline/`` where ``dump`` does not say enough.
"""

from __future__ import annotations

from kernlens.dataclass import dataclass
from kernlens.model.stage import BINARY, KERNEL, PROGRAM, TEXT, Snapshot

#: Where a snapshot comes from: the program's own source, its SPIR-V (the text form from the compiler), its binary or a part of
#: that, the driver's cache, which holds what that made of the binary, or files that the compiler writes when it is told to.
FROM_SOURCE, FROM_SPIRV, FROM_BINARY, FROM_CACHE, FROM_COMPILER = "source", "spirv", "binary", "cache", "compiler"

#: What tells the source lines in a stage: marks in its text; numbers whose meaning the stage ``llvm-codegen`` has; DWARF of the
#: host's object, and of the program for a GPU.
OP_LINE, DBG, LOC, COMMENTS, DOT_LOC = "`OpLine`", "`!dbg`", "`LOC`", "comments", "`.loc`"
PTX_LOC, MLIR_LOC = "`.loc` of PTX", "`loc`"
NUMBERS, HOST_DWARF, GPU_DWARF = "`llvm-codegen`", "DWARF of the object", "DWARF"


@dataclass(frozen=True, slots=True)
class CompilerKind:
    """A compiler whose stages are known. ``heading`` is that of its table in docs/stages.md.

    ``device`` is what users name instead of a GPU to have it compile, ``platform`` the name of the OpenCL platform that it
    belongs to (Intel's GPUs have several), ``layer`` the OpenCL layer's name for it; each is empty where there is none.
    """

    name: str
    heading: str
    device: str = ""
    platform: str = ""
    layer: str = ""

    @property
    def stages(self) -> tuple[Stage, ...]:
        """The compiler's stages, in pipeline order."""
        return tuple(stage for stage in STAGES if self in stage.compilers)

    def stage(self, name: str) -> Stage:
        """Return the stage of this name, which the compiler must have."""
        return next(stage for stage in self.stages if stage.name == name)


@dataclass(frozen=True, slots=True)
class Stage:
    """One point of a compiler's pipeline.

    ``text`` and ``binary`` are the usual file endings of its two forms, None where it has no such form. ``scope`` is
    ``program`` or ``kernel``: the stage has one snapshot of each. ``sentence`` describes it, ``title`` is its name in the
    viewer where the name alone would be hard to read. ``lines`` says what tells source lines in it, empty where lines cannot
    be followed through it. ``dump`` is how the compiler's file of it is called where the ending alone does not tell: its
    meaning is the compiler's.
    """

    name: str
    compilers: tuple[CompilerKind, ...] = ()
    sentence: str = ""
    text: str | None = None
    binary: str | None = None
    binary_first: bool = False
    scope: str = PROGRAM
    origin: str = FROM_COMPILER
    lines: str = ""
    dump: str = ""
    title: str = ""

    @property
    def default(self) -> str:
        """The form that stands for the stage when nobody chooses."""
        return BINARY if self.binary_first or self.text is None else TEXT

    @property
    def forms(self) -> tuple[str, ...]:
        """``text``, ``binary`` or both, the default first."""
        forms = [form for form in (TEXT, BINARY) if self.ending(form) is not None]
        return tuple(sorted(forms, key=lambda form: form != self.default))

    def ending(self, form: str) -> str | None:
        """Return the usual file ending of ``form``; None if the stage has no such form."""
        return self.text if form == TEXT else self.binary

    def form(self, choice: str | None) -> str:
        """Return the form that ``choice`` (text, binary, or None for the default) gets: a stage of one form has only that."""
        return choice if choice in self.forms else self.default


#: Intel's compiler for GPUs.
IGC_1 = CompilerKind("IGC 1", "Intel GPU compiler (IGC), all versions", layer="igc")
IGC_2 = CompilerKind("IGC 2", "Intel GPU compiler (IGC), all versions")
#: IGC's vector compiler, which compiles explicit SIMD (ESIMD). The layer does not offer its stages.
VECTOR_1 = CompilerKind("vector compiler of IGC 1", "Vector compiler of IGC (explicit SIMD)")
VECTOR_2 = CompilerKind("vector compiler of IGC 2", "Vector compiler of IGC (explicit SIMD)")
POCL = CompilerKind("PoCL", "PoCL", "pocl", "Portable Computing Language", "pocl")
CPU_RUNTIME = CompilerKind("Intel's CPU runtime", "Intel's CPU runtime", "intel-cpu", "Intel(R) OpenCL", "intel-cpu")
#: LLVM for AMD's GPUs, as Debian has it.
AMD_CLANG = CompilerKind("clang for AMD GPUs", "AMD GPUs (clang and LLVM)")
#: NVIDIA's driver: PTX is the program's binary, and the machine code is in its compute cache.
NVIDIA = CompilerKind("NVIDIA's driver", "NVIDIA's OpenCL driver", layer="nvidia")
#: A simulator of OpenCL devices, whose programs are LLVM bitcode. The layer offers what it offers of any other platform.
OCLGRIND = CompilerKind("Oclgrind", "Oclgrind")
#: Mesa's OpenCL, whose program binaries hold SPIR-V.
RUSTICL = CompilerKind("Rusticl", "Rusticl")
#: Triton's compiler for NVIDIA's GPUs, as its cache keeps the stages.
TRITON = CompilerKind("Triton", "Triton, for NVIDIA's GPUs")
TRITON_AMD = CompilerKind("Triton for AMD GPUs", "Triton, for AMD's GPUs")
TRITON_INTEL = CompilerKind("Triton for Intel GPUs", "Triton, for Intel's GPUs")
#: A file that is a module of LLVM bitcode, or an archive of such: AMD's device libraries, libraries of clLinkProgram.
BITCODE = CompilerKind("bitcode library", "Libraries of LLVM bitcode")
#: What any other platform's queries give.
OTHER = CompilerKind("another compiler", "Any other OpenCL platform", layer="unknown")

_IGC, _VECTOR = (IGC_1, IGC_2), (VECTOR_1, VECTOR_2)
_OLDER, _NEWER = (IGC_1, VECTOR_1), (IGC_2, VECTOR_2)
_TRITON = (TRITON, TRITON_AMD, TRITON_INTEL)


def _llvm(name: str, compilers: tuple[CompilerKind, ...], sentence: str, dump: str, title: str = "") -> Stage:
    """Return a stage of LLVM IR in Intel's compilers for GPUs; ``dump`` stands between hash and ending of its file's name."""
    return Stage(name, compilers, sentence, text=".ll", lines=DBG, dump=dump, title=title)


# fmt: off
#: Every stage, each compiler's in pipeline order.
STAGES = (
    Stage("source", (*_IGC, POCL, CPU_RUNTIME, AMD_CLANG, NVIDIA, OCLGRIND, RUSTICL, OTHER),
          "OpenCL C as given by the application", text=".cl", origin=FROM_SOURCE),
    Stage("spirv", _IGC, "the SPIR-V module that the front end made", text=".spvasm", binary=".spv", binary_first=True,
          origin=FROM_SPIRV, lines=OP_LINE, title="SPIR-V"),
    Stage("spirv", _VECTOR, "the SPIR-V module that the front end made", binary=".spv", origin=FROM_SPIRV,
          dump="igc_input", title="SPIR-V"),
    _llvm("llvm-before-unification", _IGC, "LLVM IR as read from SPIR-V", "beforeUnification", "LLVM IR, as read"),
    _llvm("llvm-unified", _IGC, "LLVM IR after lowering, with the built-in library", "afterUnification",
          "LLVM IR, unified"),
    _llvm("llvm-spirv-reader", _VECTOR, "LLVM IR as read from SPIR-V", "after_spirv_reader"),
    _llvm("llvm-ir-adaptors", _VECTOR, "LLVM IR with the vector compiler's own intrinsics", "after_ir_adaptors"),
    _llvm("llvm-optimized", (*_IGC, *_VECTOR), "LLVM IR after optimisation", "optimized", "LLVM IR, optimised"),
    _llvm("llvm-push-analysis", _IGC, "LLVM IR with arguments placed in the payload", "push_analysis",
          "LLVM IR, payload"),
    _llvm("llvm-codegen", _IGC, "LLVM IR as the code generator left it", "codegen", "LLVM IR, last"),
    _llvm("llvm-final", _VECTOR, "LLVM IR as the code generator left it", "final"),
    *(Stage("visa", compilers, "virtual ISA, before register allocation", text=".visaasm", binary=binary, scope=KERNEL,
            lines=LOC, title="vISA") for compilers, binary in ((_OLDER, ".isa"), (_NEWER, None))),
    Stage("visa-llvm-map", _IGC, "LLVM lines with the numbers of their vISA instructions", text=".visa.ll",
          scope=KERNEL, lines=NUMBERS),
    Stage("gen-assembly", (*_IGC, *_VECTOR), "machine instructions; the binary form is their bytes", text=".asm",
          binary=".dat", scope=KERNEL, lines=COMMENTS),
    Stage("debug", (*_IGC, *_VECTOR), "the kernel's DWARF; only with -g or -gline-tables-only", binary=".elf",
          scope=KERNEL),
    Stage("resources", _OLDER, "what the driver must know to run it", text=".cos", binary=".kernbin", scope=KERNEL),
    Stage("resources", _NEWER, "what the driver must know to run it", text=".zeinfo"),
    Stage("program", (*_IGC, *_VECTOR), "the device binary", binary=".progbin", origin=FROM_BINARY, lines=GPU_DWARF),
    # PoCL: ``dump`` ends the file's path in its cache.
    Stage("llvm", (POCL,), "LLVM bitcode from clang, with the built-in library", text=".ll", binary=".bc",
          binary_first=True, lines=DBG, dump="/program.bc"),
    Stage("llvm-parallel", (POCL,), "LLVM bitcode of the work-group function", text=".ll", binary=".bc",
          binary_first=True, scope=KERNEL, lines=DBG, dump="/parallel.bc"),
    Stage("object", (POCL,), "host object file", text=".asm", binary=".o", binary_first=True, scope=KERNEL,
          lines=HOST_DWARF, dump=".so.o"),
    Stage("shared-object", (POCL,), "host shared object that PoCL loads", text=".asm", binary=".so", binary_first=True,
          scope=KERNEL, lines=HOST_DWARF, dump=".so"),
    # Intel's CPU runtime: ``dump`` is the section of the program's binary, or the ending of the runtime's file.
    Stage("llvm", (CPU_RUNTIME,), "LLVM bitcode before optimisation for the host", binary=".bc", origin=FROM_BINARY,
          dump=".ocl.ir"),
    Stage("assembly", (CPU_RUNTIME,), "host assembly", text=".s", lines=DOT_LOC, dump=".s"),
    Stage("object", (CPU_RUNTIME,), "host object file", binary=".o", lines=HOST_DWARF, dump=".bin"),
    Stage("disassembly", (CPU_RUNTIME,), "the object file, disassembled", text=".asm", lines=HOST_DWARF, dump=".asm"),
    Stage("program", (CPU_RUNTIME,), "the program's binary, an ELF container", binary=".bin", origin=FROM_BINARY),
    # AMD's GPUs: ``dump`` is what stops clang at the stage.
    Stage("llvm-front-end", (AMD_CLANG,), "LLVM IR from clang, with the device libraries, not optimised", text=".ll",
          lines=DBG, dump="-S -emit-llvm -Xclang -disable-llvm-passes", title="LLVM IR, as clang made it"),
    _llvm("llvm-optimized", (AMD_CLANG,), "LLVM IR after optimisation", "-S -emit-llvm", "LLVM IR, optimised"),
    Stage("gcn-assembly", (AMD_CLANG,), "assembly from LLVM's code generator", text=".s", lines=DOT_LOC, dump="-S",
          title="assembly"),
    Stage("program", (AMD_CLANG,), "the code object", binary=".hsaco", origin=FROM_BINARY, lines=GPU_DWARF),
    # Triton and NVIDIA's compilers: ``dump`` is the ending of the file in its cache.
    Stage("ttir-source", _TRITON, "Triton IR, as the front end made it", text=".source", lines=MLIR_LOC, dump=".source",
          title="Triton IR, first"),
    Stage("ttir", _TRITON, "Triton IR, optimised", text=".ttir", lines=MLIR_LOC, dump=".ttir", title="Triton IR"),
    Stage("ttgir", _TRITON, "Triton IR for GPUs, with layouts", text=".ttgir", lines=MLIR_LOC, dump=".ttgir",
          title="Triton GPU IR"),
    Stage("llir", _TRITON, "LLVM IR, optimised", text=".llir", lines=DBG, dump=".llir", title="LLVM IR"),
    Stage("ptx", (TRITON,), "PTX, the assembly that `ptxas` compiles", text=".ptx", lines=PTX_LOC, dump=".ptx",
          title="PTX"),
    Stage("sass", (TRITON,), "the machine code, a cubin", binary=".cubin", lines=GPU_DWARF, dump=".cubin"),
    Stage("amdgcn", (TRITON_AMD,), "assembly from LLVM's code generator", text=".amdgcn", lines=DOT_LOC, dump=".amdgcn",
          title="assembly"),
    Stage("program", (TRITON_AMD,), "the code object", binary=".hsaco", lines=GPU_DWARF, dump=".hsaco"),
    Stage("spirv", (TRITON_INTEL,), "the SPIR-V module that the driver or ocloc compiles", binary=".spv", dump=".spv",
          title="SPIR-V"),
    Stage("program", (TRITON_INTEL,), "the device binary", binary=".zebin", lines=GPU_DWARF, dump=".zebin"),
    Stage("ptx", (NVIDIA,), "PTX, the program's binary", text=".ptx", origin=FROM_BINARY, lines=PTX_LOC, title="PTX"),
    Stage("sass", (NVIDIA,), "the machine code that runs, a cubin in the driver's compute cache", binary=".cubin",
          origin=FROM_CACHE, lines=GPU_DWARF),
    Stage("llvm-library", (BITCODE,), "LLVM bitcode of a library, as the file holds it", text=".ll", binary=".bc",
          binary_first=True, lines=DBG, title="LLVM IR"),
    Stage("llvm-interpreted", (OCLGRIND,), "LLVM bitcode that Oclgrind interprets, the program's binary", text=".ll",
          binary=".bc", binary_first=True, origin=FROM_BINARY, lines=DBG),
    Stage("spirv", (RUSTICL,), "the SPIR-V module that the front end made", text=".spvasm", binary=".spv",
          binary_first=True, origin=FROM_BINARY, lines=OP_LINE, title="SPIR-V"),
    # Any other OpenCL platform.
    Stage("spirv", (OTHER,), "the SPIR-V that the program was made from", binary=".spv", origin=FROM_SPIRV),
    Stage("program", (OTHER,), "the program's binary", binary=".bin", origin=FROM_BINARY),
)
# fmt: on

#: The snapshot with the times of single passes, which is in no list as these are: lines of ``PHASE-PASS,SECONDS``.
PASS_TIMES = "pass-times"
#: Every compiler of the list.
COMPILERS = tuple(dict.fromkeys(compiler for stage in STAGES for compiler in stage.compilers))
#: What stages can be had for beside GPUs.
OTHER_DEVICES = tuple(compiler.device for compiler in COMPILERS if compiler.device)


def held(stage: Stage, content: bytes, form: str, kernel: str | None = None, seconds: float | None = None) -> Snapshot:
    """Return a snapshot whose content is at hand."""
    ending = stage.ending(form) or ""
    return Snapshot(stage.name, kernel, form, ending, lambda: content, len(content), seconds)


def stage_named(name: str, device: str = "") -> Stage | None:
    """Return the stage that a build for ``device`` means by this name; of a device that no compiler is named after,
    what the first compiler of the list that has such a stage means. None for a single pass, and for an unknown name."""
    stages = [stage for stage in STAGES if stage.name == name]
    own = (stage for stage in stages if device and any(compiler.device == device for compiler in stage.compilers))
    return next(own, stages[0] if stages else None)


def line_marks(name: str, ending: str) -> str:
    """Return what tells the source lines in a snapshot with this stage's name and file ending, see ``Stage.lines``.

    A stage that is not in the list, such as a single pass, is told by its ending alone, if that means the same in all stages.
    """
    return _MARKS.get((name, ending)) or _MARKS_OF_ENDING.get(ending, "")


_MARKS = {
    (stage.name, ending): stage.lines
    for stage in STAGES
    for ending in (stage.text, stage.binary)
    if stage.lines and ending
}
_MARKS_OF_ENDING = {
    stage.text: stage.lines
    for stage in STAGES
    if stage.text and {other.lines for other in STAGES if other.text == stage.text} == {stage.lines}
}
