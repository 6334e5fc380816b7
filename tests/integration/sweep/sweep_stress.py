"""The cost of a sweep of very many compiles; run by hand.

    python -m tests.integration.sweep.sweep_stress [--cells 2500 10000] [--workers 2]

The compiler is a script that gives a binary which the real one made of a small kernel, so that what is measured is kernlens:
its processor time and memory, for each number of cells with an empty cache, and once more with a full one; and on a Dask
cluster of so many workers, with an empty cache, with those of the workers, and with the client's. All answers are compared.
"""

from __future__ import annotations

import argparse
import os
import resource
import subprocess
import sys
import time
from contextlib import ExitStack
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from tests.integration.sweep import dask_processes
from tests.integration.sweep.dask_processes import run_scheduler, run_worker, running

KERNEL = (
    "kernel void scale(global int *a) { int i = get_global_id(0); for (int n = 0; n < a[0]; n++) a[i + n] *= n; }\n"
)
#: Compiles by copying, and answers the questions that kernlens asks.
OCLOC = """\
#!/bin/sh
case "$1 $2" in
  "query OCL_DRIVER_VERSION") printf '22.43.24595' > "$2" ;;
  "compile --help") echo "  <device_type> can be: skl, dg2" ;;
  compile*)
    while [ $# -gt 1 ]; do [ "$1" = -out_dir ] && cp FOLDER/binary "$2/program"; shift; done ;;
esac
"""


def write_copying_compiler(folder: Path) -> None:
    """Write a compiler into a folder, with the source of the binary that it copies."""
    (folder / "scale.cl").write_text(KERNEL)
    words = ["compile", "-file", "scale.cl", "-device", "dg2", "-output", "binary", "-output_no_suffix"]
    subprocess.run(["ocloc", *words, "-out_dir", str(folder)], cwd=folder, check=True, capture_output=True)
    (folder / "ocloc").write_text(OCLOC.replace("FOLDER", str(folder)))
    (folder / "ocloc").chmod(0o755)


def run(folder: Path, cells: int, name: str, cache: str, *more: str) -> tuple[float, float, float]:
    """Sweep so many cells, with more words; return kernlens' processor time in seconds, the same for a cell in ms, and
    megabytes at most."""
    command = ["import resource, sys", "from kernlens.cli.main import main"]
    command += ["try:\n    main()\nfinally:\n    own = resource.getrusage(resource.RUSAGE_SELF)"]
    command += ["    print(own.ru_utime + own.ru_stime, own.ru_maxrss / 1024, file=open('used', 'w'))"]
    values = ",".join(map(str, range(cells // 10)))
    words = [
        "sweep",
        "scale.cl",
        "--device",
        "dg2",
        "-D",
        "A=0,1,2,3,4,5,6,7,8,9",
        "-D",
        f"B={values}",
        "--csv",
        f"{name}.csv",
        *more,
    ]
    environment = {
        **os.environ,
        "PATH": f"{folder}:{os.environ['PATH']}",
        "KERNLENS_CACHE": str(folder / f"{cache}-{cells}"),
    }
    done = subprocess.run(
        [sys.executable, "-c", "\n".join(command), *words], cwd=folder, env=environment, capture_output=True, text=True
    )
    if done.returncode:
        raise SystemExit(done.stderr)
    seconds, peak = map(float, (folder / "used").read_text().split())
    return seconds, seconds / cells * 1e3, peak


def main() -> None:
    """Print a line for each run."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--cells", type=int, nargs="+", default=[2500, 10000])
    parser.add_argument("--workers", type=int, default=2)
    chosen = parser.parse_args()
    dask_processes.preload()
    with TemporaryDirectory(prefix="kernlens-sweep-") as name, ExitStack() as stack:
        folder = Path(name)
        write_copying_compiler(folder)
        _, address = stack.enter_context(running(run_scheduler, {}))
        for number in range(chosen.workers):
            variables = {
                "PATH": f"{folder}:{os.environ['PATH']}",
                "KERNLENS_CACHE": str(folder / f"worker-cache{number}"),
            }
            words: tuple[Any, ...] = (address, folder / f"worker{number}", variables, "", str(folder / "scale.cl"), {})
            stack.enter_context(running(run_worker, *words))
        cluster = ("--scheduler", address)
        for cells in chosen.cells:
            for title, cache, *more in (
                ("empty cache", "cache"),
                ("full cache", "cache"),
                ("cluster, empty caches", "cluster", *cluster),
                ("cluster, full caches of workers", "other", *cluster),
                ("cluster, full cache here", "cluster", *cluster),
            ):
                start = time.monotonic()
                seconds, each, peak = run(folder, cells, "now", cache, *more)
                figures = f"{seconds:.1f} s of kernlens, {each:.2f} ms a cell, {peak:.0f} MB"
                print(f"{cells:,} cells, {title}: {figures}, {time.monotonic() - start:.0f} s in all", flush=True)
                if title == "empty cache":
                    (folder / "now.csv").rename(folder / "first.csv")
                elif (folder / "now.csv").read_bytes() != (folder / "first.csv").read_bytes():
                    raise SystemExit("the answers differ")
        children = resource.getrusage(resource.RUSAGE_CHILDREN)
        print(f"with the script: {children.ru_utime + children.ru_stime:.0f} s of processor time in all")


if __name__ == "__main__":
    main()
