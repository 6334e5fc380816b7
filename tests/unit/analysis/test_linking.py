"""Predicted links on modules that are written out here."""

from __future__ import annotations

import dataclasses

import pytest

from kernlens.analysis.linking.driver_rules import (
    GENERATIONS,
    LINK_FAILURE,
    RELEASE_22_43,
    RELEASE_26_27,
    nearest,
    rules_of,
)
from kernlens.analysis.linking.graph import Duplicate, Mismatch
from kernlens.analysis.linking.prediction import notes, obstacles, predict
from kernlens.analysis.linking.static_forecast import predict_static
from kernlens.analysis.linking.unresolved_reasons import reasons
from kernlens.errors import NotFoundError
from kernlens.isa.devices import device
from kernlens.model.module import EXPORT_FUNCTIONS, Frame, ImportUse, Module, ModuleSymbol, ReferenceGraph, SymbolKind
from kernlens.report.link.symbol_tables import flag_state
from tests.limits import processor_time


def module(
    name: str,
    exports: str = "",
    imports: str = "",
    types: dict[str, str] | None = None,
    hidden: str = "",
    data_imports: str = "",
    kind: SymbolKind = SymbolKind.FUNCTION,
    **fields: object,
) -> Module:
    def symbols(names: str) -> tuple[ModuleSymbol, ...]:
        return tuple(ModuleSymbol(name, kind, (types or {}).get(name)) for name in names.split())

    uses = [ImportUse(row, "k", 0, 16 * i, "R_ZE_SYM_ADDR_32") for i, row in enumerate(imports.split())]
    uses += [ImportUse(entry, ".data.global", None, 0, "R_ZE_SYM_ADDR") for entry in data_imports.split()]
    result = Module(
        name,
        "zebin",
        symbols(exports),
        symbols(f"{imports} {data_imports}"),
        tuple(uses),
        ("k",),
        hidden=symbols(hidden),
    )
    return dataclasses.replace(result, **fields)  # type: ignore[arg-type]


def providers(*modules: Module) -> list[tuple[int, str, int | None]]:
    return [
        (resolution.module, resolution.use.symbol, resolution.provider) for resolution in predict(modules).resolutions
    ]


def test_an_import_goes_to_the_module_that_exports_it_whatever_the_order() -> None:
    importer, exporter = module("a", imports="f"), module("b", exports="f")
    assert providers(importer, exporter) == [(0, "f", 1)]
    assert providers(exporter, importer) == [(1, "f", 0)]


def test_of_two_exporters_the_first_wins_and_both_are_named() -> None:
    forecast = predict([module("a", imports="f"), module("b", exports="f"), module("c", exports="f")])
    assert forecast.links
    assert forecast.resolutions[0].provider == 1
    assert forecast.duplicates == (Duplicate("f", (1, 2)),)


def test_a_missing_symbol_stops_the_call_and_later_modules_stay_unlinked() -> None:
    forecast = predict(
        [module("a", exports="f"), module("b", imports="f"), module("c", imports="missing"), module("d", imports="f")]
    )
    assert not forecast.links
    assert forecast.code == LINK_FAILURE
    assert forecast.linked == {0, 1}
    assert [use.use.symbol for use in forecast.unresolved] == ["missing"]
    assert 3 not in {resolution.module for resolution in forecast.resolutions}


def test_the_log_has_a_line_per_place_and_ends_with_the_failing_module() -> None:
    forecast = predict([module("a", exports="f"), module("b", imports="f gone f"), module("c", imports="f")])
    linked = " Successfully Resolved Thru Dynamic Link to Module <a>"
    assert list(forecast.log()) == [
        f"Module <b>:  Unresolved Symbol <f>{linked}",
        "Module <b>:  Unresolved Symbol <gone>",
        f"Module <b>:  Unresolved Symbol <f>{linked}",
    ]


def test_modules_that_were_linked_before_and_the_same_module_again_add_no_line() -> None:
    importer, exporter = module("a", imports="f"), module("b", exports="f")
    assert len(list(predict([importer, exporter, importer]).log())) == 1
    assert list(predict([importer, exporter], linked_before=[0]).log()) == []
    # Linked before, it needs nobody any more.
    assert predict([importer], linked_before=[0]).links


