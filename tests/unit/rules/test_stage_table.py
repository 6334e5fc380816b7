"""``model/stages.py`` is the only list of stages: documents and the tables in C say the same, all else is made from it."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

import pytest

from kernlens.loading.stage_maps import reader
from kernlens.model.stage import PROGRAM, TEXT
from kernlens.model.stages import (
    COMPILERS,
    GPU_DWARF,
    HOST_DWARF,
    IGC_1,
    IGC_2,
    NUMBERS,
    STAGES,
    CompilerKind,
    Stage,
    line_marks,
    stage_named,
)
from kernlens.pipeline.compilers import COMPILES, SECOND_BUILDS
from kernlens.pipeline.igc_dump import PHASE_ENDS
from tests.tree import PACKAGE, ROOT, nodes_of, package_files

DOCUMENT = ROOT / "docs" / "stages.md"
LAYER = ROOT / "native" / "opencl_layer" / "compilers"
COLUMNS = "|Stage|Text|Binary|Default|Scope|Lines|What it is|Dump file|"
#: Names that mean nothing but a stage.
NAMES = {stage.name for stage in STAGES if "-" in stage.name or stage.name == "visa"}
#: How many stages in one place make a list of them.
A_LIST = 3


def documented(heading: str) -> dict[str, list[str]]:
    """Name -> cells of each row of the table under a heading."""
    _, section, rest = DOCUMENT.read_text("utf-8").partition(f"\n## {heading}\n")
    assert section, (
        f"docs/stages.md: write a section '## {heading}' with a table {COLUMNS}, as model/stages.py lists it"
    )
    table = rest.split("\n## ", 1)[0].partition(f"\n{COLUMNS}\n")[2].partition("\n\n")[0]
    rows = [row[1:-1].split("|") for row in table.splitlines()[1:]]
    return {row[0].strip("`"): row[1:] for row in rows}


@pytest.mark.parametrize("heading", dict.fromkeys(compiler.heading for compiler in COMPILERS))
def test_the_tables_of_the_documentation(heading: str) -> None:
    """Versions of one compiler share a table; a cell may say more than the list."""
    rows = documented(heading)
    of_name: dict[str, list[Stage]] = {}
    for compiler in COMPILERS:
        for stage in compiler.stages if compiler.heading == heading else ():
            of_name.setdefault(stage.name, []).append(stage)
    advice = f"docs/stages.md, '## {heading}': in the order of model/stages.py there must be the row"
    for name, stages in of_name.items():
        texts, binaries = ([f"`{ending}`" for ending in _endings(stages, form)] for form in ("text", "binary"))
        scopes = list(dict.fromkeys(stage.scope for stage in stages))
        (default,), (lines,), (sentence,), (dump,) = (
            {getattr(stage, field) for stage in stages} for field in ("default", "lines", "sentence", "dump")
        )
        cells = [", ".join(texts), ", ".join(binaries), default, ", ".join(scopes), lines, sentence, dump]
        row = rows.get(name, [""] * len(cells))
        row_says = (
            re.findall(r"`\.[\w.]+`", row[0]),
            re.findall(r"`\.[\w.]+`", row[1]),
            row[2],
            re.findall(r"program|kernel", row[3]),
            row[4],
            row[5].startswith(sentence),
            dump.lstrip("/") in row[6],
        )
        assert row_says == (texts, binaries, default, scopes, lines, True, True), (
            f"{advice} |`{name}`|{'|'.join(cells)}|"
        )
    assert list(rows) == list(of_name), f"{advice}s of {', '.join(of_name)}, and no others"


def _endings(stages: Sequence[Stage], form: str) -> list[str]:
    return list(dict.fromkeys(ending for stage in stages if (ending := stage.ending(form))))


def in_layer() -> Iterator[tuple[str, Path, list[dict[str, str]]]]:
    """What the OpenCL layer calls a compiler, the file of its table, and the members of each entry as they are written."""
    for path in sorted(LAYER.rglob("*.c")):
        text = path.read_text("utf-8")
        for name, table in re.findall(r'struct compiler \w+ = \{\s*\.name = "([^"]+)",\s*\.stages = (\w+),', text):
            body = text.partition(f"static const struct stage {table}[] = {{\n")[2].partition("\n};")[0]
            entries = re.findall(r"\{([^{}]*)\}", body)
            assert re.sub(r"\{[^{}]*\}", "", body).strip(" ,\n") == "", f"{path}: this test cannot read all of {table}"
            yield name, path, [dict(re.findall(r'\.(\w+)\s*=\s*("[^"]*"|\w+)', entry)) for entry in entries]


def as_c(stage: Stage) -> dict[str, str]:
    """The members of the layer's entry; those that are false or NULL are not written."""
    texts = {"name": stage.name, "text": stage.text, "binary": stage.binary, "dump": stage.dump}
    flags = {"text_first": stage.default == TEXT, "per_kernel": stage.scope != PROGRAM}
    members = {key: f'"{value}"' for key, value in texts.items() if value} | {
        key: "true" for key in flags if flags[key]
    }
    return members | {"origin": f"ORIGIN_{stage.origin.upper()}"}


