"""The tools that agents call: which verb each asks, and how its arguments become the verb's words.

The only list of them: the protocol's list, the checks of arguments and the commands are made from it.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from kernlens.agents.allowed_paths import AllowedPaths
from kernlens.agents.confined_verb import Answer, ConfinedVerb
from kernlens.dataclass import dataclass
from kernlens.errors import KernlensError
from kernlens.model.figures import LINE_ORDERS, OBSERVED_ORDERS
from kernlens.verbs.programs import is_source

#: What an argument is, beside a value of an option: a path of the user's, several, build options, options given once for each
#: side.
PATH, PATHS, OPTIONS, OPTIONS_OF_SIDES = "path", "paths", "build options", "build options of sides"

Schema = Mapping[str, Any]
#: Characters of an answer, unless the call says another number: about 6,000 tokens.
LIMIT = 20_000
_TEXT: Schema = {"type": "string", "minLength": 1, "maxLength": 4096}
_FLAG: Schema = {"type": "boolean"}
_SIDES: Schema = {"type": "array", "items": _TEXT, "minItems": 1, "maxItems": 2}
#: No file and no standard input, which --offset takes too; together they fit into one word of a command.
_OFFSETS: Schema = {
    "type": "array",
    "items": {"type": "string", "pattern": "^(0[xX][0-9a-fA-F]{1,16}|[0-9]{1,20})$"},
    "minItems": 1,
    "maxItems": 4096,
}


@dataclass(frozen=True, slots=True)
class Argument:
    """An argument of a tool: its JSON Schema (None: a text), its meaning,
    and the option of the verb that gets its value, or what it is."""

    name: str
    meaning: str
    option: str
    schema: Schema | None = None
    is_required: bool = False

    def words(self, value: Any, allowed: AllowedPaths) -> Iterator[str]:
        """Yield the words of the command for a value that fits the schema. Raises KernlensError for other paths."""
        if self.option == OPTIONS:
            yield f"--build-options={allowed.checked_options(value)}"
        elif self.option == OPTIONS_OF_SIDES:
            yield from (f"--build-options={allowed.checked_options(each)}" for each in value)
        elif self.option == "--trips":
            yield from (f"{self.option}={each}" for each in value)
        elif self.option == "--diff":
            yield from (self.option, *value)
        elif isinstance(value, bool):
            yield from [self.option] if value else []
        else:
            yield f"{self.option}={','.join(value) if isinstance(value, list) else value}"


@dataclass(frozen=True, slots=True)
class Tool:
    """A tool: the verb of the same name. ``compiles``: a source is compiled first, as the verb takes none; ``is_rooted``: the
    verb searches the given folders for source files."""

    name: str
    meaning: str
    arguments: Sequence[Argument]
    compiles: bool = False
    is_rooted: bool = False

    @property
    def input_schema(self) -> dict[str, Any]:
        """The JSON Schema of the arguments, those of every tool included."""
        arguments = [*self.arguments, *PAGING]
        return {
            "type": "object",
            "properties": {each.name: {**(each.schema or _TEXT), "description": each.meaning} for each in arguments},
            "required": [each.name for each in arguments if each.is_required],
            "additionalProperties": False,
        }

    def answer(self, values: Mapping[str, Any], allowed: AllowedPaths, verb: ConfinedVerb) -> Answer:
        """Return the verb's answer for arguments that fit the schema. Raises KernlensError."""
        paths = [allowed.resolved(path) for path in self._paths(values)]
        words = {
            argument.name: list(argument.words(values[argument.name], allowed))
            for argument in self.arguments
            if argument.name in values and argument.option not in (PATH, PATHS)
        }
        with verb.folder() as folder:
            messages = ""
            if self.compiles and is_source(paths[0]):
                paths, messages = _compiled(paths[0], words, folder, verb)
            elif self.compiles:
                for name in _OF_COMPILES & words.keys():
                    raise KernlensError(f"{name} is for sources, and {paths[0]} is compiled already; leave it out")
            roots = [f"--source-root={each}" for each in allowed.folders] if self.is_rooted else []
            command = [self.name, *roots, *(word for each in words.values() for word in each)]
            answer = verb.answer([*command, "--", *paths])
        return Answer(answer.document, "\n".join(filter(None, (messages, answer.messages))))

    def _paths(self, values: Mapping[str, Any]) -> list[str]:
        path = values.get("path")
        return [path] if path is not None else list(values["paths"])