def test_callers_and_functions_for_other_registers_or_simd_widths() -> None:
    caller = dataclasses.replace(module("a", imports="f g"), frames={"k": Frame(128, 32)})
    for frame, clashing in ((Frame(128, 32), 0), (Frame(256, 32), 2), (Frame(128, 16), 2), (Frame(None, None), 0)):
        forecast = predict([caller, dataclasses.replace(module("b", exports="f g"), function_frame=frame)])
        assert forecast.links
        assert [(clash.symbol, clash.holder, clash.callee_frame) for clash in forecast.clashes] == [
            (symbol, "k", frame) for symbol in "fg"[:clashing]
        ]
    variable = dataclasses.replace(module("b", "f g", kind=SymbolKind.VARIABLE), function_frame=Frame(256, 16))
    assert predict([caller, variable]).clashes == ()


def test_the_older_compilers_crash_on_work_items_in_libraries() -> None:
    library = dataclasses.replace(module("a.spv", "f", format="spirv"), work_item_exports=("f",))
    skl, dg2 = device("skl"), device("dg2")
    (sentence,) = obstacles([library], RELEASE_22_43, skl)
    assert "crashes when it builds a.spv with -library-compilation" in sentence
    assert notes([library], RELEASE_22_43, skl) == ()
    assert obstacles([library], RELEASE_22_43, dg2) == obstacles([library], RELEASE_26_27, skl) == ()
    # Without a device it is said, and does not decide.
    assert (obstacles([library], RELEASE_22_43), notes([library], RELEASE_22_43)) == ((), (sentence,))
    # Another module says for which device they are.
    assert obstacles([library, dataclasses.replace(module("b"), device=skl)], RELEASE_22_43) == (sentence,)


def test_a_cycle_links_and_is_named() -> None:
    forecast = predict([module("a", "f", "g"), module("b", "g", "h"), module("c", "h", "f"), module("d", "", "f")])
    assert forecast.links
    assert forecast.cycles == ((0, 1, 2),)


def test_disagreeing_types_are_found_though_the_driver_does_not_check() -> None:
    forecast = predict(
        [module("a", imports="f", types={"f": "int(int)"}), module("b", "f", types={"f": "float(float)"})]
    )
    assert forecast.links
    assert forecast.mismatches == (Mismatch("f", 0, 1, "int(int)", "float(float)"),)


def test_a_function_where_a_variable_is_wanted_is_a_mismatch() -> None:
    forecast = predict([module("a", imports="f", kind=SymbolKind.VARIABLE), module("b", "f")])
    assert [(mismatch.declared, mismatch.defined) for mismatch in forecast.mismatches] == [("variable", "function")]


def test_what_the_compiler_adds_to_every_module_is_no_duplicate() -> None:
    internal = ModuleSymbol("__MadEnable", SymbolKind.VARIABLE, is_internal=True)
    modules = [dataclasses.replace(module(name), exports=(internal,)) for name in "ab"]
    assert predict(modules).duplicates == ()


def test_an_address_in_an_initialiser_is_lost_by_the_older_driver_and_kills_the_newer() -> None:
    modules = [module("a", data_imports="v"), module("b", "v")]
    older, newer = predict(modules, RELEASE_22_43), predict(modules, RELEASE_26_27)
    assert older.links
    assert older.resolutions == ()
    assert newer.code is None
    assert newer.crash is not None
    assert "v, which b exports" in newer.crash
    assert predict(modules[:1], RELEASE_26_27).code == LINK_FAILURE


def test_a_failure_before_it_keeps_the_newer_driver_from_crashing() -> None:
    modules = [module("x", imports="gone"), module("a", data_imports="v"), module("b", "v")]
    assert predict(modules, RELEASE_26_27).code == LINK_FAILURE


def test_without_code_to_fill_in_a_data_import_cannot_be_linked() -> None:
    modules = [module("a", data_imports="v", patches_code=False), module("b", "v")]
    forecast = predict(modules, RELEASE_26_27)
    assert (forecast.code, list(forecast.log())) == (LINK_FAILURE, [])


