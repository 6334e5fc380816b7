"""Programs to modules: SPIR-V written here under each flag and driver, and the driver's order of places."""

from __future__ import annotations

import random
from types import SimpleNamespace
from typing import Any

import pytest

from kernlens.analysis.linking.driver_rules import RELEASE_22_43, RELEASE_26_27, DriverRules
from kernlens.errors import FormatError, KernlensError, UnsupportedError
from kernlens.formats.spirv import spirv_module, uses, words
from kernlens.formats.spirv.uses import read_spirv_uses
from kernlens.loading.binary_programs import raw_program, spirv_program
from kernlens.loading.context import Context
from kernlens.loading.linkable import module_of
from kernlens.model.binary import Relocation, Symbol
from kernlens.model.kernel_resources import KernelResources
from kernlens.model.module import Frame, ImportUse, Module, SymbolKind
from kernlens.model.program import Program
from tests.writers.spirv import SpirvWriter

LIBRARY, GLOBALS = "-library-compilation", "-ze-take-global-address"
VOID, INT, TYPE, POINTER = 10, 11, 12, 13
KERNEL, OFFERED, HIDDEN_CALLER, TAKEN, FOREIGN, FOREIGN2 = 40, 41, 42, 43, 44, 45
USED, UNUSED, OUTER, STATIC, TABLE = 50, 51, 52, 53, 54
EXPORT, IMPORT = 0, 1


def spirv() -> memoryview:
    """A kernel that uses an imported function and variables; an exported function that nobody here calls, with an import
    of its own; a function whose address is taken; a variable that holds an imported one's address."""
    writer = SpirvWriter()
    writer.add(17, 4).add(17, 6).add(14, 2, 2).add(15, 6, KERNEL, "work")
    for id, name in ((KERNEL, "work"), (OFFERED, "offered"), (TAKEN, "taken"), (STATIC, "state")):
        writer.add(5, id, name)
    for id, name, kind in (
        (OFFERED, "offered", EXPORT),
        (TAKEN, "taken", EXPORT),
        (FOREIGN, "foreign", IMPORT),
        (FOREIGN2, "foreign2", IMPORT),
        (USED, "used", EXPORT),
        (UNUSED, "unused", EXPORT),
        (OUTER, "outer", IMPORT),
        (TABLE, "table", EXPORT),
    ):
        writer.add(71, id, 41, name, kind)
    writer.add(19, VOID).add(21, INT, 32, 0).add(33, TYPE, INT, INT).add(32, POINTER, 5, INT)
    writer.add(5600, POINTER, 60, TAKEN).add(52, POINTER, 61, 124, OUTER)
    for variable in (USED, UNUSED, OUTER, STATIC):
        writer.add(59, POINTER, variable, 5)
    writer.add(59, POINTER, TABLE, 5, 61)
    writer.add(54, INT, FOREIGN, 0, TYPE).add(56).add(54, INT, FOREIGN2, 0, TYPE).add(56)
    # A literal that equals the id of an import must not count as a use: OpLoad's alignment.
    writer.add(54, VOID, KERNEL, 0, TYPE).add(61, INT, 70, USED, 2, FOREIGN2).add(61, INT, 71, STATIC)
    writer.add(57, INT, 72, FOREIGN, 70).add(62, 60, 72).add(56)
    writer.add(54, INT, OFFERED, 0, TYPE).add(57, INT, 73, FOREIGN2).add(56)
    writer.add(54, INT, TAKEN, 0, TYPE).add(56)
    return writer.build()


def module(options: str = "", rules: DriverRules = RELEASE_26_27) -> Module:
    return module_of(spirv_program("m", spirv(), Context()), options=options, rules=rules)


def names(module: Module) -> tuple[set[str], set[str], set[str]]:
    return (
        {export.name for export in module.exports},
        {symbol.name for symbol in module.imports},
        {symbol.name for symbol in module.hidden},
    )


@pytest.mark.parametrize(
    ("options", "rules", "exports", "imports", "hidden"),
    [
        # No code uses table, which goes with its initial value.
        ("", RELEASE_26_27, {"taken", "used", "state"}, {"foreign"}, {"offered", "unused", "table"}),
        # A function that is exported is why 22.43 exports the variables that are used.
        ("", RELEASE_22_43, {"taken", "used", "state"}, {"foreign"}, {"offered", "unused", "table"}),
        (
            LIBRARY,
            RELEASE_26_27,
            {"taken", "offered", "used", "state"},
            {"foreign", "foreign2"},
            {"unused", "table"},
        ),
        (
            f"{LIBRARY} {GLOBALS}",
            RELEASE_26_27,
            {"taken", "offered", "used", "unused", "table", "state"},
            {"foreign", "foreign2", "outer"},
            set(),
        ),
        (
            f"{LIBRARY} {GLOBALS}",
            RELEASE_22_43,
            {"taken", "offered", "used", "unused", "table", "state"},
            {"foreign", "foreign2"},
            set(),
        ),
    ],
)
def test_what_flags_and_drivers_make_of_a_module(
    options: str, rules: DriverRules, exports: set[str], imports: set[str], hidden: set[str]
) -> None:
    assert names(module(options, rules)) == (exports, imports, hidden)


