"""The checks of the corpus over programs that applications build: ``python -m tests.corpus.captured --help``.

Each application runs under ``kernlens capture --simulate`` with the newest toolchain. Every row of ``tests.corpus.verify``
is then held against the captured programs. The compiler's own dumps are kept of what it compiles meanwhile; a kernel's mark
behind its code, a hash, tells which dump is its own. Programs that come from binaries have none: the rows that hold kernlens
against what the compiler says leave them out.
Kernels whose code was changed after the compile are counted; the rows about lines leave them out.
``--verbs`` runs every command over the recordings too (``captured_verbs``).
"""

from __future__ import annotations

import argparse
import os
import shutil
import subprocess
import sys
import tempfile
import venv
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import kernlens
from kernlens.isa.intel.iga_library import search_also
from kernlens.model.kernel import Kernel
from tests.corpus.build import Built
from tests.corpus.captured_verbs import run_verbs
from tests.corpus.checks import (
    CHECKS,
    check_columns,
    check_distances,
    check_dump,
    check_join,
    check_lines,
    check_numbers,
    check_texts,
    check_unchanged,
)
from tests.corpus.manifest import CorpusProgram, Package
from tests.corpus.outcome import Outcome
from tests.environment import cache_folder
from tests.tree import ROOT

DEVICES = ("bmg", "dg2", "ptl")
#: What one application may take. llama.cpp's 123 programs take 4 minutes of an idle processor, and are built twice.
LIMIT_SECONDS = 3600
SCRIPTS = ROOT / "tests" / "corpus" / "applications"
#: The row of ``--verbs``.
VERBS = "commands end as they should"
#: A file of an environment that got all its packages.
_WHOLE = "whole"
#: Rows that need the compiler's dump of each kernel, and those that need a line table in each.
_OF_DUMPS = (check_distances, check_dump, check_numbers)
_OF_LINES = (check_lines, check_columns, check_join, check_dump, check_numbers)


@dataclass(frozen=True)
class Application:
    """An application: what it needs of PyPI, its script and the words behind it. ``is_built``: the script, called with
    ``--prepare``, builds what it runs, once."""

    name: str
    packages: tuple[str, ...]
    script: str
    words: tuple[str, ...] = ()
    is_built: bool = False


APPLICATIONS = (
    Application("openvino-convolution", ("openvino==2026.4.1",), "openvino_models.py", ("convolution",)),
    Application("openvino-attention", ("openvino==2026.4.1",), "openvino_models.py", ("attention",)),
    Application("openvino-mixed", ("openvino==2026.4.1",), "openvino_models.py", ("mixed",)),
    Application(
        "llama.cpp", ("cmake==4.4.5", "ninja==1.13.2", "scikit-build-core==1.1.2"), "ggml_kernels.py", is_built=True
    ),
    Application("dpnp", ("dpnp==0.20.0",), "dpnp_arrays.py"),
)


def captured(application: Application, device: str, folder: Path, python: Path) -> Path:
    """Run an application for a simulated device; return its recording, whose compiles left dumps in ``folder/dump``."""
    recording, dumps = folder / "captured.klens", folder / "dump"
    if recording.exists():
        return recording
    shutil.rmtree(dumps, ignore_errors=True)
    dumps.mkdir(parents=True)
    command = [sys.executable, "-m", "kernlens", "capture", "--simulate", device, "--toolchain", "newest", "--lines"]
    command += ["-o", str(recording), "--", str(python), str(SCRIPTS / application.script), *application.words]
    dumped = {"IGC_ShaderDumpEnable": "1", "IGC_DumpToCustomDir": str(dumps)}
    done = subprocess.run(
        command, env=os.environ | dumped, capture_output=True, text=True, cwd=folder, timeout=LIMIT_SECONDS
    )
    if not recording.exists():
        raise SystemExit(f"{application.name} on {device}: {done.stderr.strip()[-1000:]}")
    return recording


def programs(name: str, recording: Path, dumps: Path, folder: Path) -> Iterator[tuple[Built, bool]]:
    """Yield the captured programs as files below ``folder``, each with its dumps, and whether each kernel has one."""
    for program in kernlens.load(recording):
        if not program.kernels or program.device is None:
            continue
        home = folder / program.name
        (home / "dump").mkdir(parents=True)
        (home / "program").write_bytes(program.binary)
        hashes = {mark for kernel in program.kernels.values() if (mark := _mark(kernel))}
        for path in (
            path for mark in hashes for path in dumps.glob(f"*{mark:016x}*") if path.suffix in (".asm", ".ll")
        ):
            shutil.copy(path, home / "dump" / path.name)
        source = CorpusProgram(f"{name}/{program.name}", Package(name, "", ""), (), program.build.options or "", "")
        yield Built(source, program.device.name, home), bool(hashes) and any((home / "dump").glob("*.asm"))


