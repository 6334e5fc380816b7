"""The pages of docs/reference: every public name with its docstring and members, and examples that are run.

``python -m tests.reference`` writes them, ``python -m tests.reference PAGE`` prints one with what its examples print now.
An example stands in ``tests.reference_examples``, or is a path from an answer of a public function to an object of the class,
which is looked for: of each class the shortest.
"""

from __future__ import annotations

import ast
import importlib
import inspect
import os
import re
import subprocess
import sys
from collections import deque
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from types import FunctionType, ModuleType

import kernlens
from kernlens.model.program import Kernels
from tests.reference_examples import BEGIN, EXAMPLES, LIVE, MORE
from tests.tree import ROOT
from tests.unit.rules.test_public_surface import MODEL, public_names
from tests.wrapped import wrapped

FOLDER = ROOT / "docs" / "reference"
#: Page -> its modules.
PAGES = {
    "kernlens": ["kernlens"],
    "answers": ["kernlens.answers"],
    "errors": ["kernlens.errors"],
    "model": MODEL,
    "opencl": ["kernlens.opencl"],
    "level_zero": ["kernlens.level_zero"],
}
#: First line of a page -> its first module.
PAGES_BY_TITLE = {
    f"# {'kernlens' if name == 'kernlens' else f'kernlens.{name}'}": names[0] for name, names in PAGES.items()
}
_DEEPEST = 6  # Steps from an answer.
_LONGEST = 88  # Columns of an example.


def examples() -> dict[type, str]:
    """Return for each class that is met the shortest path to an object, of those that are the same in every run."""
    names: dict[str, object] = {}
    exec(BEGIN, names)
    waiting = deque((name, value, 0) for name, value in names.items() if name not in ("__builtins__", "kernlens"))
    met: dict[type, str] = {}
    seen: dict[int, object] = {}
    while waiting:
        path, value, depth = waiting.popleft()
        if id(value) in seen or depth > _DEEPEST or len(path) > _LONGEST:
            continue
        seen[id(value)] = value
        if _shown(value):
            met.setdefault(type(value), path)
        waiting += [(longer, part, depth + 1) for longer, part in _parts(path, value)]
    return met


def _shown(value: object) -> bool:
    """Return whether what a prompt shows of an object is the same in every run: no address, no time, no path of a folder."""
    text = repr(value)
    return not re.search(r"seconds=|0x[0-9a-f]{8}|/tmp/|" + re.escape(str(ROOT)), text)


def _parts(path: str, value: object) -> Iterator[tuple[str, object]]:
    if isinstance(value, Kernels | Mapping):
        yield from ((f"{path}[{key!r}]".replace("'", '"'), value[key]) for key in [*value.keys()][:2])
    elif isinstance(value, Sequence) and not isinstance(value, str | bytes | memoryview):
        yield from ((f"{path}[{index}]", value[index]) for index in range(min(3, len(value))))
    if type(value).__module__.startswith("kernlens"):
        for name in dir(value):
            if not name.startswith(("_", "find_")) and name != "parts":
                try:
                    part = getattr(value, name)
                except Exception:  # Not every program has every part.
                    continue
                if not callable(part) or type(part).__module__.startswith("kernlens"):
                    yield f"{path}.{name}", part


def page(name: str, paths: Mapping[type, str], stated: Mapping[str, str] = EXAMPLES) -> str:
    """Return a page without the answers of its examples."""
    body = [line for module in PAGES[name] for line in _module(module, (paths, stated), len(PAGES[name]) > 1)]
    needed = _needed(LIVE.get(name, BEGIN + MORE), "\n".join(line[4:] for line in body if line.startswith(">>> ")))
    begin = ["The examples begin with these lines, in a checkout:", "", *_block(needed)] if needed else []
    title = name if name == "kernlens" else f"kernlens.{name}"
    lines = [
        f"# {title}",
        "",
        "<!-- tests/reference.py -->",
        "",
        "`python -m tests.reference` writes this page from the docstrings.",
        "",
        *begin,
        *body,
    ]
    return wrapped("\n".join(lines).rstrip("\n") + "\n")


def _module(name: str, known: tuple[Mapping[type, str], Mapping[str, str]], is_part: bool) -> list[str]:
    module = importlib.import_module(name)
    lines = [f"## {name}", "", *_text(module.__doc__), *_constants(module)] if is_part else []
    return lines + [line for each in public_names(module) for line in _name(module, each, known, "#" * (2 + is_part))]


