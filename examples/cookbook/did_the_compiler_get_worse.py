"""A new compiler spills: what differs between two option sets, or two compilers (toolchain=)?

https://github.com/intel/intel-graphics-compiler/issues/412
"""

from __future__ import annotations

import kernlens

old = kernlens.compile("examples/kernels/window.cl", "dg2", options="-DROWS=8")
new = kernlens.compile("examples/kernels/window.cl", "dg2", options="-DROWS=64")
difference = kernlens.diff(old, new)
for change in difference.changes:
    print(change.pair.new.name, *(f"{each.figure.key} {each.old} -> {each.new}" for each in change.figures), sep="\n  ")