def test_the_tables_of_the_layer() -> None:
    """They are compared as they are written; tests/integration/layers/test_opencl_layer_stages.py asks the layer itself."""
    tables = {name: (path, entries) for name, path, entries in in_layer()}
    assert sum(len(entries) for _, entries in tables.values()) > 25
    by_name = {compiler.layer: compiler for compiler in COMPILERS if compiler.layer}
    assert set(tables) == set(by_name), (
        "each CompilerKind with a 'layer' needs a table in native/opencl_layer/compilers/"
    )
    for name, compiler in by_name.items():
        path, entries = tables[name]
        expected = list(map(as_c, compiler.stages))
        for number, (entry, stage) in enumerate(zip(entries, expected, strict=False)):
            assert entry == stage, f"{path}, entry {number}: write {_initializer(stage)}, as model/stages.py says"
        advice = ", ".join(map(_initializer, expected[len(entries) :]))
        assert len(entries) == len(expected), f"{path}: the table must end with {advice or _initializer(expected[-1])}"


def _initializer(members: dict[str, str]) -> str:
    return "{" + ", ".join(f".{key} = {value}" for key, value in members.items()) + "}"


def test_no_second_list_of_stages() -> None:
    second = [
        f"{path.relative_to(PACKAGE)}:{line}"
        for path in package_files()
        if path.name != "stages.py" or path.parent.name != "model"
        for line in lists_in(nodes_of(path))
    ]
    assert second == [], "model/stages.py has the only list of stages; make this from it"


def lists_in(nodes: Iterable[ast.AST]) -> list[int]:
    """The lines on which a literal names as many stages as make a list, or calls make one."""
    return sorted(node.lineno for node in nodes if isinstance(node, ast.expr) and _is_list(node))


def _is_list(node: ast.expr) -> bool:
    parts: Sequence[ast.AST | None] = ()
    if isinstance(node, ast.Tuple | ast.List | ast.Set):
        parts = [part for item in node.elts for part in (item, *(item.args[:1] if isinstance(item, ast.Call) else ()))]
        parts += [item.elts[0] for item in node.elts if isinstance(item, ast.Tuple) and item.elts]
    elif isinstance(node, ast.Dict):
        parts = node.keys
    return len({part.value for part in parts if isinstance(part, ast.Constant)} & NAMES) >= A_LIST


def test_a_second_list_would_be_seen() -> None:
    for text in (
        'X = ("llvm-unified", "visa", "gen-assembly")',
        'X = {"llvm-unified": 1, "visa": 2, "gen-assembly": 3}',
        'X = (("llvm-unified", 1), ("visa", 2), ("gen-assembly", 3))',
        'X = (Stage("llvm-unified"), Stage("visa"), Stage("gen-assembly"))',
    ):
        assert lists_in(ast.walk(ast.parse(text))) == [1], text
    assert lists_in(ast.walk(ast.parse('X = ("visa", "gen-assembly", "program")'))) == []


def test_every_stage_belongs_to_a_compiler_and_says_what_it_is() -> None:
    for stage in STAGES:
        assert all((stage.compilers, stage.sentence, stage.forms)), stage
    for compiler in COMPILERS:
        names = [stage.name for stage in compiler.stages]
        assert len(names) == len(set(names)), f"{compiler.name} has a stage twice"


@pytest.mark.parametrize("compiler", COMPILERS, ids=lambda compiler: compiler.name)
def test_lines_are_read_where_the_list_says_so(compiler: CompilerKind) -> None:
    """Of ``NUMBERS`` and DWARF they are read beside other stages, which the tests of real compiles show."""
    for stage in compiler.stages:
        for ending in filter(None, (stage.text, stage.binary)):
            if stage.lines:
                assert line_marks(stage.name, ending) == stage.lines
        if stage.text and stage.lines not in (NUMBERS, HOST_DWARF, GPU_DWARF):
            readable = reader(stage.name, stage.text) is not None
            assert readable == bool(stage.lines), (
                f"{compiler.name}, {stage.name}: 'lines' of model/stages.py is {stage.lines!r}; loading/stage_maps.py"
                f" {'reads' if readable else 'has no reader for'} it"
            )


def test_single_passes_are_read_by_their_ending() -> None:
    assert line_marks("0001-Unify-SROA", ".ll") == line_marks("llvm-codegen", ".ll") == "`!dbg`"
    assert [line_marks("unknown", ending) for ending in (".asm", ".cl", ".bin", "")] == [""] * 4


def test_names_are_described_as_the_devices_compiler_means_them() -> None:
    sentences = {device: getattr(stage_named("llvm", device), "sentence", "") for device in ("pocl", "intel-cpu")}
    assert len(set(sentences.values())) == 2, sentences
    for device, stage in (("dg2", IGC_1), ("some GPU", IGC_2), ("", IGC_2)):
        assert stage_named("program", device) == stage.stage("program")
    assert stage_named("0001-Unify-SROA", "dg2") is None


def test_all_compilers_of_the_list_can_be_run() -> None:
    for name, table, field in (("COMPILES", COMPILES, "device"), ("SECOND_BUILDS", SECOND_BUILDS, "platform")):
        listed = {getattr(compiler, field) for compiler in COMPILERS} - {""}
        assert set(table) == listed, f"pipeline/compilers.py: {name} must have an entry for each of {sorted(listed)}"


def test_passes_are_put_before_stages_of_the_table() -> None:
    for compiler in (IGC_1, IGC_2):
        assert set(PHASE_ENDS.values()) <= {stage.name for stage in compiler.stages if stage.dump}
        assert sum(bool(stage.dump) for stage in compiler.stages) == 5


def test_a_stage_of_one_form_has_that_form_whatever_is_asked_for() -> None:
    spirv, program = IGC_1.stage("spirv"), IGC_1.stage("program")
    assert spirv.forms == ("binary", "text")
    assert [spirv.form(form) for form in (None, "text", "binary")] == ["binary", "text", "binary"]
    assert [program.form(form) for form in (None, "text", "binary")] == ["binary"] * 3
