"""An application that launches a kernel, for ``kernlens capture --launch`` to keep and ``kernlens replay`` to run again.

It takes the first OpenCL device that there is, PoCL's for one, and needs pyopencl.

    kernlens capture --launch brighten -o brighten.klens -- python examples/opencl_launch.py
    kernlens replay brighten.klens
"""

from __future__ import annotations

from array import array

import pyopencl
from pyopencl import cltypes

SOURCE = """
kernel void brighten(read_only image2d_t picture, global float *out, float factor)
{
    int2 at = (int2)(get_global_id(0), get_global_id(1));
    out[at.y * get_global_size(0) + at.x] = read_imagef(picture, at).x * factor;
}
"""
WIDTH, HEIGHT = 16, 4

context = pyopencl.create_some_context(interactive=False)
queue = pyopencl.CommandQueue(context)
program = pyopencl.Program(context, SOURCE).build(cache_dir=False)  # type: ignore[arg-type]
values = array("f", range(WIDTH * HEIGHT))
flags = pyopencl.mem_flags
form = pyopencl.ImageFormat(pyopencl.channel_order.R, pyopencl.channel_type.FLOAT)
picture = pyopencl.create_image(context, flags.READ_ONLY | flags.COPY_HOST_PTR, form, (WIDTH, HEIGHT), hostbuf=values)
out = pyopencl.Buffer(context, flags.WRITE_ONLY, values.itemsize * len(values))
program.brighten(queue, [WIDTH, HEIGHT], [WIDTH, 1], picture, out, cltypes.float(0.5))
pyopencl.enqueue_copy(queue, values, out)
print(*values[:4])
