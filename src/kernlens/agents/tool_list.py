"""The list of the tools. The only one: the protocol's list, the checks of arguments and the commands are made from it."""

from __future__ import annotations

from kernlens.agents.tools import FULL, LIMITS, OPTIONS, PATHS, TEXTS, Argument, Schema, Tool
from kernlens.model.figures import LINE_ORDERS, OBSERVED_ORDERS

#: Characters of an answer, unless the call says another number: about 600 tokens.
LIMIT = 2_000
_FLAG: Schema = {"type": "boolean"}
_NUMBER: Schema = {"type": "integer", "minimum": 1, "maximum": 1000}
#: No file and no standard input, which --offset takes too; together they fit into one word of a command.
_OFFSETS: Schema = {
    "type": "array",
    "items": {"type": "string", "pattern": "^(0[xX][0-9a-fA-F]{1,16}|[0-9]{1,20})$"},
    "minItems": 1,
    "maxItems": 4096,
}
_STAGES: Schema = {
    "type": "array",
    "items": {"type": "string", "maxLength": 99, "pattern": "^[A-Za-z0-9][^/]*$"},
    "minItems": 2,
    "maxItems": 2,
}
_LIMITS: Schema = {
    "type": "object",
    "propertyNames": {"pattern": "^(max|min)-[a-z-]{1,60}$"},
    "additionalProperties": {"type": "integer", "minimum": 0},
}
_SIZE: Schema = {"type": "string", "pattern": "^[0-9]{1,9}(x[0-9]{1,9}){0,2}$"}
_ARGUMENTS: Schema = {"type": "array", "items": {"type": "string", "pattern": "^[a-z0-9_.:+-]{1,200}$"}, "maxItems": 64}


def _path(meaning: str, *, is_required: bool = True) -> Argument:
    return Argument("path", meaning, PATHS, TEXTS, is_required)


_KERNEL = Argument("kernel", "its name, a part of it, or a pattern", "--kernel")
_TOOLCHAIN = Argument("toolchain", "compiler of a source", "--toolchain", TEXTS)
_OPTIONS = Argument("options", "build options of a source: -DN=4", OPTIONS, TEXTS)
_DEVICE = Argument("device", "dg2, pvc, ...: compile for it; of a binary its programs alone", "--device", TEXTS)
_SORT = Argument("sort", "metric: most first (spill-stores, instructions, live-grfs)", "--sort")
_TRIPS = Argument("trips", "rounds of loops: FILE:LINE=N or depth=N", "--trips", TEXTS)
_COMPILED = (_KERNEL, _DEVICE, _OPTIONS, _TOOLCHAIN)

#: The arguments of every tool, which choose the part of its answer.
PAGING = (
    Argument(
        "limit",
        "characters of the answer",
        "",
        {"type": "integer", "minimum": 500, "maximum": 200_000, "default": LIMIT},
    ),
    Argument("at", "go on where left_out says", "", {"type": "string", "maxLength": 4096}),
    Argument("start", "first item at 'at'", "", {"type": "integer", "minimum": 0}),
    Argument("full", "the document of --json", FULL, _FLAG),
)

