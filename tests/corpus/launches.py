"""All launches of real programs on PoCL, kept and replayed: bit-equal results, and programs that see nothing of it.

    python -m tests.corpus.launches [NAME]... [--environment ENV] [--root ROOT] [--rodinia FOLDER]

Each program runs twice as it is and once under ``capture --launch '*:every=1'``; output, as far as the first two agree, and
exit status must be the same, and as many launches kept as a driver in front of PoCL's counts. A layer writes the order of its
events, which is compared as far as it is promised (tests/corpus/event_order.py). ``replay --all-launches`` runs all again.
With ``--other DEVICE`` the first launch of each kernel runs on that device too, and what differs is shown with what OpenCL C
allows; OTHER_VENDORS in the environment is then a folder with the vendors' files of both. ENV is a virtual environment with
the wheels, ROOT a folder that Debian's packages were unpacked in, and FOLDER the ``opencl`` folder of Rodinia, built. What is
not there is named. The exit status is 1 if anything differs.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from tests.corpus.event_order import differences, read
from tests.corpus.programs import PROGRAMS as OTHERS
from tests.corpus.programs import Program
from tests.integration.capture.capture_applications import APPLICATIONS
from tests.integration.capture.capture_fixtures import FLAGS, HERE, MAIN, POCL_DRIVER, counting_driver

_TUNER = ("-runs", "1", "-fraction", "64", "-platform", "0")
_RODINIA = {
    "backprop": "./backprop.out -n 65536",
    "gaussian": "./gaussian.out -s 64",
    "lavaMD": "./lavaMD.out -boxes1d 2",
    "lud": "./lud.out -s 128",
    "nw": "./nw.out 256 10 ./nw.cl",
    "particlefilter": "./OCL_particlefilter_naive.out -x 32 -y 32 -z 4 -np 256",
}
PROGRAMS = {
    **{name: program for name, program in OTHERS.items() if not name.startswith(("piglit", "clinfo", "clpeak"))},
    "opencv": Program(("python", str(HERE / "opencv_tapi.py")), "opencv-python-headless"),
    "darktable": Program(APPLICATIONS["darktable"].words, "darktable", is_timed=True),
    **{
        f"clblast-{name}": Program((f"clblast_tuner_{name}", *sizes.split(), *_TUNER), "clblast-utils", is_timed=True)
        for name, sizes in (("transpose_fast", "-m 256 -n 256"), ("xgemv", "-m 256 -n 256"), ("copy_fast", "-m 256 -n 256"))
    },
    **{f"rodinia-{name}": Program(tuple(words.split()), "Rodinia", is_timed=True) for name, words in _RODINIA.items()},
    "kinds-of-memory": Program(("kept_launches",), "gcc"),
}  # fmt: skip


@dataclass
class Outcome:
    """What came of a program: launches that were counted, kept and equal, commands whose order was compared, and its faults."""

    counted: int = 0
    recorded: int = 0
    equal: int = 0
    events: int = 0
    faults: list[str] = field(default_factory=list)
    others: list[str] = field(default_factory=list)


def tried(program: Program, folder: Path, variables: dict[str, str], start: Path | None, other: str | None) -> Outcome:
    """Run a program twice as it is and once captured, and replay what was kept."""
    outcome, recording, runs = Outcome(), folder / "x.klens", list[subprocess.CompletedProcess[str]]()
    capturing = [*MAIN, "capture", "--launch", "*:every=1", "--launch-bytes", str(4 << 30), "-o", str(recording), "--"]
    for number, command in enumerate((program.words, program.words, (*capturing, *program.words))):
        home, counts = folder / f"home{number}", folder / f"counted{number}"
        home.mkdir()
        counts.touch()
        work = home / "work"
        shutil.copytree(start, work) if start is not None else work.mkdir()
        caches = {"HOME": str(home), "XDG_CACHE_HOME": str(home), "POCL_CACHE_DIR": str(home / "pocl")}
        logs = {"COUNTED": str(counts), "EVENTS": str(folder / f"events{number}")}
        (folder / f"events{number}").touch()
        environment = {**os.environ, **variables, **program.variables, **caches, **logs}
        runs.append(
            subprocess.run(
                command, cwd=work, env=environment, capture_output=True, text=True, errors="replace", check=False,
                timeout=1800,
            )
        )  # fmt: skip
    if runs[0].returncode == runs[1].returncode != runs[2].returncode:
        outcome.faults.append(f"exit status {runs[2].returncode}, without kernlens {runs[0].returncode}")
    if not _is_same(*(program.lines(each.stdout) for each in runs)):
        outcome.faults.append("its output differs")
    first, again, captured = (read(folder / f"events{number}") for number in range(3))
    outcome.events = len(captured.commands)
    outcome.faults += differences(first, again, captured)
    outcome.counted = Counter((folder / "counted2").read_text().split())["launch"]
    if not recording.exists():
        outcome.faults.append(f"nothing was recorded: {runs[2].stderr[-300:]}")
        return outcome
    _replay(recording, outcome)
    if other is not None:
        outcome.others = list(on_another(recording, other))
    if outcome.counted != outcome.recorded:
        outcome.faults += [line for line in runs[2].stderr.splitlines() if "kept" in line or "launch" in line][-4:]
    return outcome


def _is_same(first: list[str], again: list[str], captured: list[str]) -> bool:
    """Return whether the captured output is that of the others, as far as these agree: threads write in any order."""
    if first != again and sorted(first) == sorted(again):
        return sorted(captured) == sorted(first)
    lines = zip(first, again, captured, strict=False)
    return len(captured) == len(first) and all(old != new or old == shown for old, new, shown in lines)


def _launches(recording: Path) -> list[dict[str, Any]]:
    words = [*MAIN, "replay", str(recording), "--list", "--json"]
    rows: list[dict[str, Any]] = json.loads(subprocess.run(words, capture_output=True, text=True, check=True).stdout)[
        "kept"
    ]
    return rows


def _replay(recording: Path, outcome: Outcome) -> None:
    outcome.recorded = len(_launches(recording))
    if not outcome.recorded:
        return
    words = [*MAIN, "replay", str(recording), "--all-launches", "--runs", "0", "--full"]
    done = subprocess.run(words, capture_output=True, text=True, check=False, timeout=3600)
    lines = done.stdout.splitlines()
    outcome.equal = sum(line.startswith("launch ") and line.endswith(": equal") for line in lines)
    if outcome.equal != outcome.recorded:
        outcome.faults.append(" | ".join([*lines[-6:], done.stderr[-300:]]))


def on_another(recording: Path, device: str) -> Iterator[str]:
    """Yield what the first launch of each kernel leaves on another device."""
    environment = {**os.environ, "OCL_ICD_VENDORS": os.environ["OTHER_VENDORS"]}
    for kernel in dict.fromkeys(each["kernel"] for each in _launches(recording)):
        words = [*MAIN, "replay", str(recording), "--kernel", kernel, "--device", device, "--runs", "0", "--json"]
        done = subprocess.run(words, env=environment, capture_output=True, text=True, check=False, timeout=3600)
        if done.returncode > 1:
            yield f"{kernel}: {done.stderr.strip().splitlines()[-1][:200]}"
            continue
        (launch,) = json.loads(done.stdout)["launches"]
        (build,) = launch["builds"]
        told = [launch["answer"]]
        for each in (each for each in build["results"] if each["difference"]):
            differing = each["difference"]
            told.append(f"{differing['count']} of {each['elements']} {each['type']}, at most {differing['ulp']} ulp")
        if build["accuracy"]:
            bounds = (f"{each['function']} {each['words'] or each['ulp']}" for each in build["accuracy"]["bounds"])
            told += [build["accuracy"]["answer"], *bounds]
        yield f"{kernel}: {'; '.join(told)}"


def event_layer(folder: Path) -> str:
    """Build the layer that writes the order of events in a folder, and return its path."""
    library = folder / "libevents.so"
    words = [*FLAGS, "-shared", "-fPIC", "-o", str(library), str(HERE / "event_layer.c"), "-lpthread"]
    subprocess.run(["gcc", *words], check=True, timeout=60)
    return str(library)


def drivers(folder: Path) -> dict[str, str]:
    """Return the variables that lead programs to a driver that counts launches, behind a layer that writes events down."""
    return {**counting_driver(folder, POCL_DRIVER), "OPENCL_LAYERS": event_layer(folder)}


def _is_there(program: Program, start: Path | None) -> bool:
    if program.package == "Rodinia":
        return start is not None and (start / program.words[0]).is_file()
    return shutil.which(program.words[0]) is not None


def main(arguments: list[str]) -> int:
    """Print a line for each program; the number of those with a fault."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("names", nargs="*", metavar="NAME", help=f"default: all ({', '.join(PROGRAMS)})")
    parser.add_argument("--environment", type=Path, default=Path(sys.prefix))
    parser.add_argument("--root", type=Path, default=Path("/"))
    parser.add_argument("--rodinia", type=Path)
    parser.add_argument("--other", metavar="DEVICE")
    chosen = parser.parse_args(arguments)
    if unknown := [name for name in chosen.names if name not in PROGRAMS]:
        parser.error(f"there is no program {unknown[0]}")
    total, faulty = Outcome(), 0
    with tempfile.TemporaryDirectory() as name:
        driver = drivers(Path(name))
        source, binary = str(HERE / "kept_launches.c"), f"{name}/kept_launches"
        subprocess.run(["gcc", *FLAGS, "-o", binary, source, "-lOpenCL", "-lpthread"], check=True)
        folders = [chosen.environment / "bin", chosen.root / "usr/bin", Path(name)]
        os.environ["PATH"] = ":".join([*map(str, folders), os.environ["PATH"]])
        if chosen.root != Path("/"):
            libraries = chosen.root / "usr/lib/x86_64-linux-gnu"
            driver["LD_LIBRARY_PATH"] = ":".join(
                [str(libraries), *(str(each) for each in libraries.iterdir() if each.is_dir())]
            )
        for title in chosen.names or PROGRAMS:
            program = PROGRAMS[title]
            is_of_rodinia = program.package == "Rodinia" and chosen.rodinia
            start = chosen.rodinia / title.removeprefix("rodinia-") if is_of_rodinia else None
            if not _is_there(program, start):
                print(f"{title:22} is not installed: {program.package}", flush=True)
                continue
            with tempfile.TemporaryDirectory() as work:
                outcome = tried(program, Path(work), driver, start, chosen.other)
            counts = f"{outcome.counted:,} launches counted, {outcome.recorded:,} kept, {outcome.equal:,} equal"
            counts += f"; {outcome.events:,} events"
            print(f"{title:22} {counts}", *outcome.faults, sep="; ", flush=True)
            print(*(f"    {each}" for each in outcome.others), sep="\n", end="\n" if outcome.others else "", flush=True)
            total.recorded, total.equal = total.recorded + outcome.recorded, total.equal + outcome.equal
            faulty += bool(outcome.faults)
    print(f"{total.recorded:,} launches kept, {total.equal:,} equal; {faulty} programs with a fault")
    return faulty


if __name__ == "__main__":
    sys.exit(min(main(sys.argv[1:]), 1))