def _needed(setup: str, examples: str) -> list[str]:
    """Return the lines of a beginning that make what the examples name, each with its prompt. A call without a result, or
    whose result is dropped, is about the object that it is a method of."""
    used = _names(ast.parse(examples))[1]
    lines: list[str] = []
    for statement in reversed(ast.parse(setup).body if used else []):
        assigned, read = _names(statement)
        if assigned & used or "*" in assigned or (isinstance(statement, ast.Expr) and read & used):
            used |= read
            text = ast.get_source_segment(setup, statement) or ""
            lines[:0] = [">>> " + text.replace("\n", "\n... "), *(["..."] if "\n" in text else [])]
    return lines


def _names(tree: ast.AST) -> tuple[set[str], set[str]]:
    """Return the names that code assigns, and those that it reads."""
    assigned, read = set[str](), set[str]()
    for node in ast.walk(tree):
        if isinstance(node, ast.Name):
            (assigned if isinstance(node.ctx, ast.Store) else read).add(node.id)
        elif isinstance(node, ast.alias):
            assigned.add(node.asname or node.name)
    if assigned == {"_"} and isinstance(tree, ast.Assign):
        root: ast.AST = tree.value
        while isinstance(root, ast.BoolOp | ast.Call | ast.Attribute):
            root = (
                root.values[0]
                if isinstance(root, ast.BoolOp)
                else root.func
                if isinstance(root, ast.Call)
                else root.value
            )
        assigned = {root.id} if isinstance(root, ast.Name) else set()
    return assigned - {"_"}, read


def _constants(module: ModuleType) -> list[str]:
    """Return a table of the module's own words, such as states and kinds, with what the comments before them say."""
    text = inspect.getsource(module).splitlines()
    rows = []
    for statement in ast.parse("\n".join(text)).body:
        if not isinstance(statement, ast.Assign):
            continue
        names = [each.id for target in statement.targets for each in ast.walk(target) if isinstance(each, ast.Name)]
        values = {name: getattr(module, name) for name in names if re.fullmatch(r"[A-Z][A-Z0-9_]*", name)}
        told = [
            f"`{name} = {value!r}`"
            for name, value in values.items()
            if value and isinstance(value, str | tuple) and all(isinstance(each, str) and each for each in value)
        ]
        if told:
            first = statement.lineno - 1
            while text[first - 1].startswith("#:"):
                first -= 1
            comment = " ".join(line.removeprefix("#:") for line in text[first : statement.lineno - 1])
            rows.append(f"|{_cell(', '.join(told))}|{_cell(_markdown(comment))}|")
    return ["|Constants|Meaning|", "|-|-|", *rows, ""] if rows else []


def _name(module: ModuleType, name: str, known: tuple[Mapping[type, str], Mapping[str, str]], mark: str) -> list[str]:
    value = inspect.unwrap(getattr(module, name))
    if not callable(value):
        return []
    lines = [f"{mark} {name}", ""]
    if not (inspect.isclass(value) or isinstance(value, FunctionType)):
        return [*lines, *_block([re.sub(r"\b(?:\w+\.)+(\w+)", r"\1", str(value))])]
    if isinstance(value, FunctionType):
        return [*lines, *_block(_signature(name, value)), *_text(value.__doc__)]
    lines += _text(value.__doc__)
    example = known[1].get(f"{module.__name__}.{name}") or known[0].get(value)
    if example:
        lines += _block([f">>> {line}" for line in example.split("\n")])
    rows = [row for kind in value.__mro__[::-1] if kind.__module__.startswith("kernlens") for row in _members(kind)]
    table = dict(rows)
    if table:
        lines += ["|Member|Meaning|", "|-|-|", *(f"|`{member}`|{text}|" for member, text in table.items()), ""]
    return lines


def _members(kind: type) -> Iterator[tuple[str, str]]:
    """Yield the fields, properties and methods that a class itself has."""
    for name, stated in inspect.get_annotations(kind).items():
        if not name.startswith("_"):
            yield f"{name}: {_cell(str(stated))}", ""
    for name, value in vars(kind).items():
        function = getattr(value, "fget", None) or getattr(value, "func", None) or getattr(value, "__func__", value)
        if name.startswith("_") or not isinstance(function, FunctionType):
            continue
        text = _cell(_markdown(function.__doc__))
        if function is value or hasattr(value, "__func__"):
            yield _cell("".join(map(str.strip, _signature(name, function, 1 << 20)))), text
        else:
            yield f"{name}: {_cell(str(function.__annotations__.get('return', '')))}", text


def _signature(name: str, function: FunctionType, longest: int = _LONGEST) -> list[str]:
    signature = inspect.signature(function)
    bare = [each for each in signature.parameters.values() if each.name != "self"]
    # Annotations are strings, which are printed with quotes.
    text = re.sub(r"(: |-> )(['\"])(.*?)\2", r"\1\3", f"{name}{signature.replace(parameters=bare)}")
    if len(text) <= longest:
        return [text]
    words = [re.sub(r"(: )(['\"])(.*?)\2", r"\1\3", str(each)) for each in bare]
    first_named = next((index for index, each in enumerate(bare) if each.kind is each.KEYWORD_ONLY), None)
    if first_named is not None:
        words.insert(first_named, "*")
    return [f"{name}(", *(f"    {word}," for word in words), text[text.rindex(") ->") :]]


