"""Reads a kernel's resources and arguments out of its patch tokens.

Source: ``patch_shared.h`` of intel-graphics-compiler, and how that compiler fills the structures: ``sp_g8.cpp``
(``CreatePatchList``, ``EncodeNumBarriers``), ``CodeGenPublic.h`` (``SProgramOutput``: what goes into a scratch slot).
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import replace
from typing import TypeAlias

from kernlens.formats.patch_tokens import layouts
from kernlens.formats.patch_tokens.layouts import PatchToken
from kernlens.model.figures import KernelResources
from kernlens.model.kernel import KernelArgument

#: Returns a kernel's tokens with the given numbers, decoded.
TokensOf: TypeAlias = Callable[..., tuple[PatchToken, ...]]

#: What the eight codes of ExecutionEnvironment.barriers mean (``EncodeNumBarriers``).
_BARRIER_COUNTS = (0, 1, 2, 4, 8, 16, 24, 32)

#: From this render core on (Xe-HP), code begins with a prologue that loads the payload.
FIRST_CORE_WITH_PROLOGUE = 0xC05

_REQUIRED_SUB_GROUP = re.compile(r"\bintel_reqd_sub_group_size\((\d{1,4})\)")

_RESOURCE_TOKENS = (
    layouts.LOCAL_SURFACE,
    layouts.SCRATCH_SLOT_0,
    layouts.SCRATCH_SLOT_1,
    layouts.EXECUTION_ENVIRONMENT,
    layouts.KERNEL_ATTRIBUTES,
    layouts.PRIVATE_MEMORY,
)

#: Token 11 and those like it -> address space of the argument.
_ARGUMENT_SPACES = {11: "global", 12: "global", 16: None, 30: "global", 31: "constant", 46: None}
_ARGUMENT_TOKENS = (17, 26, *_ARGUMENT_SPACES)


def resources_of(tokens_of: TokensOf, render_core: int) -> KernelResources:
    """Returns a kernel's resources as far as its tokens tell.

    ``scratch_bytes`` is what the driver reserves per thread, which the compiler has rounded up to a power of two.
    ``spill_bytes`` is 0 if there is no scratch space and else None: spilled registers and private memory share the
    scratch slot, and only the rounded sum is written. It is also None for kernels that call functions through a stack,
    whose frames may hold spilled registers. ``private_bytes`` is private memory outside scratch space, None if there is
    scratch space that may hold it. ``prologue_bytes`` is 0 before Xe-HP and else None: the tokens give the end of its
    first part only (``payload_load_bytes``).
    """
    environment: layouts.ExecutionEnvironment | None = None
    private: layouts.PrivateMemory | None = None
    scratch = local = 0
    required_sub_group = None
    for token in tokens_of(*_RESOURCE_TOKENS):
        if isinstance(token, layouts.ExecutionEnvironment):
            environment = token
        elif isinstance(token, layouts.ScratchSlot):
            scratch += token.bytes_per_thread
        elif isinstance(token, layouts.LocalSurface):
            local += token.size
        elif isinstance(token, layouts.PrivateMemory):
            private = token
        elif isinstance(token, layouts.KernelAttributes):
            match = _REQUIRED_SUB_GROUP.search(token.text)
            required_sub_group = int(match[1]) if match else None
    resources = KernelResources(
        scratch_bytes=scratch,
        private_bytes=_private_bytes(private, scratch),
        slm_bytes=local,
        required_sub_group_size=required_sub_group,
        prologue_bytes=0 if render_core < FIRST_CORE_WITH_PROLOGUE else None,
    )
    if environment is None:
        return resources
    barriers = environment.barriers
    size = environment.required_size_x, environment.required_size_y, environment.required_size_z
    return replace(
        resources,
        simd=environment.simd,
        registers=environment.registers,
        spill_bytes=0 if scratch == 0 and environment.has_stack_calls == 0 else None,
        barriers=_BARRIER_COUNTS[barriers] if barriers < len(_BARRIER_COUNTS) else None,
        required_work_group_size=size if any(size) else None,
    )


def payload_load_bytes(tokens_of: TokensOf) -> int:
    """Returns the size of the code at the start that loads each thread's own part of the payload."""
    for token in tokens_of(layouts.THREAD_PAYLOAD):
        if isinstance(token, layouts.ThreadPayload):
            return token.skip_per_thread_load or 0
    return 0


def _private_bytes(private: layouts.PrivateMemory | None, scratch: int) -> int | None:
    if private is None or private.bytes_per_thread == 0:
        return 0 if scratch == 0 else None
    # An older token does not say whose memory it counts; per hardware thread is not per work-item.
    return private.bytes_per_thread if private.is_simt_thread == 1 else None


def arguments_of(tokens_of: TokensOf) -> tuple[KernelArgument, ...]:
    """Returns a kernel's arguments by number, from its argument tokens and, where there are any, its argument
    descriptions.

    Names lose the compiler's underscores (``__global`` is global), ``NONE`` is None. ``size`` is bytes of the value as
    the host passes it; None for local memory, whose size the host chooses, where no description says it.
    """
    arguments: dict[int, KernelArgument] = {}
    for token in tokens_of(*_ARGUMENT_TOKENS):
        if isinstance(token, layouts.ArgumentDescription):
            arguments[token.argument] = _described(token, arguments.get(token.argument))
        elif isinstance(token, layouts.PayloadParameter):
            _add_parameter(arguments, token)
        elif isinstance(
            token, layouts.BufferArgument | layouts.ImageArgument | layouts.SamplerArgument | layouts.StatelessArgument
        ):
            argument = arguments.get(token.argument) or KernelArgument(token.argument)
            space = argument.address_space or _ARGUMENT_SPACES[token.number]
            size = argument.size or getattr(token, "size", None)
            arguments[token.argument] = replace(argument, address_space=space, size=size)
    return tuple(arguments[index] for index in sorted(arguments))


def _add_parameter(arguments: dict[int, KernelArgument], token: layouts.PayloadParameter) -> None:
    """Adds a value passed in the payload, in pieces (each with its offset in the value), or the size of local memory."""
    argument = arguments.get(token.argument) or KernelArgument(token.argument)
    if token.kind == layouts.PARAMETER_KERNEL_ARGUMENT:
        size = max(argument.size or 0, token.source_offset + token.size)
        arguments[token.argument] = replace(argument, address_space=argument.address_space or "private", size=size)
    elif token.kind == layouts.PARAMETER_LOCAL_MEMORY_SIZES:
        arguments[token.argument] = replace(argument, address_space="local")


def _described(token: layouts.ArgumentDescription, earlier: KernelArgument | None) -> KernelArgument:
    type_name, _, size = token.type_name.rpartition(";")
    sized = bool(type_name) and size.isascii() and size.isdigit() and len(size) < 10
    return KernelArgument(
        index=token.argument,
        name=token.name or None,
        type_name=(type_name if sized else token.type_name) or None,
        address_space=_qualifier(token.address_qualifier),
        access=_qualifier(token.access_qualifier),
        type_qualifier=_qualifier(token.type_qualifier),
        size=int(size) if sized else (earlier.size if earlier else None),
    )


def _qualifier(text: str) -> str | None:
    return None if text in ("", "NONE") else text.removeprefix("__")