#: Arguments that only the compile of a source takes.
_OF_COMPILES = frozenset({"options", "toolchain"})


def _compiled(path: str, words: dict[str, list[str]], folder: str, verb: ConfinedVerb) -> tuple[list[str], str]:
    """Compile a source to a recording in ``folder``, with those of the words that are for that, which are taken out; returns
    its path, and the compiler's messages."""
    if "device" not in words:
        raise KernlensError(f"{path} is a source: give the device that it is to be compiled for, such as dg2")
    chosen = [word for name in ("device", *sorted(_OF_COMPILES)) for word in words.pop(name, [])]
    recording = os.path.join(folder, "compiled.klens")
    answer = verb.answer(["compile", "--no-cache", f"--output={recording}", *chosen, "--", path])
    failed = [program for program in answer.document["programs"] if not program["ok"]]
    if failed:
        raise KernlensError(answer.messages or failed[0]["reason"])
    return [recording], answer.messages


def _path(meaning: str) -> Argument:
    return Argument("path", meaning, PATH, is_required=True)


def _paths(meaning: str, most: int) -> Argument:
    return Argument("paths", meaning, PATHS, {"type": "array", "items": _TEXT, "minItems": 1, "maxItems": most}, True)


_KERNEL = Argument("kernel", "only this kernel: its name, a part of it, or a pattern such as blur_*", "--kernel")
_TOOLCHAIN = Argument("toolchain", "the compiler for a source", "--toolchain")
_OPTIONS = Argument("options", "build options for a source, such as -cl-fast-relaxed-math -DN=4", OPTIONS)
_DEVICE = Argument("device", "only programs for this device (dg2, pvc, ...)", "--device")
_TARGET = Argument(
    "device", "the device (dg2, pvc, ...) that a source is compiled for; of a binary: only its programs", "--device"
)

#: The arguments of every tool, which choose the part of its answer.
PAGING = (
    Argument(
        "limit",
        "size of the answer at most, in characters of JSON; what is left out is listed in left_out",
        "",
        {"type": "integer", "minimum": 500, "maximum": 200_000, "default": LIMIT},
    ),
    Argument(
        "at",
        "go on where the answer to the same arguments was cut, as its left_out says",
        "",
        {"type": "string", "maxLength": 4096},
    ),
    Argument(
        "start",
        "the first item or character to answer with, of the list or text at 'at'",
        "",
        {"type": "integer", "minimum": 0},
    ),
)

