"""The requests of 16 threads for kernel binaries, 1,000 each: ``threads.py SPIRV``. Prints how many calls and wrong answers.

Runs in a process of its own, as a driver takes its device when it is loaded; needs the standard library only.
"""

from __future__ import annotations

import json
import sys
import threading

from kernlens.level_zero import Context, LiveKernel, build_spirv, first_device

THREADS, CALLS = 16, 1000


def main() -> None:
    device = first_device()
    with open(sys.argv[1], "rb") as file:
        module = build_spirv(Context(device.driver), device, file.read(), "", "module")
    kernels = [LiveKernel.create(module, name) for name in module.kernel_names]
    expected = [bytes(module.native.heap(kernel.name)) for kernel in kernels]
    wrong: list[str] = []
    done: list[int] = []
    start = threading.Barrier(THREADS)

    def ask(first: int) -> None:
        start.wait()
        for turn in range(CALLS):
            index = (first + turn) % len(kernels)
            if kernels[index].binary() != expected[index]:
                wrong.append(kernels[index].name)
        done.append(CALLS)

    threads = [threading.Thread(target=ask, args=(number,)) for number in range(THREADS)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    origin = kernels[0].binary_origin
    print(json.dumps({"calls": sum(done), "wrong": len(wrong), "kernels": len(kernels), "origin": origin}))


if __name__ == "__main__":
    main()