@pytest.mark.parametrize(
    ("options", "rules", "words"),
    [
        ("", RELEASE_26_27, "Dynamic Link Not Supported Without Compiler flag -library-compilation"),
        ("-library-compilation", RELEASE_26_27, ""),
        ("-ze-library-compilation", RELEASE_26_27, ""),
        ("", RELEASE_22_43, ""),
    ],
)
def test_the_newer_driver_blames_the_flag_if_nobody_has_it(options: str, rules: object, words: str) -> None:
    modules = [module("a.spv", imports="f", format="spirv", options=options)]
    assert predict(modules, rules).words == words  # type: ignore[arg-type]


def test_a_symbol_hidden_by_a_missing_flag_is_named_with_the_flag() -> None:
    forecast = predict([module("k.spv", imports="f"), module("a.spv", hidden="f", options="-O2")])
    (reason,) = reasons(forecast)
    assert (reason.symbol, reason.module, reason.uses[0].holder, reason.uses[0].offset) == ("f", 0, "k", 0)
    assert reason.advice == ("a.spv defines it but was compiled without -library-compilation: compile a.spv with it")


def test_spirv_wants_the_flags_of_all_that_it_hides_where_it_is_built() -> None:
    library = module("a.spv", hidden="f", options="", format="spirv")
    (reason,) = reasons(predict([module("k.spv", imports="f"), library]))
    words = "a.spv defines it, and is built without -library-compilation here: add --build-options "
    assert reason.advice == words + "'-library-compilation'"
    variable = ModuleSymbol("v", SymbolKind.VARIABLE, None)
    library = dataclasses.replace(library, hidden=(*library.hidden, variable))
    (reason,) = reasons(predict([module("k.spv", imports="f"), library]))
    assert reason.advice == words + "'-library-compilation -ze-take-global-address'"
    assert flag_state(library, EXPORT_FUNCTIONS, [SymbolKind.FUNCTION]) == "not in --build-options: hides f"
    assert (
        flag_state(dataclasses.replace(library, format="zebin"), EXPORT_FUNCTIONS, [SymbolKind.FUNCTION])
        == "missing: hides f"
    )


def test_a_hidden_variable_wants_the_other_flag() -> None:
    modules = [module("k", imports="v"), module("a", hidden="v", kind=SymbolKind.VARIABLE, options="")]
    assert "without -ze-take-global-address" in reasons(predict(modules))[0].advice


@pytest.mark.parametrize(
    ("others", "advice"),
    [
        ([module("b", exports="scale_fast")], "the nearest exported name is scale_fast of b"),
        ([module("b", kernels=("scale_fat",))], "b has a kernel of this name"),
        ([module("b", exports="zzz")], "no module here defines it: add the one that does"),
    ],
)
def test_advice_for_a_name_that_nobody_has(others: list[Module], advice: str) -> None:
    (reason,) = reasons(predict([module("a", imports="scale_fat"), *others]))
    assert advice in reason.advice


def test_a_static_link_needs_no_flags_and_takes_no_duplicates() -> None:
    modules = [module("a", imports="f", types={"f": "int(int)"}), module("b", hidden="f", types={"f": "int(int)"})]
    assert predict_static(modules).links
    twice = predict_static([*modules, module("c", "f")])
    assert not twice.links
    assert twice.log == "error: Linking globals named 'f': symbol multiply defined!"
    assert predict_static(modules[:1]).unresolved == ("f",)


def test_a_static_link_of_disagreeing_types_is_open() -> None:
    modules = [module("a", imports="f", types={"f": "int(int)"}), module("b", "f", types={"f": "float(float)"})]
    forecast = predict_static(modules)
    assert forecast.code is None
    assert not forecast.links
    assert [mismatch.symbol for mismatch in forecast.mismatches] == ["f"]


