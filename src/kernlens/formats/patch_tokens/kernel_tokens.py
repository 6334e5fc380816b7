"""A kernel's resources and arguments, out of its patch tokens.

Source: ``patch_shared.h`` of intel-graphics-compiler, whose structures are named below, and how that compiler fills them:
``sp_g8.cpp`` (``CreatePatchList``, ``EncodeNumBarriers``), ``CodeGenPublic.h`` (``SProgramOutput``: what goes into a scratch
slot). Structures have grown over the versions, mostly at their end.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import replace
from functools import cache
from typing import TypeAlias

from kernlens.dataclass import NamedTuple
from kernlens.formats.patch_tokens import token_list
from kernlens.formats.patch_tokens.token_list import Token
from kernlens.model.kernel import KernelArgument
from kernlens.model.kernel_resources import KernelResources, general_registers

#: Returns a kernel's tokens with the given numbers.
TokensOf: TypeAlias = Callable[..., tuple[Token, ...]]

#: What the eight codes of SPatchExecutionEnvironment::HasBarriers mean (``EncodeNumBarriers``).
_BARRIER_COUNTS = (0, 1, 2, 4, 8, 16, 24, 32)

#: From this render core on (Xe-HP), code begins with a prologue that loads the payload.
FIRST_CORE_WITH_PROLOGUE = 0xC05


_RESOURCE_TOKENS = (
    token_list.LOCAL_SURFACE,
    token_list.SCRATCH_SLOT_0,
    token_list.SCRATCH_SLOT_1,
    token_list.EXECUTION_ENVIRONMENT,
    token_list.KERNEL_ATTRIBUTES,
    token_list.PRIVATE_MEMORY,
)


@cache
def _required_sub_group() -> re.Pattern[str]:
    return re.compile(r"\bintel_reqd_sub_group_size\((\d{1,4})\)")


class _ArgumentKind(NamedTuple):
    """Arguments with a token of their own: their address space, the fields of the token, and the one of them that is the
    size in bytes of the pointer in the payload. The first field is the argument's number."""

    address_space: str | None
    fields: int
    size_field: int | None = None


_ARGUMENT_KINDS = {
    11: _ArgumentKind("global", 5),  # SPatchGlobalMemoryObjectKernelArgument
    12: _ArgumentKind("global", 9),  # SPatchImageMemoryObjectKernelArgument
    16: _ArgumentKind(None, 8),  # SPatchSamplerKernelArgument
    30: _ArgumentKind("global", 7, 3),  # SPatchStatelessGlobalMemoryObjectKernelArgument
    31: _ArgumentKind("constant", 7, 3),  # SPatchStatelessConstantMemoryObjectKernelArgument
    46: _ArgumentKind(None, 7, 3),  # SPatchStatelessDeviceQueueKernelArgument
}
_ARGUMENT_TOKENS = (token_list.PAYLOAD_PARAMETER, token_list.ARGUMENT_DESCRIPTION, *_ARGUMENT_KINDS)

#: Values that are passed in the payload (``DATA_PARAMETER_TOKEN``).
_KERNEL_ARGUMENT, _LOCAL_MEMORY_SIZES = 1, 8


def resources_of(tokens_of: TokensOf, render_core: int) -> KernelResources:
    """Return a kernel's resources as far as its tokens tell.

    ``scratch_bytes`` is what the driver reserves per thread: scratch slots, which the compiler has rounded up to a power of
    two, and private memory outside of these. ``spill_bytes`` is 0 if there is no scratch slot and else None: spilled registers
    and private memory share it, and only the rounded sum is written. It is also None for kernels that call functions through a
    stack, whose frames may hold spilled registers: that is ``stack_bytes``. ``private_bytes`` is private memory outside of the
    slots, None if there is none and a slot that may hold it. ``prologue_bytes`` is 0 before Xe-HP and else None: the tokens
    give the end of its first part only (``payload_load_bytes``).
    """
    environment: _Environment | None = None
    private: tuple[int, ...] = ()
    scratch = largest_scratch = local = 0
    required_sub_group = None
    for token in tokens_of(*_RESOURCE_TOKENS):
        match token.number:
            case token_list.EXECUTION_ENVIRONMENT:
                environment = _environment(token)
            case token_list.SCRATCH_SLOT_0 | token_list.SCRATCH_SLOT_1:
                size = token.words(2)[1]  # SPatchMediaVFEState::PerThreadScratchSpace
                scratch, largest_scratch = scratch + size, max(largest_scratch, size)
            case token_list.LOCAL_SURFACE:
                local += token.words(2)[1]  # SPatchAllocateLocalSurface::TotalInlineLocalMemorySize
            case token_list.PRIVATE_MEMORY:
                private = token.words(4, 5)
            case token_list.KERNEL_ATTRIBUTES:
                (text,) = token.texts(4, *token.words(1))
                match = _required_sub_group().search(text)
                required_sub_group = int(match[1]) if match else None
    outside = _private_bytes(private, environment.simd if environment else 0)
    resources = KernelResources(
        scratch_bytes=None if outside is None else scratch + outside,
        private_bytes=None if scratch and not outside else outside,
        slm_bytes=local,
        required_sub_group_size=required_sub_group,
        prologue_bytes=0 if render_core < FIRST_CORE_WITH_PROLOGUE else None,
        largest_scratch_bytes=largest_scratch,
    )
    if environment is None:
        return resources
    barriers, required = environment.barriers, environment.required_size
    return replace(
        resources,
        simd=environment.simd,
        register_files=general_registers(environment.grf_count),
        spill_bytes=0 if scratch == 0 and environment.has_stack_calls == 0 else None,
        stack_bytes=_stack_bytes(environment.has_stack_calls, scratch),
        barriers=_BARRIER_COUNTS[barriers] if barriers < len(_BARRIER_COUNTS) else None,
        required_work_group_size=required if any(required) else None,
        thread_private_bytes=private[3] * (environment.simd if private[4:] == (1,) else 1) if private else 0,
        is_unfused=bool(environment.is_unfused),
    )


