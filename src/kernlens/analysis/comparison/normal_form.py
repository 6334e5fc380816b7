"""Instructions without what the compiler chose freely: registers' names, addresses, and how it waits for results.

A compiler that compiles one line otherwise allocates the registers of all others anew. So an instruction is taken apart
into its *form*, which is its text without these names, and its *operands*: for each register that it reads, which earlier
instruction wrote it. Two kernels whose forms and operands are equal one by one do the same, and differ in names at most.

The texts are those of libiga64, as ``iga64 -d`` prints them.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Sequence
from functools import cached_property
from operator import getitem

from kernlens.analysis.comparison.renaming import is_renaming
from kernlens.dataclass import NamedTuple, dataclass
from kernlens.model.device import Device, IpVersion
from kernlens.model.instruction import Instructions

#: A general register, or an accumulator, which the compiler uses as one where it can; what is between them, with their
#: regions and types, is alike in many instructions.
#: That a name begins there is asked behind its first letter, which is looked for twice as fast so.
_REGISTER = re.compile(r"(r(?<!\wr)\d+(?:\.\d+)?|acc(?<!\wacc)\d+(?:\.\d+)?)(?![\d.])")
#: What follows a general register: its stride and its type.
_REGION = re.compile(r"(?:<(\d+)(?!\d)[^>]*>)?(?::([a-z]\w*))?")
_OTHER_NAMES = re.compile(r"([faL])(?<!\w.)(?:(?<=L)\d+\b|(?<=[fa])\d+\.\d+)")
#: In front of the first register, which is the destination then: the channels, a condition, saturation.
_CHANNELS = re.compile(r"\((\d+)\|M\d+\)\s*(?:\([a-z]+\)f\s+)?(?:\(sat\))?$")
_PREDICATE = re.compile(r"\((?:W&)?~?f")
_LABEL = re.compile(r"\bL(\d+)\b")
_REPLY = re.compile(r"\brd:(\d+)")
_SYSTOLIC = re.compile(r"\bdpasw?\.\d+x(\d+)")
_TYPE_SIZES = {
    **dict.fromkeys(("ub", "b", "hf8", "bf8", "qf"), 1),
    **dict.fromkeys(("uw", "w", "hf", "bf"), 2),
    **dict.fromkeys(("uq", "q", "df"), 8),
}
_USUAL_SIZE = 4
_CALL_BYTES = 8
#: Bytes that are told apart when a register is written in parts.
_CELL = 2
#: Registers that any thread has, and more; accumulators follow them.
_REGISTERS = 512
_ACCUMULATORS = 16
#: A copy of bits. The compiler chooses the type by the pipe that is free.
_COPY = re.compile(r"((?:\(W\) )?mov \(\d+\|M\d+\) r<\d+>):(\w+) (r<[\d;,]+>):\2")
#: A constant that goes nowhere. Behind each kernel's end IGC 2 has four: a hash of its input, comments and paths included, and
#: the kernel's number.
_NOWHERE = re.compile(r"((?:\(W\) )?mov \(\d+\|M\d+\) null<1>:\w+) 0x[0-9A-F]+:\w+")
#: The operand of a math macro: some versions of libiga64 print a region behind it, of which there is only this one.
_MACRO_REGION = re.compile(r"(\.(?:no)?mme\d?)<1;1,0>")
#: Instructions that only wait: where the compiler puts them depends on the code of other lines too.
WAITING = frozenset({"sync", "nop", "wait"})

#: Where an operand comes from: the index of the instruction that wrote it, and how many cells behind the first that this
#: instruction wrote; or the cell itself if none did, since the hardware loads it.
Origin = tuple[int, int] | int


@dataclass(frozen=True, slots=True)
class Template:
    """The common parts of instructions that differ in the numbers of general registers only: their ``text`` without these,
    and the ``sizes`` of the registers' types. ``written`` are the cells that it writes from the first register on, none if
    it reads that one too; ``labels`` the offsets that it may go to. ``waits``: it does nothing else; ``is_conditional``: it
    has a predicate; ``is_message``: it reads whole registers."""

    text: str
    sizes: tuple[int, ...]
    written: tuple[range, ...]
    labels: tuple[int, ...]
    waits: bool
    is_conditional: bool
    is_message: bool


class Form(NamedTuple):
    """An instruction without names. ``cells`` are the first cells of its registers: of the one that it writes, if it writes
    any, and of those that it reads."""

    template: Template
    cells: tuple[int, ...]

    @property
    def first(self) -> int:
        """The first cell that it writes, -1 if none."""
        return self.cells[0] if self.template.written else -1

    @property
    def read(self) -> tuple[int, ...]:
        """The first cells of the registers that it reads."""
        return self.cells[1:] if self.template.written else self.cells


class Reader:
    """A maker of forms; what is alike is read once."""

    def __init__(self) -> None:
        self._forms: dict[int, _Forms] = {}

    def forms(self, instructions: Instructions, device: Device | None) -> list[Form]:
        """Return the form of each instruction."""
        width = register_bytes(device)
        if width not in self._forms:
            self._forms[width] = _Forms(width)
        return self._forms[width].of(instructions.texts)


class _Forms:
    """The forms of texts, for registers of ``width`` bytes. Most time of a comparison is spent here: all texts that are new
    are taken apart at once."""

    def __init__(self, width: int) -> None:
        self._width = width
        self._forms: dict[str, Form] = {}
        #: By the text between registers: the template, and where registers lie, for each of its registers.
        self._templates: dict[str, tuple[Template, tuple[_Places, ...]]] = {}
        self._places = {size: _Places(width, size) for size in {_USUAL_SIZE, *_TYPE_SIZES.values()}}

    def of(self, texts: Sequence[str]) -> list[Form]:
        """Return the form of each text."""
        if unread := list(set(texts).difference(self._forms)):
            self._read(unread)
        return list(map(self._forms.__getitem__, texts))

    def _read(self, texts: Sequence[str]) -> None:
        forms, templates = self._forms, self._templates
        parts = [text.partition("//") for text in texts]
        # Options in braces: those of the scoreboard depend on the code around.
        codes = [code.partition("{")[0].replace("\n", " ") for code, _, _ in parts]
        pieces = _REGISTER.split("\n".join(codes))
        registers = iter(pieces[1::2])
        for text, between, (_, _, remark) in zip(texts, "\0".join(pieces[::2]).split("\n"), parts, strict=True):
            key = f"{between}//{remark}" if remark else between
            known = templates.get(key)
            if known is None:
                known = templates[key] = self._template(between, remark)
            template, places = known
            # The first to end is ``places``: the registers behind them are those of the next text.
            forms[text] = Form(template, tuple(map(getitem, places, registers)))

    def _template(self, between: str, remark: str) -> tuple[Template, tuple[_Places, ...]]:
        # How much space is between two registers depends on their names.
        words = " ".join(between.split())
        words = _MACRO_REGION.sub(r"\1", words) if "mme" in words else words
        spaced = f"{words}//{remark}"
        if spaced not in self._templates:
            template = _template(words, remark, self._width)
            self._templates[spaced] = template, tuple(map(self._places.__getitem__, template.sizes))
        return self._templates[spaced]


class _Places(dict[str, int]):
    """The first cell of each register, by its name and the number of an element of ``size`` bytes: ``r12.3``."""

    def __init__(self, width: int, size: int) -> None:
        super().__init__()
        self._width, self._size = width, size

    def __missing__(self, name: str) -> int:
        register, _, part = name.partition(".")
        is_accumulator = register.startswith("acc")
        number = _REGISTERS + int(register[3:]) % _ACCUMULATORS if is_accumulator else int(register[1:]) % _REGISTERS
        self[name] = number * (self._width // _CELL) + int(part or 0) % self._width * self._size // _CELL
        return self[name]


def register_bytes(device: Device | None) -> int:
    """Return the size of a general register: 64 bytes from Xe-HPC (pvc) on, 32 before."""
    return 64 if device is not None and device.ip is not None and device.ip >= IpVersion(12, 60, 0) else 32


def _template(words: str, remark: str, width: int) -> Template:
    """Return the template of an instruction, between whose ``words`` zeros stand for registers."""
    code, between = words.replace("\0", "r"), words.split("\0")
    text = _OTHER_NAMES.sub(lambda name: name[1], words)
    channels = _CHANNELS.search(text.partition("\0")[0])
    text = text.replace("\0", "r")
    regions = [region for piece in between[1:] if (region := _REGION.match(piece))]
    sizes = tuple(_TYPE_SIZES.get(region[2] or "", _USUAL_SIZE) for region in regions)
    mnemonic = code.removeprefix("(W) ").split(" ", 1)[0].split(".", 1)[0]
    written: tuple[range, ...] = ()
    if regions and channels and mnemonic != "ret":
        written = _written(regions[0], sizes[0], int(channels[1]), code, remark, width)
    labels = tuple(int(label[1]) for label in _LABEL.finditer(code)) if "L" in code else ()
    if mnemonic == "mov":
        if copy := _COPY.fullmatch(text):
            text = f"{copy[1]} {copy[3]} of {8 * sizes[0]} bits"
        elif nowhere := _NOWHERE.fullmatch(text):
            text = nowhere[1]
    is_conditional, is_message = _PREDICATE.match(code) is not None, mnemonic.startswith("send")
    return Template(text, sizes, written, labels, mnemonic in WAITING, is_conditional, is_message)


def _written(region: re.Match[str], size: int, channels: int, code: str, remark: str, width: int) -> tuple[range, ...]:
    """Return the cells that an instruction writes, each channel an element of ``size`` bytes."""
    reply = _REPLY.search(remark)
    if reply:
        return (range(min(int(reply[1]), _REGISTERS) * width // _CELL or 1),)
    if region[2] is None:  # A call writes where it comes back to, and its mask.
        return (range((_CALL_BYTES if code.startswith("call") else width) // _CELL),)
    systolic = _SYSTOLIC.search(code)
    elements = channels * (int(systolic[1]) if systolic else 1)
    stride = max(int(region[1] or 1), 1) * size
    end = min(-(-(stride * (elements - 1) + size) // _CELL), _REGISTERS * width // _CELL)
    if stride <= max(size, _CELL):
        return (range(end),)
    return tuple(range(cell, end, stride // _CELL) for cell in range(-(-size // _CELL)))


class Code:
    """A kernel's instructions as ``forms``, with where their operands come from. ``isa`` is named where they are compared with
    those of another instruction set: then none is equal to any of those, whatever their texts."""

    def __init__(self, instructions: Instructions, device: Device | None, reader: Reader, isa: str = "") -> None:
        self.instructions = instructions
        self.forms = reader.forms(instructions, device)
        self._width = register_bytes(device)
        self.isa = isa

    def __len__(self) -> int:
        return len(self.forms)

    @cached_property
    def texts(self) -> list[str]:
        """The text of each form."""
        texts = [form.template.text for form in self.forms]
        return [f"{self.isa}: {text}" for text in texts] if self.isa else texts

    @cached_property
    def waits(self) -> list[bool]:
        """True for each instruction that only waits."""
        return [form.template.waits for form in self.forms]

    @cached_property
    def origins(self) -> list[tuple[Origin, ...]]:
        """The origins of the registers that each instruction reads: if control can take several ways, in the code's order."""
        return list(self.origins_of(range(len(self))).values())

    def origins_of(self, indexes: Collection[int]) -> dict[int, tuple[Origin, ...]]:
        """Return the same of these instructions only, in the code's order."""
        register = self._width // _CELL
        forms, writers = self.forms, self._writers()
        origins: dict[int, tuple[Origin, ...]] = {}
        for index, (template, cells) in enumerate(forms[: max(indexes, default=-1) + 1]):
            if index in indexes:
                operands: list[Origin] = []
                for cell in cells[1:] if template.written else cells:
                    writer = writers[cell]
                    if template.is_message:
                        # A message's header is written in part, and what nobody sets in it is left from another value.
                        writer = max(writers[cell : cell + register])
                    operands.append(cell if writer < 0 else (writer, cell - forms[writer].cells[0]))
                origins[index] = tuple(operands)
            for run in template.written:
                writers[cells[0] + run.start : cells[0] + run.stop : run.step] = [index] * len(run)
        return origins

    def _writers(self) -> list[int]:
        """Return for each cell that nobody wrote it. What an instruction writes ends within as many registers behind the last
        as there are."""
        return [-1] * (2 * (_REGISTERS + _ACCUMULATORS) * self._width // _CELL)

    @cached_property
    def _left(self) -> list[int]:
        """For each write that may leave what was there, as it is conditional: it, and who wrote that, at both ends."""
        writers, straight = self._writers(), self._straight
        left: list[int] = []
        for index, (template, cells) in enumerate(self.forms):
            if template.written and (template.is_conditional or index >= straight):
                left += [index, writers[cells[0]], writers[cells[0] + template.written[-1][-1]]]
            for run in template.written:
                writers[cells[0] + run.start : cells[0] + run.stop : run.step] = [index] * len(run)
        return left

    @property
    def _straight(self) -> int:
        """The number of instructions up to the first that control may skip or repeat."""
        ends = list(self._targets)[:1]
        targets = (target for of_one in self._targets.values() for target in of_one if target is not None)
        return min([*ends, *targets], default=len(self))

    @cached_property
    def _targets(self) -> dict[int, tuple[int | None, ...]]:
        """The instructions that each branch may go to, None for what is none."""
        branches = {index: form.template.labels for index, form in enumerate(self.forms) if form.template.labels}
        if not branches:
            return {}
        index_of = {offset: index for index, offset in enumerate(self.instructions.offsets)}
        index_of[self.instructions.size] = len(self)
        return {index: tuple(map(index_of.get, labels)) for index, labels in branches.items()}

    def is_same(self, other: Code) -> bool:
        """Return whether the instructions are the same one by one, names and addresses aside: each reads what the same
        ones wrote, on all ways through branches and loops.

        Where the decoder does not tell what instructions do to registers, these must be shared by the same values where
        control branches: an allocation that is another one throughout counts as a change.
        """
        if self.texts != other.texts or self._targets != other._targets:
            return False
        old, new = self.instructions.effects, other.instructions.effects
        if old is None or new is None:
            return self.origins == other.origins and self._left == other._left
        return is_renaming(old, new, self.instructions.texts)