def test_functions_that_the_compiler_has_itself() -> None:
    """Names that drivers linked without a module that defines them, and names close by that they did not."""
    older, newer = RELEASE_22_43.compiler_functions, RELEASE_26_27.compiler_functions
    for name in (
        "__builtin_IB_frnd_ne",
        "__igcbuiltin_dp_add",
        "printf",
        "_Z36intel_sub_group_i8_i8_matrix_mad_k32Dv8_iS_S_",
        "_Z38intel_sub_group_f16_f16_matrix_mad_k16Dv8_sDv8_iDv8_f",
        "_Z15intel_get_eu_idv",
        "_Z9intel_bfijjjj",
    ):
        assert name in older, name
        assert name in newer, name
    for name in (
        "_Z45intel_sub_group_2d_block_prefetch_16b_8r16x1cPU3AS1viiiDv2_i",
        "_Z10intel_lfsrjj",
        "_Z17clock_read_devicev",
        "__devicelib_assert_fail",
        "__devicelib_exit",
        "__devicelib_default_work_group_joint_sort_ascending_p1u8_u32_p1i8",
    ):
        assert name not in older, name
        assert name in newer, name
    for name in (
        "_Z24intel_sub_group_nonexisti",
        "intel_get_eu_id",
        "intel_convert_bfloat16_as_ushort",
        "_Z16intel_atomic_addPU3AS1Vff",
        "_Z20intel_work_group_anyi",
        "__devicelib_default_nonsense",
        "__devicelib_sinf",
        "__itt_offload_wi_start_stub",
        "printf_twice",
        "helper",
    ):
        assert name not in older, name
        assert name not in newer, name


def graph_module(name: str, bodies: dict[int, tuple[int, ...]], **fields: object) -> Module:
    """A SPIR-V module of functions; 1 is its kernel if there is one."""
    graph = ReferenceGraph(
        bodies=bodies, initialisers={}, functions={}, variables={}, imported={}, entry_points=(), taken=()
    )
    graph = dataclasses.replace(graph, **fields)  # type: ignore[arg-type]
    exports = " ".join(graph.functions)
    return module(name, exports, format="spirv", graph=graph, options="")


def test_a_static_link_looks_into_functions_that_are_not_exported() -> None:
    kernels = graph_module("k", {1: (2,)}, imported={2: "f"}, entry_points=(1,))
    library = graph_module("a", {1: (2,), 2: (3,), 4: (5,)}, functions={"f": 1, "g": 4}, imported={3: "x", 5: "y"})
    assert predict_static([kernels, library]).unresolved == ("x",)
    # What nothing reaches is dropped, unless a flag, be it that of another module, exports it.
    assert predict_static([library]).unresolved == ()
    flagged = dataclasses.replace(kernels, options="-library-compilation")
    assert set(predict_static([flagged, library]).unresolved) == {"x", "y"}


def test_initialisers_count_where_the_driver_reads_them() -> None:
    user = graph_module("k", {1: (2,)}, initialisers={2: (3,)}, imported={3: "v"}, entry_points=(1,))
    assert predict_static([user], RELEASE_26_27).unresolved == ("v",)
    assert predict_static([user], RELEASE_22_43).unresolved == ()


def test_pointers_to_other_types_do_not_keep_a_static_link_back() -> None:
    def typed(type_name: str, call_type: str) -> tuple[ModuleSymbol, ...]:
        return (ModuleSymbol("f", SymbolKind.FUNCTION, type_name, call_type=call_type),)

    joined_table = dataclasses.replace(module("a", imports="f"), imports=typed("int(global char*)", "int(global*)"))
    exporter = dataclasses.replace(module("b", exports="f"), exports=typed("int(global int*)", "int(global*)"))
    forecast = predict_static([joined_table, exporter])
    assert forecast.links
    assert forecast.mismatches == ()
    # They are still named.
    assert [mismatch.same_call for mismatch in predict([joined_table, exporter]).mismatches] == [True]
    other = dataclasses.replace(exporter, exports=typed("int(local int*)", "int(local*)"))
    assert predict_static([joined_table, other]).code is None


def test_a_release_between_the_measured_ones_behaves_like_the_nearer() -> None:
    assert rules_of("22.43.24595") is RELEASE_22_43
    assert nearest((23, 17)) is RELEASE_22_43
    assert rules_of("25.18") is RELEASE_26_27
    assert [rules_of(generation.name) for generation in GENERATIONS] == list(GENERATIONS)
    with pytest.raises(NotFoundError, match=r"22\.43, 26\.27"):
        rules_of("newest")


def test_a_chain_of_thousands_of_modules_needs_no_recursion() -> None:
    count = 5000
    chain = [module(f"m{i}", f"f{i}", f"f{(i + 1) % count}") for i in range(count)]
    assert predict(chain).cycles == (tuple(range(count)),)


def test_a_name_of_a_hundred_thousand_characters_costs_nothing() -> None:
    name = "f" * 100_000
    with processor_time():
        (reason,) = reasons(predict([module("a", imports=name), module("b", exports=name[:-1])]))
    assert reason.symbol == name
