"""The parts of an instruction that say what it reads, writes and waits for: operands, predicates, software scoreboard.

Numbers are those of libiga64's enumerations (``iga_types_ext.hpp``, ``iga_types_swsb.hpp``); names are the assembly's.
"""

from __future__ import annotations

from functools import lru_cache

from kernlens.dataclass import dataclass
from kernlens.model.instruction_record import RECORD_SIZE, SWSB_AT, OperandRecord

_NONE, _DIRECT, _MACRO, _INDIRECT, IMMEDIATE, _LABEL = range(6)

# iga::RegName
_FILES = (
    "", "null", "a", "acc", "mme", "f", "ce", "msg", "sp", "s", "sr", "cr", "n", "ip", "tdr", "tm", "fc", "dbg", "r",
)  # fmt: skip
_UNNUMBERED = frozenset({"null", "ip", "ce", "sp", "tdr"})

# iga::Type
_TYPES = (
    "", "u1", "u2", "u4", "s2", "s4", "ub", "b", "uw", "w", "ud", "d", "uq", "q",
    "hf", "qf", "bf", "hf8", "bf8", "tf32", "f", "df", "nf", "v", "uv", "vf", "e2m1",
)  # fmt: skip

_TYPE_BITS = (32, 1, 2, 4, 2, 4, 8, 8, 16, 16, 32, 32, 64, 64, 16, 8, 16, 8, 8, 32, 32, 64, 64, 32, 32, 32, 4)

#: Numbers of the types that are floating-point.
FLOAT_TYPES = frozenset(map(_TYPES.index, ("hf", "qf", "bf", "hf8", "bf8", "tf32", "f", "df", "nf", "vf", "e2m1")))

# iga::PredCtrl
_PREDICATES = (
    "", "", "anyv", "allv", "any2h", "all2h", "any4h", "all4h", "any8h", "all8h", "any16h", "all16h", "any32h",
    "all32h", "any", "all",
)  # fmt: skip

# iga::FlagModifier
_CONDITIONS = {1: "eq", 2: "ne", 3: "gt", 4: "ge", 5: "lt", 6: "le", 8: "ov", 9: "un", 0xFF: "eo"}

_NO_FLAG = 0xFF

# iga::SWSB::DistType and TokenType, as the assembly marks them: F@2, $3.dst
_PIPES = ("", "", "A", "F", "I", "L", "M", "S")
_TOKENS = ("", "set", "src", "dst", "inc")


def _name(names: tuple[str, ...], number: int) -> str:
    return names[number] if number < len(names) else f"?{number}"


def type_number(name: str) -> int:
    """Return the number of the type that the assembly calls so. Raises ValueError if there is none."""
    return _TYPES.index(name)


def type_name(number: int) -> str:
    """Return what the assembly calls the type with this number; empty for none."""
    return _name(_TYPES, number)


def type_bits(number: int) -> int:
    """Return the size of an element of the type with this number; of an unknown one, that of most."""
    return _TYPE_BITS[number if number < len(_TYPE_BITS) else 0]


@dataclass(frozen=True, slots=True)
class Operand:
    """A destination or a source.

    ``kind`` is ``register``, ``indirect`` (``file``, ``number`` and ``subregister`` name the address register),
    ``immediate`` (``value`` holds its bits, not interpreted) or ``label`` (see ``Instruction.targets``). ``file`` is
    ``r`` for general registers, else the architecture register's name; ``type`` is the assembly's (``f``, ``ud``).
    ``subregister`` counts in units of the type.
    """

    kind: str
    file: str = ""
    number: int = 0
    subregister: int = 0
    type: str = ""
    value: int | None = None

    def __str__(self) -> str:
        suffix = f":{self.type}" if self.type else ""
        if self.kind == "label":
            return "label"
        if self.value is not None:
            return f"{self.value:#x}{suffix}"
        if self.file in _UNNUMBERED:
            return f"{self.file}{suffix}"
        register = f"{self.file}{self.number}.{self.subregister}"
        return f"r[{register}]{suffix}" if self.kind == "indirect" else f"{register}{suffix}"


