"""The JSON documents that commands print, against the JSON Schemas in docs/schemas."""

from __future__ import annotations

import json
import os
from collections.abc import Sequence
from functools import cache
from typing import Any

import jsonschema_rs

from tests.tree import ROOT

SCHEMAS = ROOT / "docs" / "schemas"


def schema(name: str) -> dict[str, Any]:
    """Return the schema of this name: a verb's, or ``common``."""
    document: dict[str, Any] = json.loads((SCHEMAS / f"{name}.json").read_text("utf-8"))
    return document


@cache
def validators(verb: str) -> dict[str, jsonschema_rs.Draft202012Validator]:
    """Return a validator for each form of a verb's document, by the form's name, and "" for the document itself."""
    registry = jsonschema_rs.Registry([("schema:/common.json", schema("common")), ("schema:/verb.json", schema(verb))])
    forms = [choice.get("then", choice)["$ref"].rpartition("/")[2] for choice in schema(verb)["anyOf"]]
    return {
        name: jsonschema_rs.Draft202012Validator(
            {"$ref": f"verb.json#/$defs/{name}" if name else "verb.json"},
            registry=registry,
            base_uri="schema:/form.json",
        )
        for name in ("", *forms)
    }


def faults(verb: str, document: Any) -> list[str]:
    """Return what is wrong with a verb's document, as the form says that it comes nearest to; empty if nothing is."""
    # What is wrong by all other forms takes minutes to list of a large document.
    if validators(verb)[""].is_valid(document):
        return []
    by_form: list[tuple[int, int, list[str]]] = []
    for form, validator in list(validators(verb).items())[1:]:
        errors = list(validator.iter_errors(document))
        at_the_top = sum(not error.instance_path for error in errors)  # Another form has other keys there.
        lines = [f"{form}{_place(error.instance_path)}: {error.message[:300]}" for error in errors]
        by_form.append((at_the_top, len(lines), lines))
    return min(by_form)[2] or ["a form takes it, whose condition in anyOf does not"]


def _place(path: list[str | int]) -> str:
    return "".join(f"/{part}" for part in path)


def check_printed(arguments: Sequence[str | os.PathLike[str]], printed: str) -> None:
    """Check what a command printed, if that is a document. Raises AssertionError with what is wrong with it."""
    words = [os.fspath(word) for word in arguments]
    verb = next((word for word in words if not word.startswith("-")), "")
    if "--json" in words and printed.startswith("{"):
        # The validator takes no lone surrogates, which stand for bytes of file names.
        wrong = faults(verb, json.loads(printed.replace("\\ud", "?")))
        assert not wrong, "\n".join([f"kernlens {' '.join(words)}, by docs/schemas/{verb}.json:", *wrong[:20]])


#: Objects whose keys are names, such as those of variables.
MAPS = {"bound", "build_logs", "environment", "metadata"}
#: The same where all values are numbers: such as those of pipes, and of a profiler's reasons.
COUNTS = {"cycles", "reasons", "samples"}


def unnoticed(verb: str, document: Any) -> set[str]:
    """Return the keys of a document that passes of which its schema does not notice that they are missing, misnamed, or of
    another type; ``missing KEY`` and so on."""
    short = _shortened(document)
    assert faults(verb, short) == []
    result: set[str] = set()
    tried: set[tuple[str, ...]] = set()
    waiting: list[tuple[tuple[str, ...], Any]] = [((), short)]
    while waiting:
        place, value = waiting.pop()
        if isinstance(value, list):
            waiting += [((*place, "[]"), item) for item in value]
        elif isinstance(value, dict):
            waiting += [((*place, key), inside) for key, inside in value.items()]
            for key in [key for key in value if (*place, key) not in tried]:
                tried.add((*place, key))
                has_counts = all(isinstance(inside, int) for inside in value.values())
                has_names = place[-1:] != () and (place[-1] in MAPS or (has_counts and place[-1] in COUNTS))
                result |= {
                    f"{how} {key}" for how in _unnoticed(verb, short, value, key) if how == "mistyped" or not has_names
                }
    return result


def _unnoticed(verb: str, document: Any, value: dict[str, Any], key: str) -> list[str]:
    before = dict(value)
    result = []
    for how, changed in (
        ("missing", {name: inside for name, inside in before.items() if name != key}),
        ("misnamed", {f"{name}_" if name == key else name: inside for name, inside in before.items()}),
        ("mistyped", {**before, key: {"no key of ours": []}}),
    ):
        value.clear()
        value.update(changed)
        result += [how] if any(validator.is_valid(document) for validator in validators(verb).values()) else []
    value.clear()
    value.update(before)
    return result


def _shortened(value: Any) -> Any:
    """Return a document with one item of each kind in each list, the kind by the keys in it."""
    if isinstance(value, dict):
        return {key: _shortened(inside) for key, inside in value.items()}
    if isinstance(value, list):
        return list({_kind(item): _shortened(item) for item in reversed(value)}.values())
    return value


def _kind(value: Any) -> str:
    if isinstance(value, dict):
        return "".join(f"{key}({_kind(inside)})" for key, inside in value.items())
    if isinstance(value, list):
        return "".join(sorted({_kind(item) for item in value}))
    return "null" if value is None else ""
