"""Reductions and elementwise kernels of pyopencl, whose wheel has a loader of its own (for tests.corpus.programs)."""

from typing import Any

import numpy as np
import pyopencl as cl
import pyopencl.array as arrays
import pyopencl.reduction as reductions

context = cl.create_some_context(interactive=False)
queue = cl.CommandQueue(context)
numbers: Any = arrays.to_device(queue, np.arange(1000, dtype=np.int32))
kernel: Any = reductions.ReductionKernel
dot = kernel(
    context,
    np.int32,
    neutral="0",
    reduce_expr="a+b",
    map_expr="x[i]*y[i]",
    arguments="__global int *x, __global int *y",
)
print(arrays.sum(numbers).get(), arrays.max(numbers * 3 + 1).get(), dot(numbers, numbers).get())