def operand_of(record: OperandRecord, immediate: int) -> Operand | None:
    """Return the operand of a record, None if there is none. ``immediate`` is the instruction's.

    An instruction's record has room for one whole immediate, the last; an earlier one (ternary instructions, 16 bits) is
    in its ``number``.
    """
    return _operand_of(record, immediate if record.kind == IMMEDIATE else 0)


# Most instructions have operands that others have too: to make one takes longer than to find it.
@lru_cache(maxsize=1 << 14)
def _operand_of(record: OperandRecord, immediate: int) -> Operand | None:
    kind = record.kind
    if kind in (_DIRECT, _MACRO, _INDIRECT):
        name = "indirect" if kind == _INDIRECT else "register"
        return Operand(name, _name(_FILES, record.file), record.number, record.subregister, _name(_TYPES, record.type))
    if kind == IMMEDIATE:
        value = immediate if immediate & 0xFFFF == record.number else record.number
        return Operand("immediate", type=_name(_TYPES, record.type), value=value)
    return Operand("label") if kind == _LABEL else None


def _flag(register: int) -> str | None:
    return None if register == _NO_FLAG else f"f{register >> 4}.{register & 0xF}"


@dataclass(frozen=True, slots=True)
class Predicate:
    """The channels that run: those whose bit in ``flag`` is set (clear if ``inverted``), combined by ``function``
    (``any16h``, ``all``; empty: each channel by itself)."""

    flag: str
    inverted: bool = False
    function: str = ""

    @classmethod
    def read(cls, number: int, register: int, inverted: bool) -> Predicate | None:
        """Return the predicate of a record's fields; None if the instruction has none."""
        flag = _flag(register)
        return cls(flag, inverted, _name(_PREDICATES, number)) if number and flag else None

    def __str__(self) -> str:
        return f"({'~' if self.inverted else ''}{self.flag}{'.' + self.function if self.function else ''})"


@dataclass(frozen=True, slots=True)
class Condition:
    """The write of an instruction to a flag register: the outcome of ``test`` (``eq``, ``lt``, ``ov``...)."""

    test: str
    flag: str | None

    @classmethod
    def read(cls, number: int, register: int) -> Condition | None:
        """Return the condition modifier of a record's fields; None if the instruction has none."""
        return cls(_CONDITIONS.get(number, f"?{number}"), _flag(register)) if number else None


@dataclass(frozen=True, slots=True)
class Swsb:
    """Software scoreboard (Xe and later).

    ``distance`` (0: none) counts back to the instruction of ``pipe`` that must be done: ``F`` float, ``I`` integer,
    ``L`` long, ``M`` math, ``S`` scalar, ``A`` each of them, empty: those of the types that the instruction reads (Xe-LP has
    one pipe, and names none); ``Instructions.pipes`` says who is in which. ``token`` is a scoreboard entry, or None;
    ``token_use`` says whether the instruction takes it (``set``) or waits until its reads (``src``) or writes (``dst``)
    are done.
    """

    distance: int
    pipe: str
    token: int | None
    token_use: str
    no_accumulator_set: bool = False

    @classmethod
    @lru_cache(4096)
    def unpack(cls, packed: int) -> Swsb | None:
        """Unpack the decoder's word: distance type 4 bits, distance 8, token type 4, token 8, special 8.

        Returns None for 0.
        """
        if packed == 0:
            return None
        use = _name(_TOKENS, packed >> 12 & 0xF)
        distance_type = packed & 0xF
        return cls(
            distance=packed >> 4 & 0xFF if distance_type else 0,
            pipe=_name(_PIPES, distance_type),
            token=packed >> 16 & 0xFF if use else None,
            token_use=use,
            no_accumulator_set=bool(packed >> 24),
        )

    @classmethod
    def of_records(cls, records: memoryview) -> list[Swsb | None]:
        """Return the scoreboard of each of packed records."""
        words = records.cast("I")[SWSB_AT // 4 :: RECORD_SIZE // 4].tolist()
        known = {word: cls.unpack(word) for word in set(words)}
        return [known[word] for word in words]

    def __str__(self) -> str:
        parts = [f"{self.pipe}@{self.distance}"] if self.distance else []
        if self.token is not None:
            parts.append(f"${self.token}" + ("" if self.token_use == "set" else f".{self.token_use}"))
        if self.no_accumulator_set:
            parts.append("NoAccSBSet")
        return ",".join(parts)
