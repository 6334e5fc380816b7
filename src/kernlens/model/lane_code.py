"""The code of a kernel as it concerns addresses: what each work-item computes, with all calls inlined, in basic blocks."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from kernlens.dataclass import NamedTuple, dataclass, field
from kernlens.model.source_map import SourcePlace

#: The names of steps. Arithmetic of integers; DIVIDE, REMAINDER and SHIFT_RIGHT are those of unsigned numbers.
ADD, SUBTRACT, MULTIPLY, NEGATE, DIVIDE, REMAINDER = "add", "subtract", "multiply", "negate", "divide", "remainder"
SHIFT_LEFT, SHIFT_RIGHT, AND, OR = "shift left", "shift right", "and", "or"
#: ``operands`` are factors and a summand; a number of other bits or another type for the same bits.
MULTIPLY_ADD, CONVERT = "multiply-add", "convert"
#: A comparison of two integers by their order, and the least, the greatest or the middle of the operands.
COMPARE, BOUND = "compare", "bound"
#: A choice by the first operand; the values that come from the blocks ``literals``.
SELECT, PHI = "select", "phi"
#: Vectors: of components; a component; those of two vectors; with another component. ``literals`` are the components' numbers,
#: of one component also how many the vector has.
CONSTRUCT, EXTRACT, SHUFFLE, INSERT = "construct", "extract", "shuffle", "insert"
#: The first operand and for each other one its multiple, in bytes, of ``literals``, whose first is added.
ADDRESS = "address"
#: A value that its operands alone decide; one that each work-item may have its own of.
PURE, OWN = "pure", "own"
#: A value that the launch decides; ``text`` names it.
LAUNCHED = "launched"
#: The accesses. The first operand is the address; ``literals`` are bytes, and the alignment.
LOAD, STORE, ATOMIC = "load", "store", "atomic"
#: Values of LAUNCHED that have a component for each dimension.
LOCAL_ID, GLOBAL_ID, GROUP_ID = "local id", "global id", "group id"
LOCAL_SIZE, GLOBAL_SIZE, GLOBAL_OFFSET, GROUPS = "local size", "global size", "global offset", "groups"
#: The number of a work-item in its work-group or sub-group.
LANE = "lane"


class Step(NamedTuple):
    """A step: what its ``name`` says of the values with the numbers ``operands``. ``result`` is the number of the value that
    it yields, -1 for none; ``bits`` are those of an integer, 0 for other types. ``space`` is that of an access."""

    name: str
    result: int
    operands: tuple[int, ...] = ()
    literals: tuple[int, ...] = ()
    bits: int = 0
    place: SourcePlace | None = None
    calls: tuple[SourcePlace, ...] = ()
    space: str = ""
    text: str = ""


@dataclass()
class LaneBlock:
    """Steps without a branch between them. Where there are several ``successors``, the value ``condition`` chooses, -1: a value
    that is not known. A successor is the number of a block."""

    steps: list[Step] = field(default_factory=list)
    successors: list[int] = field(default_factory=list)
    condition: int = -1


@dataclass(frozen=True)
class LaneCode:
    """The blocks of a kernel, of which the first is its entry. ``numbers`` are the values of integer constants, ``vectors`` the
    components of constant vectors, ``names`` those of values that all work-items of a launch share: arguments and the addresses
    of variables. ``missing`` says what is not in the blocks, "" if they are whole."""

    blocks: Sequence[LaneBlock]
    numbers: Mapping[int, int]
    vectors: Mapping[int, tuple[int, ...]]
    names: Mapping[int, str]
    #: The number of components of the arguments that are vectors.
    components: Mapping[int, int]
    missing: str = ""
