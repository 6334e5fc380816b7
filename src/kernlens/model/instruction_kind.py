"""The kind of an instruction in the instruction mix, and what a message does to memory."""

from __future__ import annotations

from kernlens.dataclass import dataclass

#: The memories that messages read and write. ``image`` is what samplers and typed messages access, ``scratch`` a hardware
#: thread's own memory, where the code tells it from global memory.
GLOBAL, SLM, SCRATCH, IMAGE = SPACES = ("global", "slm", "scratch", "image")

#: What a message does to a memory; an atomic both reads and writes, and a prefetch brings what a later load will read into a
#: cache: nothing comes to a register.
LOAD, STORE, ATOMIC, PREFETCH = ACTIONS = ("load", "store", "atomic", "prefetch")

#: The kinds of instructions that access none of these memories.
FLOAT, INTEGER, MATH, SYSTOLIC, MOVE, CONTROL, SYNCHRONISATION, OTHER = OTHER_KINDS = (
    "float", "integer", "math", "systolic", "move", "control", "synchronisation", "other",
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class Access:
    """The effect of a message, as its descriptor says.

    ``operation`` is as exact as the descriptor is (``load_quad``, ``atomic_iadd``, ``fence``, ``barrier``); ``action`` is
    one of ACTIONS, empty where no memory is accessed. Each of ``lanes`` accesses ``elements`` elements of
    ``element_bytes`` bytes in memory (not in registers); a block is accessed by one lane. ``surface`` is how memory is
    addressed (``flat``, ``stateless``, ``slm``, ``ss``, ``bti[3]``).

    ``size`` is how many bytes the message accesses at most, when all its lanes run; None where the descriptor is
    computed at run time. ``is_spill``: it saves a value that did not fit into the registers, or brings one back.
    """

    operation: str
    action: str = ""
    element_bytes: int = 0
    elements: int = 1
    lanes: int = 1
    surface: str = ""
    size: int | None = 0
    is_spill: bool = False


@dataclass(frozen=True, slots=True)
class InstructionKind:
    """The kind of an instruction: ``name`` is one of SPACES, for messages that access that memory, or of OTHER_KINDS.
    ``access`` is a message's, None for other instructions. ``copied_to`` is what an instruction writes that copies from one
    memory to another, whose ``access`` reads."""

    name: str
    access: Access | None = None
    copied_to: InstructionKind | None = None
