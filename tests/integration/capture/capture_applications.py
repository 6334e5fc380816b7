"""Applications, captured: ``python -m tests.integration.capture.capture_applications [NAME...]`` (docs/commands/capture.md).

Each runs three times on a simulated dg2: twice as it is, and under ``kernlens capture`` below a layer that counts its calls
(sources/counting_layer.c). Prints for each what was counted and recorded, whether all programs were read, and whether
output, as far as the first two runs agree about it, and exit status were the same. The exit status is 1 if anything was
not. Applications that are not installed are named with the package that has them.
"""

from __future__ import annotations

import argparse
import re
import shutil
import subprocess
import sys
import tempfile
from collections import Counter
from dataclasses import dataclass
from pathlib import Path

import kernlens
from tests.integration.capture.capture_fixtures import HERE, Done, alone, build_counter, captured
from tests.integration.layers.opencl_layer_fixtures import SLICES, Platform, intel


@dataclass(frozen=True)
class Application:
    """A real application. ``package`` is who has the program, and the Python ``module`` if it needs one: Debian's name,
    or a command to install it. ``is_timed`` is whether its output holds times and what follows from them, so that its
    numbers are not compared."""

    words: tuple[str, ...]
    package: str
    is_timed: bool = False
    module: str = ""

    def is_installed(self) -> bool:
        if shutil.which(self.words[0]) is None:
            return False
        ask = [self.words[0], "-c", f"import {self.module}"]
        return not self.module or subprocess.run(ask, capture_output=True, check=False).returncode == 0

    def lines(self, output: str) -> list[str]:
        return (re.sub(" *[0-9.]+", " #", output) if self.is_timed else output).splitlines()


def _ffmpeg(filters: str) -> Application:
    start = (
        "ffmpeg -nostdin -v error -init_hw_device opencl=gpu -filter_hw_device gpu -f lavfi -i testsrc=s=128x96:d=0.1"
    )
    graph = f"format=yuv420p,hwupload,{filters},hwdownload,format=yuv420p"
    return Application((*start.split(), "-vf", graph, "-f", "null", "-"), "ffmpeg")


APPLICATIONS = {
    "clinfo": Application(("clinfo",), "clinfo"),
    "darktable": Application(("darktable-cltest",), "darktable"),
    "ffmpeg-filters": _ffmpeg("unsharp_opencl,avgblur_opencl,sobel_opencl"),
    "ffmpeg-nlmeans": _ffmpeg("nlmeans_opencl"),
    "ffmpeg-deshake": _ffmpeg("deshake_opencl"),
    "opencv": Application(("/usr/bin/python3", str(HERE / "opencv_tapi.py")), "python3-opencv", module="cv2"),
    "clfft": Application(("clFFT-client", "-x", "64"), "clfft-client"),
    "clblast-xaxpy": Application(
        ("clblast_tuner_xaxpy", "-n", "4096", "-runs", "1", "-fraction", "16"),
        "clblast-utils",
        is_timed=True,
    ),
    "clblast-transpose": Application(
        ("clblast_tuner_transpose_fast", "-m", "256", "-n", "256", "-runs", "1", "-fraction", "16"),
        "clblast-utils",
        is_timed=True,
    ),
    "x264": Application(
        (
            "x264",
            "--opencl",
            "--demuxer",
            "raw",
            "--input-res",
            "320x240",
            "--frames",
            "12",
            "-o",
            "/dev/null",
            "/dev/zero",
        ),
        "x264",
    ),
    "openvino": Application(
        ("python3", str(HERE / "openvino_convolutions.py")),
        "a virtual environment: pip install openvino==2024.6.0",
        module="openvino",
    ),
}


def compare(name: str, application: Application, platform: Platform, counter: Path) -> list[str]:
    """Return what was not as it should be; print the numbers."""
    outputs: list[tuple[int, list[str]]] = []
    with tempfile.TemporaryDirectory() as scratch:
        for number in (1, 2):
            home = Path(scratch, f"home{number}")
            home.mkdir()
            run = alone(platform, home, *application.words, **_empty_caches(home))
            outputs.append((run.returncode, application.lines(run.stdout)))
        home = Path(scratch, "captured")
        home.mkdir()
        done = captured(platform, counter, home, *application.words, options=(), **_empty_caches(home))
        faults = list(_faults(done)) if done.recording.exists() else ["nothing was recorded"]
        (status, first), (_, second) = outputs
        if done.status != status:
            faults.append(f"exit status {done.status} in place of {status}")
        stable = [old == new for old, new in zip(first, second, strict=False)]
        pairs = application.lines(done.out)
        if any(same and old != new for same, old, new in zip(stable, first, pairs, strict=False)):
            faults.append("another output")
        counted = ", ".join(f"{number} {what}" for what, number in sorted(done.counted.items()))
        recorded = next((line for line in done.err.splitlines() if " recorded in " in line), "nothing")
        print(f"{name:20} counted: {counted}; {recorded.partition(' recorded in ')[0]}", flush=True)
    return faults


def _empty_caches(home: Path) -> dict[str, str]:
    return {"HOME": str(home), "XDG_CACHE_HOME": str(home / "cache"), "OPENCV_OPENCL_CACHE_ENABLE": "0"}


def _faults(done: Done) -> list[str]:
    faults = []
    noted = done.noted
    recorded = Counter(call["operation"] for call in noted["builds"])
    recorded["kernel"] = sum(kernel["created"] for kernel in noted["kernels"])
    recorded["launch"] = sum(kernel["launches"] for kernel in noted["kernels"])
    for what in ("build", "compile", "link", "kernel", "launch"):
        if recorded[what] != done.counted[what]:
            faults.append(f"{what}: recorded {recorded[what]}, counted {done.counted[what]}")
    good = {f"program-{number}" for number, build in enumerate(done.builds, 1) if build.ok}
    for program in kernlens.load(done.recording):
        for kernel in program.kernels.values():
            if not kernel.instructions or not (kernel.source_map or kernel.line_table_reason):
                faults.append(f"{program.name}, {kernel.name}: not read, and no reason given")
    if not good:
        faults.append("no build succeeded")
    return faults


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("names", nargs="*", metavar="NAME", help=f"default: all ({', '.join(APPLICATIONS)})")
    chosen = parser.parse_args().names or list(APPLICATIONS)
    if unknown := [name for name in chosen if name not in APPLICATIONS]:
        parser.error(f"there is no application {unknown[0]}")
    status = 0
    with tempfile.TemporaryDirectory() as scratch:
        counter = build_counter(Path(scratch))
        for name in chosen:
            application = APPLICATIONS[name]
            if not application.is_installed():
                print(f"{name:20} is not installed: {application.package}")
                status = 1
                continue
            for fault in compare(name, application, intel("dg2", SLICES["dg2"]), counter):
                print(f"{name:20} FAULT: {fault}", flush=True)
                status = 1
    return status


if __name__ == "__main__":
    sys.exit(main())
