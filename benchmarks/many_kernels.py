"""What a report of many small kernels takes: ``python -m benchmarks.many_kernels [--kernels 3000] [--device dg2]``.

The kernels compute one expression each, drawn anew, as a library of element-wise operations has them: about 50 instructions.
Limits: 3,000 take 4 MB and 10 s of processor time.
"""

from __future__ import annotations

import argparse
import random
import resource
import subprocess
import tempfile
from collections.abc import Iterator
from pathlib import Path

from benchmarks.run import command

_TYPES = ("float", "int", "uint")


def expression(draw: random.Random, depth: int, type_name: str) -> str:
    """Return an expression with so many levels of operators."""
    if not depth:
        return draw.choice(("a[i]", "b[i]", "c", f"({type_name}){draw.randint(1, 99)}"))
    left, right = (expression(draw, depth - 1, type_name) for _ in range(2))
    form = draw.choice(("({} + {})", "({} * {})", "({} - {})", "max({}, {})", "({} > {} ? a[i] : c)"))
    return form.format(left, right)


def kernels(count: int) -> Iterator[str]:
    """Yield the sources of the kernels, the same in each run."""
    draw = random.Random(7)
    for number in range(count):
        of = draw.choice(_TYPES)
        body = expression(draw, draw.randint(1, 3), of)
        yield f"kernel void op_{number:04}_{of}(global {of} *a, global const {of} *b, {of} c, int n) {{"
        yield f"  int i = get_global_id(0);\n  if (i < n)\n    a[i] = {body};\n}}\n"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--kernels", type=int, default=3000)
    parser.add_argument("--device", default="dg2")
    words = parser.parse_args()
    with tempfile.TemporaryDirectory() as scratch:
        source, recording, page = (Path(scratch, name) for name in ("many.cl", "many.klens", "many.html"))
        source.write_text("\n".join(kernels(words.kernels)))
        compile_words = ["compile", source, "--device", words.device, "-o", recording]
        subprocess.run([command(), *compile_words], check=True, capture_output=True)
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        subprocess.run([command(), "report", recording, "-o", page], check=True, capture_output=True)
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        used = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
        print(f"{words.kernels:,} kernels: {page.stat().st_size / 1e6:.2f} MB, {used:.1f} s of processor time")


if __name__ == "__main__":
    main()