def test_static_variables_are_seen_but_not_offered() -> None:
    assert {export.name for export in module().exports if export.is_internal} == {"state"}


def test_uses_name_the_function_that_needs_them() -> None:
    result = module(f"{LIBRARY} {GLOBALS}")
    assert result.kernels == ("work",)
    assert [(use.symbol, use.holder, use.segment is None, use.offset) for use in result.uses] == [
        ("foreign", "work", False, None),
        ("foreign2", "offered", False, None),
        ("outer", "%54", True, None),
    ]


def test_kinds_and_types_of_imports() -> None:
    result = {symbol.name: (symbol.kind, symbol.type_name, symbol.size) for symbol in module(GLOBALS).imports}
    assert result == {"foreign": (SymbolKind.FUNCTION, "int(int)", None), "outer": (SymbolKind.VARIABLE, "int", 4)}


def test_a_module_is_walked_over_once(monkeypatch: pytest.MonkeyPatch) -> None:
    walks = []

    def counted(*what: Any) -> list[list[int]]:
        walks.append(what)
        return words.walk(*what)

    monkeypatch.setattr(spirv_module, "walk", counted)
    monkeypatch.setattr(uses, "walk", counted)
    program = spirv_program("it", spirv(), Context())
    assert module_of(program).uses
    assert program.symbols
    assert len(walks) == 1


def test_uses_are_the_same_at_known_places() -> None:
    result = read_spirv_uses(spirv())
    assert [len(result.in_functions), len(result.variables), len(result.taken)].count(0) == 0
    assert read_spirv_uses(spirv(), spirv_module.read_spirv(spirv()).use_words) == result


def test_words_that_do_not_fit() -> None:
    content = bytes(spirv())
    with pytest.raises(FormatError, match="0 words"):
        read_spirv_uses(memoryview(content[:20] + b"\0\0\0\0" + content[24:]))


def test_a_constant_that_everything_names_ends() -> None:
    """Many functions that name one huge table must not take the product of both."""
    writer = SpirvWriter(bound=1 << 20)
    writer.add(44, POINTER, 60, *range(1000, 31000))
    for function in range(100_000, 103_000):
        writer.add(54, VOID, function, 0, TYPE).add(62, 60, 1).add(56)
    content = writer.build()
    result = read_spirv_uses(content)
    assert sum(map(len, result.in_functions.values())) < 4 * len(content) // 4


@pytest.mark.slow
def test_damaged_spirv_raises_only_errors_of_ours() -> None:
    chance = random.Random(3)
    good = bytes(spirv())
    for _ in range(2000):
        damaged = bytearray(good)
        for _ in range(chance.choice((1, 2, 6))):
            damaged[chance.randrange(len(damaged))] = chance.choice((0, 1, 0xFF, chance.randrange(256)))
        try:
            module_of(spirv_program("m", memoryview(bytes(damaged)), Context()), options=LIBRARY)
        except KernlensError:
            continue


def test_places_come_in_the_drivers_order() -> None:
    """By code segment; and what the driver takes out again leaves a gap that the last place fills."""

    def place(section: str, offset: int, symbol: str, type: int = 2) -> Relocation:
        return Relocation(section, offset, type, "R_SYM_ADDR_32", symbol, None)

    relocations = (
        place("second", 8, "f"),
        place("first", 4, "__INTEL_PER_THREAD_OFF"),
        place("first", 12, "f"),
        place("first", 16, "__INTEL_PATCH_CROSS_THREAD_OFFSET_OFF_R0"),
        place("first", 20, "", 4),
        place("second", 24, "g"),
    )
    symbols = tuple(
        Symbol(name, 0, 0, "global", "notype", None, -1, 0, kind)
        for name, kind in (("f", "import"), ("g", "import"), ("__INTEL_PER_THREAD_OFF", "driver"))
    )
    program = Program(
        "p",
        "patch-tokens",
        dict.fromkeys(("first", "second"), SimpleNamespace(resources=KernelResources(16, {"GRF": 128}))),  # type: ignore[arg-type]
        find_symbols=lambda: symbols,
        find_relocations=lambda: relocations,
    )
    result = module_of(program)
    assert [(use.symbol, use.segment, use.offset) for use in result.uses] == [("g", 1, 24), ("f", 0, 12), ("f", 1, 8)]
    assert result.driver_symbols == ("__INTEL_PER_THREAD_OFF",)
    assert result.frames == dict.fromkeys(("first", "second"), Frame(registers=128, simd=16))
    assert result.uses[0] == ImportUse("g", "second", 1, 24, "R_SYM_ADDR_32")


def test_raw_instructions_have_no_symbols() -> None:
    from kernlens.isa.devices import device

    with pytest.raises(UnsupportedError, match="contains no symbols"):
        module_of(raw_program("raw", memoryview(bytes(64)), device("dg2"), Context()))
