"""The kinds of x86-64 instructions, told by their texts."""

from __future__ import annotations

import pytest

from kernlens.isa.x86.x86_kinds import x86_kinds

SURE = {
    "vmovups %ymm2, 32(%r8,%rbx,4)": ("global", "store", 32),
    "vmovups (%rax), %zmm1": ("global", "load", 64),
    "movq -8(%rsp), %rax": ("scratch", "load", 8),
    "movl $1, (%rdi)": ("global", "store", 4),
    "vmulss (%rdi,%rdx,4), %xmm1, %xmm2": ("global", "load", 4),
    "vmovsd (%rdi), %xmm1 # xmm1 = mem[0],zero": ("global", "load", 8),
    "vpgatherdd %zmm1, (%rax,%zmm2,4), %zmm3 {%k1}": ("global", "load", None),
    "cmpl $3, 8(%rax)": ("global", "load", 4),
    "lock addl $1, (%rax)": ("global", "atomic", 4),
    "lock cmpxchgl %ecx, (%rdx)": ("global", "atomic", 4),
    "pushq %r15": ("scratch", "store", 8),
    "callq *8(%rax)": ("control", "", None),
    # Constants beside the code are no memory of the kernel's.
    "vmulss 4044(%rip), %xmm3, %xmm4": ("float", "", None),
    "vmovss 4044(%rip), %xmm3 # xmm3 = mem[0],zero,zero,zero # 0x2008": ("move", "", None),
    "leaq 4(%rax,%rbx), %rcx": ("integer", "", None),
    "nopw 512(%rax,%rax)": ("other", "", None),
    "prefetcht0 (%rax)": ("other", "", None),
    "vfmadd231ps %zmm1, %zmm2, %zmm3 # zmm3 = (zmm2 * zmm1) + zmm3": ("float", "", None),
    "vdivss %xmm1, %xmm2, %xmm3": ("float", "", None),
    "vcmpltps %ymm1, %ymm2, %k1": ("float", "", None),
    "vpaddd %xmm1, %xmm2, %xmm3": ("integer", "", None),
    "addsd %xmm1, %xmm2": ("float", "", None),
    "addl %eax, %ecx": ("integer", "", None),
    "imulq %rax, %rbx": ("integer", "", None),
    "cmovaeq %rsi, %rcx": ("integer", "", None),
    "vbroadcastss %xmm0, %ymm1": ("move", "", None),
    "vcvtsi2ss %eax, %xmm1, %xmm1": ("move", "", None),
    "cltq": ("move", "", None),
    "kmovw %eax, %k1": ("move", "", None),
    "jne 0x1040": ("control", "", None),
    "jmpq *%rax": ("control", "", None),
    "callq 0x1010": ("control", "", None),
    "retq": ("control", "", None),
    "mfence": ("synchronisation", "", None),
    "vzeroupper": ("move", "", None),
    "<unknown>": ("other", "", None),
    ".long 0x00000000": ("other", "", None),
    "aesenc %xmm1, %xmm2": ("other", "", None),
}


@pytest.mark.parametrize("text", SURE)
def test_a_text_of_x86_has_its_kind(text: str) -> None:
    (kind,) = x86_kinds([text])
    access = kind.access
    assert (kind.name, access.action if access else "", access.size if access else None) == SURE[text]


def test_the_frames_register() -> None:
    """Where %rbp is no frame pointer, what it points to is the kernel's memory."""
    texts = ["pushq %rbp", "movl (%rbp), %eax", "movq %rsp, %rbp", "movl 8(%rbp), %eax", "popq %rbp", "retq"]
    texts += ["movl 8(%rbp), %ecx", "movq (%rdi), %rbp", "movl 8(%rbp), %eax"]
    loads = [kind.name for kind, text in zip(x86_kinds(texts), texts, strict=True) if text.startswith("movl")]
    assert loads == ["global", "scratch", "scratch", "global"]
