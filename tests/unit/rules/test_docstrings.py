"""The mood of docstrings, as far as ruff's rules (pyproject.toml) leave it open: they take a word that they do not know."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

from tests.tree import PACKAGE, nodes_of, package_files

#: No docstring begins with one of these: a noun stands in their place, or "Return whether".
QUESTIONS = {"What", "Whether", "Who", "How"}
#: A function's docstring begins with a verb: neither with one of these nor with code.
NO_VERBS = {
    *("A", "All", "An", "As", "Each", "Every", "For", "From", "If", "In", "Of", "On", "One", "Or", "The", "This"),
    *("It", "Its", "JSON", "Where", "Which", "Why", "With"),
}
#: Classes, properties and modules are things, not actions: "Opens" is as wrong there as "Open".
VERBS = {
    *("Add", "Answer", "Ask", "Bind", "Build", "Call", "Check", "Choose", "Compare", "Compile", "Define", "Describe"),
    *("Detect", "Do", "End", "Find", "Follow", "Get", "Give", "Have", "Hold", "Keep", "Know", "Leave", "Link", "List"),
    *("Look", "Make", "Map", "Mark", "Merge", "Name", "Open", "Overwrite", "Pack", "Predict", "Print", "Raise", "Read"),
    *("Refuse", "Remove", "Replace", "Report", "Return", "Run", "Say", "Serve", "Set", "Show", "Start", "State"),
    *("Take", "Tell", "Translate", "Turn", "Unpack", "Use", "Write", "Yield"),
}
#: Verbs whose form with an s is the plural of a noun as well.
NOUNS = {
    *("Answers", "Builds", "Calls", "Checks", "Links", "Lists", "Maps", "Marks", "Names", "Reports", "Runs", "Sets"),
    *("Starts", "States"),
}


def summaries() -> Iterator[tuple[str, bool, str]]:
    """Of everything that has a docstring: where it is, whether it is a function, and the docstring's first word."""
    for path in package_files():
        for node in nodes_of(path):
            if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef):
                words = (ast.get_docstring(node) or "").split()
                name = "the module" if isinstance(node, ast.Module) else node.name
                if words:
                    yield f"{path.relative_to(PACKAGE)}: {name}: {' '.join(words[:6])}", _is_function(node), words[0]


def _is_function(node: ast.AST) -> bool:
    if not isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
        return False
    return not any(ast.unparse(decorator).split(".")[-1].endswith("property") for decorator in node.decorator_list)


def test_no_docstring_begins_with_a_question_word() -> None:
    assert [place for place, _, word in summaries() if word.strip(",:;").capitalize() in QUESTIONS] == []


def test_a_function_says_what_it_does() -> None:
    """A word like Return: capital first, letters only."""
    assert [
        place
        for place, is_function, word in summaries()
        if is_function and (word.strip(",:;") in NO_VERBS or not re.fullmatch(r"[A-Z][a-z]+[,:;]?", word))
    ] == []


def test_classes_properties_and_modules_are_named_by_nouns() -> None:
    verbs = VERBS | {f"{verb}s" for verb in VERBS} | {"Does", "Has"}
    assert [
        place for place, is_function, word in summaries() if not is_function and word.strip(",:;") in verbs - NOUNS
    ] == []