TOOLS = (
    Tool(
        "inspect",
        "Kernels of a file, folder or source, ranked: SIMD width, registers, spills, memory. Begin here; sort by any metric.",
        (_path("file, folder or source"), *_COMPILED, _SORT),
        compiles=True,
    ),
    Tool(
        "annotate",
        "Source lines and their machine instructions. top: costliest lines of all kernels; line: instructions of a line;"
        " offsets: lines of addresses, with memory and loops; waits; pressure: what fills the registers.",
        (
            _path("file or source"),
            *_COMPILED,
            Argument("line", "N or FILE:N", "--line"),
            Argument("offsets", "0x238, ...", "--offset", _OFFSETS),
            Argument("top", "the N costliest lines", "--top", _NUMBER),
            Argument("sort", "of top; excess, moved, runs of what was observed", "--sort",
                     {"enum": [*LINE_ORDERS, *OBSERVED_ORDERS]}),
            _TRIPS,
            Argument("waits", "the compiler's estimate of waits", "--waits", _FLAG),
            Argument("pressure", "registers that are live", "--pressure", _FLAG),
            Argument("own_lines", "library code under the calling line", "--own-lines", _FLAG),
        ),
        compiles=True,
        is_rooted=True,
    ),
    Tool(
        "diff",
        "What changed: two paths; or one path with two devices, toolchains or options; or git revisions of sources.",
        (
            _path("one or two; none with git: the server's folder", is_required=False),
            *_COMPILED,
            Argument("git", "OLD..NEW, or OLD against the working tree", "--git",
                     {"type": "string", "pattern": "^[A-Za-z0-9][A-Za-z0-9_./~^-]{0,200}$"}),
            _SORT,
            Argument("lines", "with instructions", "--lines", _FLAG),
            Argument("stages", "first stage that differs", "--stages", _FLAG),
        ),
        is_rooted=True,
    ),
    Tool(
        "advise",
        "What could make kernels cheaper, at which lines, and what to write instead.",
        (_path("files or sources"), *_COMPILED, Argument("stages", "for rules that need them", "--stages", _FLAG)),
        is_rooted=True,
    ),
    Tool(
        "check",
        "Whether kernels keep limits, those of kernlens.toml too; only what fails is listed.",
        (
            _path("files or sources"),
            *_COMPILED,
            Argument("limits", '{"max-spill-stores": 0, "min-simd": 16}', LIMITS, _LIMITS),
        ),
        is_rooted=True,
    ),
    Tool(
        "compile",
        "Whether sources compile, the compiler's errors, and the kernels' metrics.",
        (_path("sources or a folder"), _DEVICE, _OPTIONS, _TOOLCHAIN),
        more=("--output=FOLDER/compiled.klens",),
    ),
    Tool(
        "sweep",
        "Sources for each device, compiler and set of options: metrics, worst first; best: the best set.",
        (
            _path("sources or a folder"),
            _DEVICE,
            _OPTIONS,
            _TOOLCHAIN,
            _SORT,
            Argument("best", "best set of each kernel", "--best", _FLAG),
            _TRIPS,
        ),
    ),
    Tool(
        "observe",
        "Run a kernel in an interpreter: how often lines run, memory that they move, bank conflicts, races and other faults.",
        (
            _path("an OpenCL C source"),
            _KERNEL,
            _DEVICE,
            _OPTIONS,
            Argument("size", "work-items: 64x64", "--size", _SIZE, True),
            Argument("group", "work-group: 16x16", "--group", _SIZE, True),
            Argument("arg", "in order: random:float:4096, zeros:int:64, local:256, 3", "--arg", _ARGUMENTS),
        ),
    ),
    Tool(
        "replay",
        "Launches that a recording keeps (list), or a kept launch in an interpreter (observe).",
        (
            _path("a recording"),
            _KERNEL,
            Argument("launch", "its number", "--launch", _NUMBER),
            Argument("list", "list the launches", "--list", _FLAG),
            Argument("observe", "count what it does", "--observe", _FLAG),
        ),
    ),
    Tool(
        "stages",
        "A source or recording at each stage: SPIR-V, LLVM IR, vISA, machine code. line: through all stages.",
        (
            _path("source or recording"),
            *_COMPILED,
            Argument("stage", "text of this stage", "--stage"),
            Argument("diff", "two stages", "--diff", _STAGES),
            Argument("line", "N or FILE:N", "--line"),
            Argument("all_passes", "every pass", "--all-passes", _FLAG),
        ),
    ),
    Tool(
        "symbols",
        "Exports, imports, relocations: why modules do not link.",
        (_path("SPIR-V, binaries or recordings"), _DEVICE, _OPTIONS),
    ),
)  # fmt: skip
