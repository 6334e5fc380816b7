"""What the observer costs beside Oclgrind alone: ``python -m benchmarks.observer_cost [FOLDER OR FILE...]``.

Each kernel runs on Oclgrind with 4,096 work-items, on random numbers and images of 64 x 64: once counted, and once more while
the plugin counts nothing. Both run the same code. The ratio is that of their processor time. Then the kernel runs as
``observe`` runs it, with Oclgrind's look for data races. ``--items N`` is another size: the memory should be the same.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from statistics import median
from typing import Any

from kernlens.formats.observation import read_observations
from kernlens.isa.devices import device
from kernlens.isa.observed_machines import machine_of
from kernlens.toolchain.oclgrind import machine_words, oclgrind, plugin

DARKTABLE = Path("/usr/share/darktable/kernels")
OWN = Path(__file__).with_suffix(".cl")
GROUP, WIDTH, ITEMS = 64, 64, 4096
TIMEOUT = 900


def measured(source: Path, items: int) -> Iterator[dict[str, Any]]:
    """Run each kernel of a source in this process, which the environment leads to Oclgrind."""
    import pyopencl as cl

    context = cl.Context(cl.get_platforms()[0].get_devices())
    queue = cl.CommandQueue(context)
    options = ["-cl-opt-disable", "-cl-kernel-arg-info", "-D__builtin_assume(x)=", f"-I{source.parent}"]
    for kernel in cl.Program(context, source.read_text()).build(options).all_kernels():
        group = kernel.get_work_group_info(cl.kernel_work_group_info.COMPILE_WORK_GROUP_SIZE, context.devices[0])
        local = group[0] * group[1] * group[2] or GROUP
        try:
            arguments = [_argument(cl, context, kernel, number, items) for number in range(kernel.num_args)]
            seconds = []
            for size in (local, items // local * local, items // local * local):  # the first prepares the program
                kernel.set_args(*arguments)
                before = time.process_time()
                cl.enqueue_nd_range_kernel(queue, kernel, (size, 1, 1), (local, 1, 1))
                queue.finish()
                seconds.append(time.process_time() - before)
        except cl.Error as error:
            yield {"kernel": kernel.function_name, "reason": str(error)}
            continue
        peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
        yield {"kernel": kernel.function_name, "counted": seconds[1], "bare": seconds[2], "peak": peak}


def _argument(cl: Any, context: Any, kernel: Any, number: int, items: int) -> Any:
    import numpy

    info = cl.kernel_arg_info
    type_ = kernel.get_arg_info(number, info.TYPE_NAME)
    name = kernel.get_arg_info(number, info.NAME)
    space = kernel.get_arg_info(number, info.ADDRESS_QUALIFIER)
    random = numpy.random.default_rng(number)
    if type_.startswith("image"):
        pixels = random.random((WIDTH, WIDTH, 4), dtype=numpy.float32)
        return cl.image_from_array(context, pixels, 4, mode="w" if "write" in name or name == "out" else "r")
    if type_.startswith("sampler"):
        return cl.Sampler(context, False, cl.addressing_mode.CLAMP_TO_EDGE, cl.filter_mode.NEAREST)
    if space == cl.kernel_arg_address_qualifier.LOCAL:
        return cl.LocalMemory(32 << 10)
    if type_.endswith("*"):
        count = 16 * max(items, WIDTH * WIDTH)
        content = (
            random.random(count, dtype=numpy.float32) if "float" in type_ else numpy.zeros(count, dtype=numpy.int32)
        )
        return cl.Buffer(context, cl.mem_flags.COPY_HOST_PTR, hostbuf=content)
    match = re.match(r"(unsigned |u)?(char|short|int|long|float|double)(\d*)", type_)
    letter = (
        {"char": "i1", "short": "i2", "int": "i4", "long": "i8", "float": "f4", "double": "f8"}[match[2]]
        if match
        else "i4"
    )
    number_ = 0.5 if letter[0] == "f" else WIDTH if re.search(r"width|height|w$|h$", name) else 2
    count = int(match[3] or 1) if match else 1
    return numpy.full(4 if count == 3 else count, number_, dtype=letter)


def in_a_process(source: Path, items: int, *, races: bool) -> list[dict[str, Any]]:
    """Return what each kernel of a source costs, from a process of its own on Oclgrind with the plugin."""
    with tempfile.TemporaryDirectory() as folder:
        words = f"{machine_words(machine_of(device('h100')), races=races)} launches=1 file={folder}/observation"
        environment = os.environ | oclgrind().variables() | {
            "OCLGRIND_PLUGINS": str(plugin()), "KERNLENS_OBSERVE": words, "OCLGRIND_LOCAL_MEM_SIZE": str(256 << 10),
            "OCLGRIND_MAX_WGSIZE": "4096",
        }  # fmt: skip
        command = [sys.executable, "-m", "benchmarks.observer_cost", "--here", "--items", str(items), str(source)]
        try:
            done = subprocess.run(
                command, capture_output=True, text=True, timeout=TIMEOUT, check=False, env=environment
            )
        except subprocess.TimeoutExpired:
            return [{"kernel": source.name, "reason": f"not done in {TIMEOUT} s"}]
        rows: list[dict[str, Any]] = [json.loads(line) for line in done.stdout.splitlines() if line.startswith("{")]
        if done.returncode:
            rows.append({"kernel": source.name, "reason": f"the process ended: {done.stderr.strip()[-160:]}"})
        answer = Path(folder) / "observation"
        content = answer.read_bytes() if answer.is_file() else b""
        counts = {
            each.kernel: each.instructions
            for each in read_observations(content, {})
            if each.global_size[0] > each.local_size[0]
        }
        return [{**row, "instructions": counts.get(row["kernel"], 0)} for row in rows]


def main(words: Sequence[str]) -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("sources", nargs="*", type=Path, default=[OWN, DARKTABLE])
    parser.add_argument("--items", type=int, default=ITEMS)
    parser.add_argument("--here", action="store_true")
    asked = parser.parse_args(words)
    if asked.here:
        for row in measured(asked.sources[0], asked.items):
            print(json.dumps(row), flush=True)
        return
    files = [file for each in asked.sources for file in (sorted(each.glob("*.cl")) if each.is_dir() else [each])]
    ratios, speeds, seconds = [], [], []
    for file in files:
        with_races = {row["kernel"]: row for row in in_a_process(file, asked.items, races=True)}
        for row in in_a_process(file, asked.items, races=False):
            own = with_races.get(row["kernel"], {})
            if "counted" not in row or not row["instructions"]:
                print(f"{file.name:24} {row['kernel']:36} {row.get('reason', 'nothing was counted')}", flush=True)
                continue
            ratios.append(row["counted"] / row["bare"])
            speeds.append(row["instructions"] / row["counted"] / 1e6)
            seconds.append(own.get("counted", float("nan")))
            print(
                f"{file.name:24} {row['kernel']:36} {row['instructions']:11,} instructions, {speeds[-1]:5.2f} million a second,"
                f" {ratios[-1]:5.2f} times bare, {seconds[-1]:7.2f} s with races, {row['peak']:6.0f} MB",
                flush=True,
            )
    print(
        f"{len(ratios)} kernels of {asked.items:,} work-items: {median(speeds):.2f} million instructions a second (median),"
    )
    print(
        f"{median(ratios):.2f} times bare Oclgrind (median), at most {max(ratios):.2f}; at most {max(seconds):.1f} s with races"
    )


if __name__ == "__main__":
    main(sys.argv[1:])
