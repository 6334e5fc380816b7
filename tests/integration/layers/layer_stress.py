"""Stress for the OpenCL layer: ``python -m tests.integration.layers.layer_stress [plain] [sanitized] [--threads N]``.

600 forks while two threads request, 16 threads that build with requests, files of at most 16 KB, and kill -9: on PoCL and on
a simulated dg2, as the layer is built for users and with AddressSanitizer and UndefinedBehaviorSanitizer. Prints a line for
each; the exit status is 1 if anything failed, or a sanitizer found an error.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from tests.integration.layers import native_builds
from tests.integration.layers.layer_trials import WHOLE, Amount, trials
from tests.integration.layers.opencl_layer_fixtures import NATIVE, SLICES, Platform, fill, intel, pocl
from tests.integration.layers.test_native_sanitizers import COMPILER, build_layer, findings, sanitized_platform


def run_all(name: str, platform: Platform, layer: Path, folder: Path, amount: Amount) -> bool:
    """Tell how each trial went; False if one failed."""
    good = True
    for what, trial in trials(platform, layer, folder, amount):
        start = time.monotonic()
        try:
            trial()
            answer = "passed"
        except (AssertionError, subprocess.TimeoutExpired) as error:
            good, answer = False, f"FAILED\n{error}"
        print(f"{name:22} {what:40} {time.monotonic() - start:6.0f} s  {answer}", flush=True)
    for finding in findings(folder):
        good = False
        print(f"{name}: {finding}", flush=True)
    return good


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    kinds = ("plain", "sanitized")
    parser.add_argument(
        "layers", nargs="*", default=kinds, metavar="LAYER", help="plain, sanitized; both if none is named"
    )
    parser.add_argument("--children", type=int, default=WHOLE.children)
    parser.add_argument("--threads", type=int, default=WHOLE.threads)
    arguments = parser.parse_args()
    if unknown := set(arguments.layers) - set(kinds):
        parser.error(f"there is no layer {min(unknown)}")
    amount = Amount(arguments.children, arguments.threads)
    good = True
    with tempfile.TemporaryDirectory() as scratch:
        base = Path(scratch)
        for kind in arguments.layers:
            layer = base / kind
            layer.mkdir()
            if kind == "plain":
                fill(layer, NATIVE)
            else:
                build_layer(layer, native_builds.build(base / "built", COMPILER))
            for name in ("pocl", "dg2"):
                folder = base / f"{kind}-{name}"
                folder.mkdir()
                platform = pocl(folder) if name == "pocl" else intel(name, SLICES[name])
                if kind == "sanitized":
                    platform = sanitized_platform(platform, layer, folder)
                good = run_all(f"{name}, {kind}", platform, layer, folder, amount) and good
    sys.exit(0 if good else 1)


if __name__ == "__main__":
    main()
