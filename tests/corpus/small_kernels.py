"""OpenCL C made by chance: small programs whose code has loops, branches, calls, local memory, atomics and images."""

from __future__ import annotations

import random

_TYPES = ("int", "uint", "float", "half", "short", "long", "uchar", "int4", "float2", "float4", "uint8")
_UNARY = ("-{0}", "{0} + ({1}){2}", "{0} * {0}", "{0} - ({1}){2}", "min({0}, ({1}){2})", "max({0}, ({1}){2})")
_OF_FLOATS = (
    "sqrt({0})",
    "exp({0})",
    "native_sin({0})",
    "{0} / ({1}){2}",
    "fma({0}, {0}, ({1}){2})",
    "pow({0}, ({1}){2})",
)
_OF_INTEGERS = ("{0} / ({1}){2}", "{0} % ({1}){2}", "{0} ^ ({1}){2}", "popcount({0})", "mad_hi({0}, {0}, ({1}){2})")


def small_program(generator: random.Random) -> str:
    """Return a program of one or two kernels."""
    kernels = [_kernel(generator, number) for number in range(generator.choice((1, 1, 1, 2)))]
    return "#pragma OPENCL EXTENSION cl_khr_fp16 : enable\n" + "\n".join(kernels)


def _kernel(generator: random.Random, number: int) -> str:
    kind = generator.choice(_TYPES)
    is_called, has_local = generator.random() < 0.3, generator.random() < 0.3
    inner = [f"  {line}" for _ in range(generator.randint(1, 2)) for line in _statement(generator, kind, 1)]
    lines = [f"{kind} work_{number}({kind} v, int n)", "{", *inner, "  return v;", "}", ""]
    if is_called:
        lines[0] = f"__attribute__((noinline)) {lines[0]}"
    lines += [
        f"kernel void k{number}(global {kind} *out, global const {kind} *in, volatile global int *hits, int n)",
        "{",
    ]
    lines += ["  int i = get_global_id(0);", f"  {kind} v = in[i];"]
    if has_local:
        lines += [f"  local {kind} tile[64];", "  tile[get_local_id(0) & 63] = v;", "  barrier(CLK_LOCAL_MEM_FENCE);"]
        lines += ["  v += tile[(get_local_id(0) + 1) & 63];"]
    for _ in range(generator.randint(1, 3)):
        lines += [f"  {line}" for line in _statement(generator, kind, generator.randint(0, 2))]
    if generator.random() < 0.7:
        lines += [f"  v = work_{number}(v, n);"]
    if generator.random() < 0.2:
        lines += ["  atomic_add(hits, i);"]
    return "\n".join([*lines, "  out[i] = v;", "}", ""])


def _statement(generator: random.Random, kind: str, depth: int) -> list[str]:
    form = generator.choice(("plain", "plain", "plain", "loop", "branch", "switch", "array")) if depth else "plain"
    if form == "plain":
        return [f"v = {_value(generator, kind)};"]
    inner = [f"  {line}" for _ in range(generator.randint(1, 2)) for line in _statement(generator, kind, depth - 1)]
    if form == "loop":
        leaves = ["  if (j > 40) break;"] if generator.random() < 0.4 else []
        return [f"for (int j = 0; j < {generator.choice(('n', '3', '17', 'n * 2'))}; j++) {{", *inner, *leaves, "}"]
    if form == "branch":
        other = _statement(generator, kind, 0)
        return [f"if (n > {generator.randrange(90)}) {{", *inner, "} else {", *(f"  {line}" for line in other), "}"]
    if form == "switch":
        cases = [f"case {case}: v = {_value(generator, kind)}; break;" for case in range(generator.randint(2, 6))]
        return ["switch (n) {", *cases, "}"]
    size = generator.choice((4, 16, 40))
    return [
        "{",
        f"  {kind} some[{size}];",
        f"  for (int j = 0; j < {size}; j++) some[j] = v + ({kind})j;",
        *inner,
        f"  v += some[n & {3 if size == 4 else 15}];",
        "}",
    ]


def _value(generator: random.Random, kind: str) -> str:
    own = _OF_FLOATS if kind.startswith(("float", "half")) else _OF_INTEGERS
    form: str = generator.choice((*_UNARY, *own))
    return form.format("v", kind, generator.randint(2, 99))