TOOLS = (
    Tool(
        "inspect",
        "What a binary, library, recording or folder contains: its programs by device, their kernels with SIMD width,"
        " registers, spills and memory, and their symbols. Begin here with a file that you do not know.",
        (
            _path("a file with kernels, or a folder"),
            _KERNEL,
            _DEVICE,
            Argument(
                "sort", "kernels with most of this metric first: spill-bytes, instructions, live-grfs, ...", "--sort"
            ),
        ),
    ),
    Tool(
        "annotate",
        "Which machine instructions each source line became, and what the lines cost. top lists the costliest lines: begin"
        " with it; line gives one line's instructions, offsets the lines of addresses; waits says for how long instructions"
        " wait; pressure which lines' values fill the registers. A source is compiled for device.",
        (
            _path("a file with kernels, or an OpenCL C source"),
            _KERNEL,
            _TARGET,
            _OPTIONS,
            _TOOLCHAIN,
            Argument("line", "only this source line: N or FILE:N", "--line"),
            Argument(
                "offsets", "the lines of the instructions at these offsets in the kernel: 0x238", "--offset", _OFFSETS
            ),
            Argument(
                "top", "the N costliest lines, as a table", "--top", {"type": "integer", "minimum": 1, "maximum": 1000}
            ),
            Argument(
                "sort",
                "what makes a line costly, with top; of a kernel that was observed (kernlens observe -o): excess, what moves"
                " most memory above its ideal, moved, runs",
                "--sort",
                {"enum": [*LINE_ORDERS, *OBSERVED_ORDERS]},
            ),
            Argument(
                "trips",
                "weigh counts by the rounds that loops run: FILE:LINE=N, or depth=N for all other loops",
                "--trips",
                {"type": "array", "items": _TEXT, "minItems": 1, "maxItems": 64},
            ),
            Argument(
                "waits", "for how long instructions wait, and for which ones: the compiler's estimate", "--waits", _FLAG
            ),
            Argument(
                "pressure", "the peak register pressure, and the lines whose values are live there", "--pressure", _FLAG
            ),
            Argument(
                "own_lines", "library code under the line of the user's own files that calls it", "--own-lines", _FLAG
            ),
        ),
        compiles=True,
        is_rooted=True,
    ),
    Tool(
        "stages",
        "A source or a recording at every stage of its compile: SPIR-V, LLVM IR before and after optimisation, vISA, machine"
        " code. Without stage, diff or line: the list of stages. line follows one source line through all of them.",
        (
            _path("an OpenCL C or SPIR-V source, or a recording"),
            _KERNEL,
            _TARGET,
            _OPTIONS,
            _TOOLCHAIN,
            Argument("stage", "the text of this stage", "--stage"),
            Argument(
                "diff",
                "what differs between two stages, or what one pass changed",
                "--diff",
                {"type": "array", "items": {**_TEXT, "pattern": "^[A-Za-z0-9][^/]*$"}, "minItems": 2, "maxItems": 2},
            ),
            Argument("line", "follow this source line: N or FILE:N", "--line"),
            Argument(
                "all_passes", "every pass of the compiler, and whether it changed the program", "--all-passes", _FLAG
            ),
        ),
    ),
    Tool(
        "diff",
        "What changed between two files, or with one path between two devices, toolchains or sets of build options: kernels,"
        " metrics, and source lines by their instructions.",
        (
            _paths("one or two files with kernels, or sources", 2),
            _KERNEL,
            Argument("devices", "the device that sources are compiled for; two: one for each side", "--device", _SIDES),
            Argument("toolchains", "the compiler for sources; two: one for each side", "--toolchain", _SIDES),
            Argument(
                "options",
                "build options for sources; two: one set for each side",
                OPTIONS_OF_SIDES,
                {**_SIDES, "items": {"type": "string", "maxLength": 4096}},
            ),
            Argument("sort", "kernels with most growth of this metric first", "--sort"),
            Argument("lines", "with the old and new instructions of each changed line", "--lines", _FLAG),
            Argument("stages", "with the first compile stage that differs", "--stages", _FLAG),
        ),
        is_rooted=True,
    ),
    Tool(
        "advise",
        "What could make kernels cheaper, and at which lines: constructs that became more code than they need, with the"
        " instructions and what to write instead. Counts, never a promised speed-up.",
        (
            _paths("files with kernels, or sources", 64),
            _KERNEL,
            _TARGET,
            _OPTIONS,
            _TOOLCHAIN,
            Argument("stages", "compile sources with their stages, which some rules need", "--stages", _FLAG),
        ),
        is_rooted=True,
    ),
    Tool(
        "symbols",
        "What modules export, import and relocate, and where the source uses what is missing: why modules do not link.",
        (
            _paths("SPIR-V, binaries or recordings", 64),
            _DEVICE,
            Argument("options", "build options that SPIR-V will be compiled with", OPTIONS),
        ),
    ),
)