def _mark(kernel: Kernel) -> int | None:
    """Return the hash behind a kernel's code, as Intel's compiler leaves it; None if there is none."""
    return kernel.trailer.hash if kernel.trailer and not kernel.code_change else None


def check(built: Built, root: Path, *, has_dumps: bool, has_lines: bool) -> dict[str, Outcome]:
    """Return the outcome of each row over one captured program."""
    left_out = {*(() if has_dumps else _OF_DUMPS), *(() if has_lines else _OF_LINES)}
    outcomes = {}
    for name, row in CHECKS.items():
        if row in left_out:
            continue
        try:
            outcomes[name] = check_texts(built, root) if row is check_texts else row(built)
        except ValueError as error:  # The oracle does not know something that the corpus has not.
            outcomes[name] = Outcome("", differences=[f"{built.name}: {error}"])
    return outcomes


def prepared(application: Application, chosen: Path | None) -> Path:
    """Return a Python that has what the application needs: ``chosen``, else one in the tests' cache; build what it runs."""
    home = cache_folder() / "applications" / "-".join((application.script, *application.packages)).replace("=", "")
    python = chosen or home / "bin" / "python"
    if chosen is None and not (home / _WHOLE).exists():
        venv.create(home, with_pip=True, clear=True)
        subprocess.run([home / "bin" / "pip", "install", "-q", *application.packages], check=True)
        (home / _WHOLE).touch()
    if application.is_built:
        subprocess.run([python, SCRIPTS / application.script, "--prepare"], check=True)
    return python


def main() -> int:
    """Print one line per application and device, and one per row; exit status 1 if anything differs."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--newest-root", type=Path, required=True)
    parser.add_argument("--device", action="append", help=f"default: {', '.join(DEVICES)}")
    parser.add_argument("--application", action="append", choices=[each.name for each in APPLICATIONS])
    parser.add_argument("--python", type=Path, help="the Python of an environment that has the applications' packages")
    parser.add_argument("--prepare", action="store_true", help="only install and build the applications")
    parser.add_argument(
        "--keep", type=Path, help="keep recordings and dumps in this folder, and use those that are there"
    )
    parser.add_argument("--verbs", action="store_true", help="run every command over each recording too")
    parser.add_argument("--show", type=int, default=10, help="how many differences to print per row (default: 10)")
    chosen = parser.parse_args()
    os.environ["KERNLENS_NEWEST_ROOT"] = str(chosen.newest_root)
    search_also(lambda: {"newest": str(chosen.newest_root)})
    totals: dict[str, Outcome] = {}
    count = 0
    for application in APPLICATIONS:
        if chosen.application and application.name not in chosen.application:
            continue
        python = prepared(application, chosen.python)
        for device in () if chosen.prepare else chosen.device or DEVICES:
            with tempfile.TemporaryDirectory() as name:
                parent = chosen.keep and chosen.keep.absolute() / application.name / device
                folder = parent or Path(name) / "captured"
                recording = captured(application, device, folder, python)
                where = f"{application.name} on {device}"
                count += hold(where, recording, folder / "dump", Path(name), chosen.newest_root, totals)
                if chosen.verbs:
                    totals.setdefault(VERBS, Outcome("commands")).add(run_verbs(where, recording, Path(name)))
    if chosen.prepare:
        return 0
    print(f"{count:,} kernels")
    for name, outcome in totals.items():
        print(f"{name}: {outcome.compared:,} {outcome.unit}, {len(outcome.differences)} differences{outcome.aside}")
        for difference in outcome.differences[: chosen.show]:
            print(f"    {difference}")
    return 1 if any(outcome.differences for outcome in totals.values()) or not count else 0


def hold(name: str, recording: Path, dumps: Path, folder: Path, root: Path, totals: dict[str, Outcome]) -> int:
    """Hold every row against the programs of a recording; return the number of its kernels, and print a line."""
    kernels = dumped = changed = 0
    for built, has_dumps in programs(name, recording, dumps, folder / "programs"):
        (program,) = kernlens.load(built.binary)
        kernels += len(program.kernels)
        dumped += len(program.kernels) if has_dumps else 0
        are_changed = [kernel.code_change for kernel in program.kernels.values() if kernel.code_change]
        changed += len(are_changed)
        # SPIR-V may come without lines, as dpnp's does.
        has_lines = any(kernel.table_as_held is not None for kernel in program.kernels.values())
        for row, outcome in check(built, root, has_dumps=has_dumps, has_lines=has_lines).items():
            if are_changed and CHECKS[row] is check_unchanged:
                continue
            totals.setdefault(row, Outcome(outcome.unit)).add(outcome)
    print(
        f"{name}: {kernels} kernels, {dumped} with the compiler's dump, {changed} changed after the compile", flush=True
    )
    return kernels


if __name__ == "__main__":
    sys.exit(main())
