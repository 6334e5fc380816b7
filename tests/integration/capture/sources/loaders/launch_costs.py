"""Prints the microseconds that pyopencl takes for a launch with its event, and to create a kernel: launch_costs.py NUMBER."""

import sys
import time

import numpy as np
import pyopencl as cl

device = cl.get_platforms()[0].get_devices()[0]
context = cl.Context([device])
queue = cl.CommandQueue(context)
program = cl.Program(context, "kernel void f(global float *x, float a) { if (a > 1e9f) x[0] = a; }").build()
buffer = cl.Buffer(context, cl.mem_flags.READ_WRITE, 64)
kernel = cl.Kernel(program, "f")
number = int(sys.argv[1])
for what in ("launch", "launch", "finish", "create"):
    start = time.monotonic()
    for _ in range(number):
        if what == "create":
            cl.Kernel(program, "f")
        else:
            kernel(queue, (1,), None, buffer, np.float32(1))
        if what == "finish":
            queue.finish()
    queue.finish()
    print(what, round((time.monotonic() - start) / number * 1e6, 2))
