"""Builds PROGRAMS programs with pyopencl, launches their kernels LAUNCHES times each, and prints a hash of all that was
computed, which is the same in each run: python_application.py PROGRAMS LAUNCHES. Its last line has the seconds that it took."""

import hashlib
import sys
import time

import numpy as np
import pyopencl as cl

SOURCE = """
kernel void saxpy(global const float *x, global float *y, float a)
{
    size_t i = get_global_id(0);
    y[i] = a * x[i] + y[i] * FACTOR;
}
kernel void rows(global const float *x, global float *y, float a)
{
    size_t i = get_global_id(0);
    float sum = 0.0f;
    for (int k = 0; k < 64; k++)
        sum += x[(i + k) % get_global_size(0)] * a;
    y[i] = sum;
}
"""


def main() -> None:
    programs, launches = int(sys.argv[1]), int(sys.argv[2])
    start = time.monotonic()
    device = cl.get_platforms()[0].get_devices()[0]
    context = cl.Context([device])
    queue = cl.CommandQueue(context)
    digest = hashlib.sha256()
    x = (np.arange(8192) % 251).astype(np.float32)
    for number in range(programs):
        program = cl.Program(context, SOURCE).build(options=[f"-DFACTOR=0.{number + 1}f"])
        y = np.ones_like(x)
        first = cl.Buffer(context, cl.mem_flags.COPY_HOST_PTR, hostbuf=x)
        second = cl.Buffer(context, cl.mem_flags.COPY_HOST_PTR, hostbuf=y)
        for kernel in (program.saxpy, program.rows):
            for launch in range(launches):
                kernel(queue, x.shape, None, first, second, np.float32(0.5 + launch % 3 * 0.25))
            cl.enqueue_copy(queue, y, second)
            digest.update(y.tobytes())
    print(f"computed {digest.hexdigest()}\nseconds {time.monotonic() - start:.6f}")


main()