class _Environment(NamedTuple):
    """The kernel's SPatchExecutionEnvironment. ``barriers`` is encoded; what an older writer did not state is None."""

    required_size: tuple[int, int, int]
    simd: int
    barriers: int
    grf_count: int | None
    has_stack_calls: int | None
    is_unfused: int | None


def _environment(token: Token) -> _Environment:
    """Read a token's environment. Fields were added in the middle at 96 bytes (multi scratch) and at 136 (has sample,
    version 1082); until 128 bytes, SIMDInfo stood in the place of the stack calls."""
    words = token.words(19, 36)
    size = len(token.payload) // 4
    added = (size >= 24) + (size >= 34)
    x, y, z, simd, _, barriers = words[:6]
    return _Environment(
        required_size=(x, y, z),
        simd=simd,
        barriers=barriers,
        grf_count=words[19 + added] if size > 19 + added else None,
        has_stack_calls=words[28 + added] if size >= 32 else None,
        is_unfused=words[31 + added] if size > 31 + added else None,
    )


def payload_load_bytes(tokens_of: TokensOf) -> int:
    """Return the size of the code at the start that loads each thread's own part of the payload."""
    for token in tokens_of(token_list.THREAD_PAYLOAD):
        # SPatchThreadPayload::OffsetToSkipPerThreadDataLoad, which older writers lack.
        return sum(token.words(12, 13)[12:])
    return 0


def _private_bytes(private: tuple[int, ...], simd: int) -> int | None:
    """Return the private memory of a hardware thread outside of scratch slots; None if it depends on a width that is not known.
    ``private`` is SPatchAllocateStatelessPrivateSurface. Its fourth field counts for a work-item if the fifth says so, which
    older writers lack: their drivers multiply it by the width, too. With 0 the base address is still passed."""
    if not private or private[3] == 0:
        return 0
    if private[4:] == (0,):
        return private[3]
    return private[3] * simd or None


def _stack_bytes(has_stack_calls: int | None, scratch: int) -> int | None:
    """Return the stack: where a kernel has one, scratch slots hold nothing else but spilled registers."""
    if has_stack_calls is None:
        return None if scratch else 0
    return scratch if has_stack_calls else 0


def arguments_of(tokens_of: TokensOf) -> tuple[KernelArgument, ...]:
    """Return a kernel's arguments by number, from its argument tokens and, where there are any, its argument descriptions.

    Names lose the compiler's underscores (``__global`` is global), ``NONE`` is None. ``size`` is bytes of the value as
    the host passes it; None for local memory, whose size the host chooses, where no description says it.
    """
    arguments: dict[int, KernelArgument] = {}
    for token in tokens_of(*_ARGUMENT_TOKENS):
        match token.number:
            case token_list.ARGUMENT_DESCRIPTION:
                _describe(arguments, token)
            case token_list.PAYLOAD_PARAMETER:
                _add_parameter(arguments, token)
            case number:
                kind = _ARGUMENT_KINDS[number]
                fields = token.words(kind.fields)
                argument = arguments.get(fields[0]) or KernelArgument(fields[0])
                space = argument.address_space or kind.address_space
                size = argument.size or (None if kind.size_field is None else fields[kind.size_field])
                arguments[fields[0]] = replace(argument, address_space=space, size=size)
    return tuple(arguments[index] for index in sorted(arguments))


def _add_parameter(arguments: dict[int, KernelArgument], token: Token) -> None:
    """Add what the driver writes into the payload (SPatchDataParameterBuffer): a value, in pieces (each with its offset
    in the value), or the size of local memory."""
    kind, index, _, size, offset, *_ = token.words(8)
    argument = arguments.get(index) or KernelArgument(index)
    if kind == _KERNEL_ARGUMENT:
        size = max(argument.size or 0, offset + size)
        arguments[index] = replace(argument, address_space=argument.address_space or "private", size=size)
    elif kind == _LOCAL_MEMORY_SIZES:
        arguments[index] = replace(argument, address_space="local")


def _describe(arguments: dict[int, KernelArgument], token: Token) -> None:
    """Add an argument as the source declares it (SPatchKernelArgumentInfo). A type reads like ``float*;8``, with the
    size in bytes behind the semicolon."""
    index, *sizes = token.words(6)
    address, access, name, declared, qualifier = token.texts(24, *sizes)
    type_name, _, size = declared.rpartition(";")
    sized = bool(type_name) and size.isascii() and size.isdigit() and len(size) < 10
    earlier = arguments.get(index)
    arguments[index] = KernelArgument(
        index=index,
        name=name or None,
        type_name=(type_name if sized else declared) or None,
        address_space=_qualifier(address),
        access=_qualifier(access),
        type_qualifier=_qualifier(qualifier),
        size=int(size) if sized else (earlier.size if earlier else None),
    )


def _qualifier(text: str) -> str | None:
    return None if text in ("", "NONE") else text.removeprefix("__")
