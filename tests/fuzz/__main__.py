"""The fuzzing of the readers: ``python -m tests.fuzz [--seconds S | --count N | --brief] [TARGET...]``; an input again:
``--replay FILE``."""

from __future__ import annotations

import argparse
import importlib.util
import os
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path

from tests.environment import leave_the_users


def _campaign(chosen: argparse.Namespace) -> int:
    if importlib.util.find_spec("atheris") is None:
        print("atheris is not installed: pip install -e '.[fuzz]' (on Linux, x86-64)", file=sys.stderr)
        return 2
    from tests.fuzz import fuzzer

    # Before anything else imports the readers.
    fuzzer.prepare()
    from tests.fuzz.campaign import report, run
    from tests.fuzz.targets import TARGETS, named
    from tests.whole import WHOLE

    targets = named(chosen.targets or list(TARGETS))
    findings = Path(chosen.findings or tempfile.mkdtemp(prefix="kernlens-findings-")).absolute()
    findings.mkdir(parents=True, exist_ok=True)
    # Beside one input's own limits: a process that grows, or hangs in C code, is ended.
    options = [f"-seed={chosen.seed}", "-rss_limit_mb=2500", "-timeout=120"]
    count = -(-chosen.count // len(targets))
    if not (count or chosen.brief):
        options.append(f"-max_total_time={max(1, int(chosen.seconds * chosen.jobs / len(targets)))}")
    briefs = {target.name: target.brief if WHOLE else -(-target.brief // 8) for target in targets}
    counts = briefs if chosen.brief else {target.name: count or -1 for target in targets}
    with tempfile.TemporaryDirectory(prefix="kernlens-fuzz-") as scratch:
        work = Path(chosen.work or scratch).absolute()
        return report(run(targets, counts, options, findings, work, chosen.jobs), findings)


def _replay(path: Path, names: Sequence[str]) -> int:
    """Give one input to its target, which its name begins with, or its folder in the corpus is called."""
    from tests.fuzz.targets import TARGETS, named
    from tests.fuzz.verdict import fault_of

    known = [name for name in TARGETS if path.name.startswith(f"{name}-") or path.parent.name == name]
    if not (names or known):
        print(f"the name of {path} says no target; name one", file=sys.stderr)
        return 2
    chosen = named(names or [max(known, key=len)])
    faults = [fault for target in chosen if (fault := fault_of(target.run, path.read_bytes()))]
    print("\n".join(fault.story for fault in faults) or f"{path} is taken as it should be")
    return 1 if faults else 0


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.fuzz", description=__doc__)
    parser.add_argument("targets", nargs="*", metavar="TARGET", help="all if none is named")
    amount = parser.add_mutually_exclusive_group()
    amount.add_argument("--seconds", type=float, default=60.0, help="for all targets together; 60 if not given")
    amount.add_argument("--count", type=int, default=0, help="inputs of all targets together")
    amount.add_argument(
        "--brief",
        action="store_true",
        help="an eighth of the inputs of each before a release, or with KERNLENS_WHOLE all",
    )
    parser.add_argument("--jobs", type=int, default=min(2, os.cpu_count() or 1), help="targets at a time")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--findings", help="the folder for inputs that found something; a new one if not given")
    parser.add_argument("--work", help="a folder that keeps what the fuzzer has learnt, for the next run")
    parser.add_argument("--replay", type=Path, metavar="FILE", help="try this input once more, without the fuzzer")
    chosen = parser.parse_args()
    leave_the_users()
    return _replay(chosen.replay.absolute(), chosen.targets) if chosen.replay is not None else _campaign(chosen)


if __name__ == "__main__":
    sys.exit(main())
