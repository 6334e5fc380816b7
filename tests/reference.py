"""The pages of docs/reference: every public name with its docstring and members, and examples that are run.

``python -m tests.reference`` writes them. An example is a path from an answer of a public function to an object of the class,
which is looked for: of each class the shortest. The pages can be run with ``doctest``, and a test does that.
"""

from __future__ import annotations

import ast
import importlib
import inspect
import os
import re
from collections import deque
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from types import FunctionType, ModuleType

import kernlens
from kernlens.model.program import Kernels
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
#: What the examples begin with, in the root of a checkout.
SETUP = """\
>>> import kernlens
>>> (program,) = kernlens.compile("examples/kernels/blur.cl", "dg2")
>>> kernel = program.kernels["blur"]
>>> annotation = kernlens.annotate(program)
>>> verdict = kernlens.check(program, max_spill_bytes=0)
>>> tone = "examples/kernels/tone.cl"
>>> difference = kernlens.diff("examples/kernels/blur.cl", tone, device="dg2", pairs=[("blur", "tone")])
>>> sweep = kernlens.sweep("examples/kernels/window.cl", "dg2", options=["-DROWS=8", "-DROWS=16"])
>>> advice = kernlens.advise(tone, device="dg2")
>>> pipeline = kernlens.stages("examples/kernels/blur.cl", "dg2")
>>> words = ["random:float:4096", "random:float:4096", "64"]
>>> behaviour = kernlens.observe("examples/kernels/blur.cl", size=[64], group=[64], arguments=words)
>>> message = next(each for each in kernel.instructions if each.kind.access)
>>> links = kernel.register_links(20)
>>> line = program.line(20)
"""
#: The examples of classes to which no path leads: of errors calls that raise them.
FAILING = {
    "kernlens.KernlensError": "kernlens.diff(program)",
    "kernlens.errors.ArgumentError": "kernlens.load(3)",
    "kernlens.errors.NotFoundError": 'kernlens.load("examples/kernels/blurr.bin")',
    "kernlens.errors.UnknownKernelError": 'program.kernels["blurr"]',
    "kernlens.errors.UnknownCostError": 'kernel.costs["spils"]',
    "kernlens.errors.NoDeviceError": 'kernlens.annotate("examples/kernels/blur.cl")',
    "kernlens.errors.OutputError": 'kernlens.compile(tone, "dg2", recording="/nowhere/tone.klens")',
}
_DEEPEST = 6  # Steps from an answer.
_LONGEST = 88  # Columns of an example.


def examples() -> dict[type, str]:
    """Return for each class that is met the shortest path to an object, of those that are the same in every run."""
    names: dict[str, object] = {}
    exec(re.sub(r"^>>> ", "", SETUP, flags=re.MULTILINE), names)
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


def page(name: str, paths: Mapping[type, str], failing: Mapping[str, str] = FAILING) -> str:
    """Return a page without the answers of its examples."""
    title = name if name == "kernlens" else f"kernlens.{name}"
    lines = [
        f"# {title}",
        "",
        "<!-- tests/reference.py -->",
        "",
        "`python -m tests.reference` writes this page from the docstrings. The examples begin with these lines, in a checkout:",
        "",
        *_block(SETUP.splitlines()),
    ]
    for module_name in PAGES[name]:
        module = importlib.import_module(module_name)
        if len(PAGES[name]) > 1:
            lines += [f"## {module_name}", "", *_text(module.__doc__), *_constants(module)]
        for public in public_names(module):
            lines += _name(module, public, (paths, failing), "###" if len(PAGES[name]) > 1 else "##")
    return wrapped("\n".join(lines).rstrip("\n") + "\n")


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
    example = known[0].get(value) or known[1].get(f"{module.__name__}.{name}")
    if example:
        lines += _block([f">>> {example}"])
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
    return re.sub(r"```pycon\n(?!>>> import).*?```\n\n", "", text, flags=re.DOTALL)


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
    """Return the page with what each of its examples prints now."""
    names: dict[str, object] = {}

    def run(block: re.Match[str]) -> str:
        lines = block[1].splitlines()
        if lines[0] == ">>> import kernlens":
            exec(re.sub(r"^>>> ", "", block[1], flags=re.MULTILINE), names)
            return block[0]
        try:
            answer = repr(eval(lines[0].removeprefix(">>> "), names))
        except kernlens.KernlensError as error:
            kind = type(error)
            answer = f"Traceback (most recent call last):\n    ...\n{kind.__module__}.{kind.__qualname__}: {error}"
        return f"```pycon\n{lines[0]}\n{answer}\n\n```"

    return re.sub(r"```pycon\n(.*?)```", run, text, flags=re.DOTALL)


def main() -> None:
    """Write all pages."""
    os.chdir(ROOT)
    paths = examples()
    for name in PAGES:
        Path(FOLDER / f"{name}.md").write_text(answered(page(name, paths)))
    modules = [importlib.import_module(module) for modules in PAGES.values() for module in modules]
    public = {getattr(module, name) for module in modules for name in public_names(module)}
    classes = {value for value in public if inspect.isclass(value)}
    print(f"{len(classes & paths.keys()) + len(FAILING)} of {len(classes)} classes have an example")


if __name__ == "__main__":
    main()
