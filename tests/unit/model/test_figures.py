"""The list of a kernel's figures: the only one, and what tables, documents, pages and docs are made from."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterable
from dataclasses import fields

import pytest

from kernlens.cli.answers.overview import program_overview
from kernlens.model.bounds import bound
from kernlens.model.figures import (
    EVERY_FIGURE,
    FIGURES,
    STATED,
    figure_named,
    figure_words,
    figures_of,
    notes_on_unknown,
)
from kernlens.model.kernel_resources import KernelResources
from kernlens.report.program_document import inspect_document
from tests.explore_reader import Page
from tests.tree import PACKAGE, ROOT, nodes_of, package_files
from tests.unit.report.test_listing import listed_program
from tests.writers.documents import report_page

DOCS = ROOT / "docs"
#: Rooms that read figures out of something: a format's bytes, a driver's answers.
READERS = ("formats", "runtime")
KEYS = {figure.key for figure in EVERY_FIGURE}
HEADINGS = {figure.heading for figure in EVERY_FIGURE}
#: The list, and the fields that it reads of binaries.
LISTS = (
    "model/figures.py", "model/stated_figures.py", "model/vendor_figures.py", "model/analysed_figures.py",
    "model/run_figures.py", "model/kernel_resources.py",
    # What the binaries of other vendors state, by the figures' keys.
    "loading/code_object_parts.py", "loading/cuda_programs.py",
)  # fmt: skip
#: How many figures in one place make a list of them.
A_LIST = 3
#: What the viewer shows of every kernel, colours by and orders by, whatever others there are.
ALWAYS_SHOWN = {"instructions", "code_size", "simd", "grf_count", "spill_bytes", "device_time"}


def test_no_second_list_of_figures() -> None:
    result = []
    for path in package_files():
        relative = path.relative_to(PACKAGE)
        if relative.parts[0] not in READERS and str(relative) not in LISTS:
            result += [f"{relative}:{line}" for line in lists_in(nodes_of(path))]
    for path in sorted(PACKAGE.rglob("*.js")):
        if len(KEYS & set(re.findall(r"\w+", path.read_text())) - ALWAYS_SHOWN) >= A_LIST:
            result.append(str(path.relative_to(PACKAGE)))
    assert result == [], "model/figures.py has the only list of figures; make this from it"


def lists_in(nodes: Iterable[ast.AST]) -> list[int]:
    """The lines on which something names as many figures as make a list: a literal by keys or headings, a call by its
    keywords, a function or class by the attributes that it reads or declares."""
    return sorted({getattr(node, "lineno", 0) for node in nodes if _is_list(node)})


def _is_list(node: ast.AST) -> bool:
    words: set[object] = set()
    if isinstance(node, ast.Tuple | ast.List | ast.Set):
        words = {item.value for item in node.elts if isinstance(item, ast.Constant)}
    elif isinstance(node, ast.Dict):
        words = {key.value for key in node.keys if isinstance(key, ast.Constant)}
    elif isinstance(node, ast.Call):
        words = {keyword.arg for keyword in node.keywords}
    elif isinstance(node, ast.FunctionDef):
        words = {inner.attr for inner in ast.walk(node) if isinstance(inner, ast.Attribute)}
    elif isinstance(node, ast.ClassDef):
        words = {
            inner.target.id
            for inner in node.body
            if isinstance(inner, ast.AnnAssign) and isinstance(inner.target, ast.Name)
        }
    return len(words & KEYS) >= A_LIST or len(words & HEADINGS) >= A_LIST


def test_a_second_list_would_be_seen() -> None:
    for text in (
        'X = ("kernel", "SIMD", "spill bytes", "SLM")',
        'X = {"simd": 1, "grf_count": 2, "barriers": 3}',
        "X = Row(simd=1, grf_count=2, barriers=3)",
        "def row(kernel):\n    r = kernel.resources\n    return r.simd, r.grf_count, r.spill_bytes",
        "class Row:\n    simd: int\n    grf_count: int\n    barriers: int",
    ):
        assert lists_in(ast.walk(ast.parse(text))) == [1], text
    assert lists_in(ast.walk(ast.parse('X = ("simd", "grf_count")'))) == []


def test_every_field_of_the_resources_is_a_figure_or_explained() -> None:
    named = set(re.findall(r"``(\w+)``", KernelResources.__doc__ or ""))
    own = {field.name for field in fields(KernelResources)} | {"grf_count"}
    assert own - KEYS - named == {"required_work_group_size", "required_sub_group_size"}
    assert {figure.key for figure in FIGURES} - own == {"instructions", "code_size"}


def test_documents_and_tables_are_made_from_the_list() -> None:
    program, kernel = listed_program()
    keys = [figure.key for figure in STATED]
    (listed,) = inspect_document([], [program])["programs"][0]["kernels"]
    assert list(listed) == [
        "name",
        *keys,
        "has_spills",
        "line_table",
        "line_table_reason",
        "line_warning",
        "functions",
        "launch_limits",
    ]
    stated = {"simd": 16, "grf_count": 128, "spill_bytes": 0, "code_size": 80}
    assert {key: listed[key] for key in keys} == dict.fromkeys(keys) | stated, (
        "what a new figure's reader finds in made()"
    )
    (heading,) = [line for line in program_overview(program) if "GRF count" in line]
    filled = [figure for figure in STATED if not figure.is_detail and listed[figure.key] is not None]
    places = [heading.index(f" {figure.heading}") for figure in filled]
    assert len(places) > 2
    assert places == sorted(places)
    assert figures_of(kernel, FIGURES)["instructions"] == 5


def test_listing_a_program_decodes_nothing() -> None:
    program, kernel = listed_program()
    list(program_overview(program))
    figure_words(kernel)
    assert "instructions" not in vars(kernel)


def test_words_leave_out_what_there_is_not() -> None:
    assert figure_words(listed_program()[1]) == "SIMD16, 128 GRFs available, no spill"
    spill, barriers = (next(figure for figure in FIGURES if figure.key == key) for key in ("spill_bytes", "barriers"))
    assert [spill.phrase(value) for value in (None, 0, 1, 1234)] == [
        "",
        "no spill",
        "spills 1 byte",
        "spills 1,234 bytes",
    ]
    assert [barriers.phrase(value) for value in (None, 0, 1, 2)] == ["", "", "1 barrier", "2 barriers"]


def test_the_page_gets_the_list_as_data() -> None:
    figures = Page(report_page(listed_program()[0])).index["figures"]
    assert [(figure["key"], figure["words"], figure["unit"]) for figure in figures] == [
        (figure.key, figure.words, figure.unit) for figure in FIGURES
    ]


def test_the_table_of_the_documentation() -> None:
    rows = [line.strip("|").split("|") for line in (DOCS / "figures.md").read_text().splitlines() if line[:2] == "|`"]
    expected = [
        [f"`{figure.key}`", figure.heading, figure.unit, figure.meaning, figure.origin] for figure in EVERY_FIGURE
    ]
    missing = "\n".join(f"|{'|'.join(row)}|" for row in expected if row not in rows)
    assert rows == expected, f"docs/figures.md: in the order of model/figures.py, write the rows\n{missing}"
    assert all(all(cells) for cells in expected)


def test_a_dash_in_a_table_is_explained_once() -> None:
    known = {figure.key: 0 for figure in FIGURES}
    (note,) = notes_on_unknown([known, known | {"spill_bytes": None}, known | {"spill_bytes": None, "simd": None}])
    assert note.startswith("spill bytes: unknown for some kernels (-), because the binary states only")
    assert notes_on_unknown([known]) == notes_on_unknown([]) == []


def test_documents_have_the_current_keys_alone() -> None:
    program, kernel = listed_program()
    (listed,) = inspect_document([], [program])["programs"][0]["kernels"]
    assert listed["grf_count"] == kernel.resources.grf_count == 128
    assert "registers" not in listed


@pytest.mark.parametrize(
    ("former", "key"),
    [
        ("registers", "grf_count"),
        ("spill", "spill_bytes"),
        ("code bytes", "code_size"),
        ("peak_registers", "live_grfs"),
        ("named registers", "referenced_grfs"),
        ("spills", "spill_stores"),
    ],
)
def test_former_names_of_figures_are_known(former: str, key: str) -> None:
    assert figure_named(former).key == key
    assert bound(f"max-{former}", 1).name == f"max-{figure_named(key).names[0]}"
