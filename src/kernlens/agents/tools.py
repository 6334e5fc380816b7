"""Tools that agents call: how the arguments of each become the words of a verb's command."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from kernlens.agents.allowed_paths import AllowedPaths
from kernlens.agents.confined_verb import Answer, ConfinedVerb
from kernlens.agents.short_answers import short
from kernlens.dataclass import dataclass
from kernlens.errors import KernlensError
from kernlens.verbs.any_path import sources_of

#: What an argument is, beside a value of an option: paths of the user's, build options, limits of a check, a revision.
PATHS, OPTIONS, LIMITS, FULL = "paths", "build options", "limits", "full"

Schema = Mapping[str, Any]
TEXT: Schema = {"type": "string", "minLength": 1, "maxLength": 4096}
#: What may be one text or several.
TEXTS: Schema = {
    "type": ["string", "array"],
    "minLength": 1,
    "maxLength": 4096,
    "items": {"type": "string", "maxLength": 4096},
    "minItems": 1,
    "maxItems": 64,
}
#: Other spellings of arguments, which are forgiven.
SPELLINGS = {
    "paths": "path",
    "devices": "device",
    "toolchains": "toolchain",
    "build_options": "options",
    "kernels": "kernel",
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

    @property
    def listed(self) -> dict[str, Any]:
        """Its schema as the list of tools has it."""
        schema = self.schema or TEXT
        short_schema = {key: schema[key] for key in ("type", "enum") if key in schema and schema is not TEXTS}
        return {**short_schema, "description": self.meaning}

    def words(self, value: Any, allowed: AllowedPaths) -> Iterator[str]:
        """Yield the words of the command for a value that fits the schema. Raises KernlensError for other paths."""
        values = value if isinstance(value, list) else [value]
        if self.option == OPTIONS:
            yield from (f"--build-options={allowed.checked_options(each)}" for each in values)
        elif self.option == LIMITS:
            yield from (f"--{name}={bound}" for name, bound in value.items())
        elif self.option in ("--trips", "--arg"):
            yield from (f"{self.option}={each}" for each in values)
        elif self.option == "--diff":
            yield from (self.option, *values)
        elif isinstance(value, bool):
            yield from [self.option] if value else []
        else:
            yield f"{self.option}={','.join(map(str, values))}"


@dataclass(frozen=True, slots=True)
class Tool:
    """A tool: the verb of the same name. ``compiles``: sources, and folders of sources, are compiled first, as the verb takes
    none, or not with all of its arguments; ``is_rooted``: the verb searches the given folders for source files; ``more`` are
    words that its command always has."""

    name: str
    meaning: str
    arguments: Sequence[Argument]
    compiles: bool = False
    is_rooted: bool = False
    more: Sequence[str] = ()

    @property
    def listed_schema(self) -> dict[str, Any]:
        """The JSON Schema of its own arguments as the list of tools has it: short, as it is read by every agent; what does not
        fit the bounds of ``input_schema`` is an error that says so."""
        return {
            "type": "object",
            "properties": {each.name: each.listed for each in self.arguments},
            "required": [each.name for each in self.arguments if each.is_required],
        }

    def input_schema(self, paging: Sequence[Argument]) -> dict[str, Any]:
        """Return the JSON Schema of the arguments, and of those that every tool has."""
        arguments = [*self.arguments, *paging]
        return {
            "type": "object",
            "properties": {each.name: {**(each.schema or TEXT), "description": each.meaning} for each in arguments},
            "required": [each.name for each in arguments if each.is_required],
            "additionalProperties": False,
        }

    def answer(self, values: Mapping[str, Any], allowed: AllowedPaths, verb: ConfinedVerb) -> Answer:
        """Return the verb's answer for arguments that fit the schema, in short unless it is asked for in full. Raises
        KernlensError."""
        named = values.get("path", allowed.paths[0] if "git" in values else [])
        if not named:
            raise KernlensError(f"'path' is missing: {self.name} needs it, unless git has revisions")
        paths = [allowed.resolved(path) for path in ([named] if isinstance(named, str) else named)]
        words = {
            argument.name: list(argument.words(values[argument.name], allowed))
            for argument in self.arguments
            if argument.name in values and argument.option not in (PATHS, FULL)
        }
        with verb.folder() as folder:
            messages, sources = "", [source for path in paths for source in sources_of(path, with_spirv=False)]
            if self.compiles and sources:
                paths, messages = _compiled(paths, sources, words, folder, verb)
            elif self.compiles:
                for name in _OF_COMPILES & words.keys():
                    raise KernlensError(f"{name} is for sources, and {paths[0]} is compiled already; leave it out")
            roots = [f"--source-root={each}" for each in allowed.folders] if self.is_rooted else []
            more = [word.replace("FOLDER", folder) for word in self.more]
            command = [self.name, *roots, *more, *(word for each in words.values() for word in each)]
            cwd = None
            if "git" in values:
                # The confinement holds the compilers too, which have none of their own then.
                cwd = paths[0] if os.path.isdir(paths[0]) else os.path.dirname(paths[0])
                command.append("--unconfined")
                paths = [os.path.relpath(path, cwd) for path in paths if path != cwd]
            answer = verb.answer([*command, "--", *paths], cwd)
        document = answer.document if values.get("full") else short(self.name, answer.document, values)
        return Answer(document, "\n".join(filter(None, (messages, answer.messages))))


#: Arguments that only the compile of a source takes.
_OF_COMPILES = frozenset({"options", "toolchain"})


def _compiled(
    paths: Sequence[str], sources: Sequence[str], words: dict[str, list[str]], folder: str, verb: ConfinedVerb
) -> tuple[list[str], str]:
    """Compile sources to a recording in ``folder``, with those of the words that are for that, which are taken out; returns
    its path and those of what is compiled already, and the compiler's messages."""
    if "device" not in words:
        raise KernlensError(f"{sources[0]} is a source: give the device that it is to be compiled for, such as dg2")
    chosen = [word for name in ("device", *sorted(_OF_COMPILES)) for word in words.pop(name, [])]
    recording = os.path.join(folder, "compiled.klens")
    answer = verb.answer(["compile", "--no-cache", f"--output={recording}", *chosen, "--", *sources])
    programs = answer.document["programs"]
    failed = [program for program in programs if not program["ok"]]
    if len(failed) == len(programs):
        raise KernlensError(answer.messages or failed[0]["reason"])
    others = [path for path in paths if not sources_of(path, with_spirv=False)]
    return [recording, *others], answer.messages
