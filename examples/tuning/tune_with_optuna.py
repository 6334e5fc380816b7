#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Tune window.cl with Optuna on the first OpenCL device, and run nothing that spills on the GPU that was swept for.

kernlens sweep examples/kernels/window.cl --device dg2 -D WIDTH=16,32 -D ROWS=8,16,32 --tuning window.json
pip install optuna pyopencl
python examples/tuning/tune_with_optuna.py window.json
"""

import json
import sys
from pathlib import Path

import numpy
import optuna
import pyopencl

SOURCE = Path(__file__).parents[1] / "kernels/window.cl"
COLUMNS, HEIGHT = 1024, 1024


def spills(result: dict) -> int:
    keys = (".spill_stores", ".fill_loads")
    return sum(each["value"] for each in result["measurements"] if each["name"].endswith(keys))


def excess(result: dict, results: list[dict]) -> int:
    """How far a configuration is from the best ones: 0 for those that are run."""
    if result["invalidity"] == "compile":
        return 1
    return spills(result) - min(spills(each) for each in results if each["invalidity"] == "correct")


class Window:
    """The kernel on a device, with an image."""

    def __init__(self) -> None:
        self.context = pyopencl.Context([pyopencl.get_platforms()[0].get_devices()[0]])
        properties = pyopencl.command_queue_properties.PROFILING_ENABLE
        self.queue = pyopencl.CommandQueue(self.context, properties=properties)
        image = numpy.random.rand((HEIGHT + 1) * COLUMNS).astype(numpy.float32)
        flags = pyopencl.mem_flags
        self.images = [
            pyopencl.Buffer(self.context, flags.READ_ONLY | flags.COPY_HOST_PTR, hostbuf=image),
            pyopencl.Buffer(self.context, flags.WRITE_ONLY, image.nbytes),
        ]

    def milliseconds(self, macros: dict[str, int]) -> float:
        options = [f"-D{name}={value}" for name, value in macros.items()]
        kernel = pyopencl.Program(self.context, SOURCE.read_text()).build(options).window
        size = COLUMNS, HEIGHT // macros["ROWS"]
        times = []
        for _ in range(7):
            event = kernel(self.queue, size, (32, 1), *self.images, numpy.int32(COLUMNS))
            event.wait()
            times.append((event.profile.end - event.profile.start) / 1e6)
        return min(times)


def main() -> None:
    results = json.loads(Path(sys.argv[1]).read_text())["results"]
    names = results[0]["configuration"]
    values = {name: sorted({result["configuration"][name] for result in results}) for name in names}
    window = Window()

    def objective(trial: optuna.Trial) -> float:
        macros = {name: trial.suggest_categorical(name, values[name]) for name in names}
        result = next(result for result in results if result["configuration"] == macros)
        # The sampler learns from what is not run too. Before Optuna 5, give it a constraints_func.
        trial.set_constraint("spills", excess(result, results))
        if result["invalidity"] != "correct":
            raise optuna.TrialPruned
        return window.milliseconds(macros)

    optuna.logging.set_verbosity(optuna.logging.WARNING)
    study = optuna.create_study(sampler=optuna.samplers.TPESampler(seed=1))
    study.optimize(objective, n_trials=20)
    pruned = study.get_trials(states=[optuna.trial.TrialState.PRUNED])
    print(f"{len(pruned)} of {len(study.trials)} trials were not run; the fastest of the others:")
    print(study.best_params, f"{study.best_value:.3f} ms")


main()