def without_examples(text: str) -> str:
    """Return a page without what was run."""
    return re.sub(r"(The examples begin [^`]*)?```pycon\n.*?```\n\n", "", text, flags=re.DOTALL)


def _block(lines: Sequence[str]) -> list[str]:
    """Return code in a fence; a blank line ends what ``doctest`` takes for an answer."""
    kind = "pycon" if lines[0].startswith(">>>") else "text"
    return [f"```{kind}", *lines, *([""] if kind == "pycon" else []), "```", ""]


def _markdown(docstring: str | None) -> str:
    return inspect.cleandoc(docstring or "").replace("``", "`")


def _text(docstring: str | None) -> list[str]:
    return [_markdown(docstring), ""] if docstring else []


def _cell(text: str) -> str:
    return " ".join(text.split()).replace("|", "\\|")


def answered(text: str) -> str:
    """Return the page with what each of its examples prints now. Raises AssertionError where an example of a class shows no
    object of it, nor of a class that it is the base of."""
    names: dict[str, object] = {}
    wrong: list[str] = []

    def run(block: re.Match[str]) -> str:
        headings = re.findall(r"^##+ ([\w.]+)$", text[: block.start()], re.MULTILINE)
        lines = [line for line in block[1].splitlines() if line.startswith((">>> ", "..."))]
        code = "\n".join(line[4:] for line in lines)
        if not headings:
            exec(code, names)
            return block[0]
        *first, last = code.split("\n")
        exec("\n".join(first), names)
        try:
            shown = list(_objects(last, names))
            answer = repr(shown[0])
        except (kernlens.KernlensError, Warning) as error:
            shown, kind = [error], type(error)
            answer = f"Traceback (most recent call last):\n    ...\n{kind.__qualname__}: {error}"
        module = next((each for each in headings[::-1] if "." in each), PAGES_BY_TITLE[text.split("\n")[0]])
        kind = getattr(importlib.import_module(module), headings[-1])
        if not any(isinstance(each, kind) for each in shown):
            wrong.append(f"{last} shows no {headings[-1]}, but {shown[0]!r}")
        return "\n".join(["```pycon", *lines, _without_places(answer), "", "```"])

    answer = re.sub(r"```pycon\n(.*?)```", run, text, flags=re.DOTALL)
    assert not wrong, "\n".join(wrong)
    return answer


def _without_places(answer: str) -> str:
    """Return what is shown with other words for the checkout and for temporary folders, whose names are those of one run."""
    return re.sub(r"(/tmp/tmp|/kernlens-)[a-z0-9_]{8}", r"\1...", answer.replace(str(ROOT), "/checkout"))


def _objects(expression: str, names: dict[str, object]) -> Iterator[object]:
    """Yield the value of an expression, and the objects that it is an attribute, an item or a result of."""
    yield eval(expression, names)
    node = ast.parse(expression, mode="eval").body
    while isinstance(node, ast.Attribute | ast.Subscript | ast.Call | ast.Tuple):
        node = node.func if isinstance(node, ast.Call) else node.elts[0] if isinstance(node, ast.Tuple) else node.value
        yield eval(compile(ast.Expression(node), "example", "eval"), names)


def public_classes() -> dict[str, type]:
    """Return the classes of all pages by their names."""
    modules = [importlib.import_module(module) for modules in PAGES.values() for module in modules]
    public = {f"{module.__name__}.{name}": getattr(module, name) for module in modules for name in public_names(module)}
    return {name: value for name, value in public.items() if inspect.isclass(value)}


def main(names: Sequence[str]) -> None:
    """Print pages, or write all of them. Each is run in a process of its own, as a driver reads its variables once."""
    os.chdir(ROOT)
    if names:
        output = os.dup(1)
        os.dup2(2, 1)  # Applications that examples run print too.
        for name in names:
            os.write(output, answered(Path(FOLDER / f"{name}.md").read_text("utf-8")).encode())
        return
    paths = examples()
    for name in PAGES:
        path = Path(FOLDER / f"{name}.md")
        path.write_text(page(name, paths), "utf-8")
        text = subprocess.run(
            [sys.executable, "-m", "tests.reference", name], check=True, stdout=subprocess.PIPE
        ).stdout
        path.write_bytes(text)
    classes = public_classes()
    shown = [name for name, value in classes.items() if name in EXAMPLES or value in paths]
    print(f"{len(shown)} of {len(classes)} classes have an example; without: {', '.join(classes.keys() - set(shown))}")


if __name__ == "__main__":
    main(sys.argv[1:])
