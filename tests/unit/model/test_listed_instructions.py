"""Instructions of decoders that give listings: the same nouns without packed records."""

from __future__ import annotations

import pytest

from kernlens.analysis.flow.distance_waits import distance_waits
from kernlens.analysis.flow.loops import loops_of
from kernlens.analysis.flow.register_peak import pressure_of
from kernlens.analysis.flow.token_waits import token_waits
from kernlens.model.device import Device
from kernlens.model.effects import Route
from kernlens.model.instruction_kind import FLOAT, OTHER, InstructionKind
from kernlens.model.intel_instructions import packed_of
from kernlens.model.listed_instructions import ListedInstructions

TEXTS = [
    "s_load_dword s0, s[4:5], 0x0",
    "v_add_f32 v0, v0, v1",
    "s_cbranch_scc1 L8",
    "s_swappc_b64 s[30:31], s[2:3]",
    "s_endpgm",
]
OFFSETS, SIZES = (0, 8, 12, 16, 20), (8, 4, 4, 4, 4)


def listed(conditional: tuple[int, ...] | None = (2,)) -> ListedInstructions:
    """A loop of the second and third instruction, a call of nobody knows what, and the end."""
    return ListedInstructions(
        OFFSETS,
        SIZES,
        lambda: [text.split()[0] for text in TEXTS],
        lambda: list(TEXTS),
        targets={2: (8, 8)},
        calls=(3,),
        stops=(4,),
        conditional=conditional,
        kinds=lambda: [InstructionKind(FLOAT if text.startswith("v_") else OTHER) for text in TEXTS],
        illegal=(3,),
        trailing=2,
        disassembler="LLVM 15.0.6",
    )


def test_columns_are_those_of_all_instructions() -> None:
    code = listed()
    assert (len(code), code.size, code.trailing, code.disassembler) == (5, 24, 2, "LLVM 15.0.6")
    assert list(code.offsets) == list(OFFSETS)
    assert list(code.sizes) == list(SIZES)
    assert code.opcodes[1] == "v_add_f32"
    assert (code.targets, code.branches, code.called, code.calls_by_address) == ((8,), {2: (8,)}, (), True)
    assert (code.stops, code.illegal, packed_of(code), code.effects) == ([4], [3], None, None)
    assert code.table["kind"] == [OTHER, FLOAT, OTHER, OTHER, OTHER]
    assert repr(code) == "<Instructions count=5 bytes=24>"


def test_each_instruction_has_the_shared_fields() -> None:
    branch, call = listed()[2], listed()[-2]
    assert (branch.index, branch.offset, branch.size, branch.opcode) == (2, 12, 4, "s_cbranch_scc1")
    assert (branch.text, branch.targets, branch.illegal, call.illegal) == (TEXTS[2], (8,), False, True)
    assert repr(branch) == "<Instruction 0x000c: s_cbranch_scc1 L8>"
    covering, behind = listed().at(14), listed().at(24)
    assert covering == branch
    assert behind is None
    with pytest.raises(IndexError, match="there are 5 instructions"):
        listed()[5]


def test_slices_keep_what_is_known_but_for_where_control_goes() -> None:
    part = listed()[1:4]
    assert list(part.offsets) == [8, 12, 16]
    assert [each.text for each in part] == TEXTS[1:4]
    assert (part.targets, part.stops, part.illegal, part.calls_by_address) == ((8,), [], [2], True)
    assert part.routes is None
    assert part.kinds[0].name == FLOAT


def test_routes_need_all_branches() -> None:
    assert listed().routes == {2: Route(True, (1,)), 3: Route(True, (), is_call=True), 4: Route(falls=False)}
    assert listed(None).routes is None
    jump = ListedInstructions((0, 4), (4, 4), ["s_branch"] * 2, ["", ""], targets={0: (0,), 1: (100,)}, conditional=())
    assert jump.routes == {0: Route(False, (0,)), 1: Route(False, ())}


def test_flow_says_what_the_routes_tell() -> None:
    loops = loops_of(listed())
    assert loops is not None
    assert loops.depths.tolist() == [0, 1, 1, 0, 0]
    assert loops_of(listed(None)) is None
    assert pressure_of(listed()) is None
    assert list(token_waits(listed())) == []
    assert list(distance_waits(listed())) == []


def test_columns_must_fit() -> None:
    with pytest.raises(ValueError, match="2 offsets do not go with 1 sizes"):
        ListedInstructions((0, 4), (4,), [], [])
    with pytest.raises(ValueError, match="overlap"):
        ListedInstructions((0, 4), (8, 4), [], [])
    with pytest.raises(ValueError, match="a column of 1 values does not go with 2 instructions"):
        _ = ListedInstructions((0, 4), (4, 4), ["a"], []).opcodes


def test_devices_of_other_vendors_have_no_numbers_of_intels() -> None:
    known = Device("gfx1030", "Radeon RX 6800", "AMD", "amdgcn", aliases=("navi21",))
    assert (str(known), known.ip, known.intel) == ("gfx1030", None, None)
    assert repr(known) == "<Device gfx1030: Radeon RX 6800>"
