"""Every command of kernlens over a recording, whose ends are held against what the recording has: see ``captured``.

A command must end with the exit status that the recording's own figures say, print no traceback and no fault of kernlens, say
nothing on standard error but sentences, and print with ``--json`` a document of its schema. Pages, text and documents must
name every kernel.
"""

from __future__ import annotations

import json
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import kernlens
from kernlens.analysis.cxx_names import kernel_title
from tests.corpus.outcome import Outcome
from tests.documents import check_printed

#: What one command may take: the largest recording has 391 kernels.
LIMIT_SECONDS = 900
_FAULTS = ("Traceback (most recent call last)", "a fault of kernlens itself", "AssertionError")


@dataclass(frozen=True)
class _Command:
    """A command, the exit statuses that are right, and what its answer must hold."""

    words: tuple[str, ...]
    statuses: tuple[int, ...] = (0,)
    names: tuple[str, ...] = ()
    writes: Path | None = None


def run_verbs(where: str, recording: Path, folder: Path) -> Outcome:
    """Run the commands; ``folder`` is for what they write."""
    outcome = Outcome("commands")
    done = _run(["inspect", str(recording), "--json"])
    inspected = json.loads(done.stdout)
    for command in _commands(inspected, recording, folder):
        outcome.compared += 1
        outcome.differences += [f"{where}: kernlens {' '.join(command.words)}: {wrong}" for wrong in _wrong(command)]
    return outcome


def _commands(inspected: dict[str, Any], recording: Path, folder: Path) -> Iterator[_Command]:
    path = str(recording)
    kernels = [kernel for program in inspected["programs"] for kernel in program["kernels"]]
    names = tuple(dict.fromkeys(kernel["name"] for kernel in kernels))
    has_log = bool(inspected["failed_builds"]) or any(program.build.log.strip() for program in kernlens.load(recording))
    yield _Command(("inspect", "--log", path), (0,) if has_log else (2,))
    yield _Command(("inspect", "--log", path, "--json"), (0,) if has_log else (2,))
    for words in (
        ("inspect",), ("inspect", "--sort", "code-size"), ("annotate",), ("annotate", "--top", "5"),
        ("annotate", "--waits"), ("annotate", "--pressure"), ("annotate", "--own-lines"), ("annotate", "--format", "csv"),
        ("disasm",), ("advise",), ("symbols", "--all"), ("diff", path), ("recording", "list"),
    ):  # fmt: skip
        has_names = words[0] in ("annotate", "disasm", "inspect") and words[-1] not in ("5", "csv")
        yield _Command((*words, path), names=names if has_names else ())
        if "csv" not in words:
            yield _Command((*words, path, "--json"), names=names if has_names else ())
    yield from _of_one_kernel(path, inspected["programs"])
    yield from _checks(path, kernels, bool(inspected["failed_builds"]))
    for extra in ((), ("--json",)):
        yield _Command(("link", path, *extra), (0, 1))
        page, parts = folder / f"page{len(extra)}.html", folder / f"parts{len(extra)}"
        yield _Command(("report", path, "-o", str(page), "--no-stages", *extra), writes=page)
        yield _Command(("extract", path, "-o", str(parts), *extra), writes=parts)


def _of_one_kernel(path: str, programs: Sequence[dict[str, Any]]) -> Iterator[_Command]:
    """Yield commands on the largest kernel that only one program has: on one with lines, and on one without."""
    kernels = [kernel for program in programs for kernel in program["kernels"]]
    counts = Counter(kernel["name"] for kernel in kernels)
    for has_lines in (True, False):
        of_one = [kernel for kernel in kernels if counts[kernel["name"]] == 1 and kernel["line_table"] == has_lines]
        if not of_one:
            continue
        name = max(of_one, key=lambda kernel: int(kernel["code_size"]))["name"]
        for words in (
            ("annotate", "--line", "1"), ("annotate", "--offset", "0"), ("annotate", "--waits"), ("disasm", "--editable"),
            ("advise",), ("stages",), ("inspect",),
        ):  # fmt: skip
            # A line of a kernel without lines cannot be asked for; what was built from a binary has no stages.
            statuses = ((0, 1) if has_lines else (2,)) if "--line" in words else (0, 2) if "stages" in words else (0,)
            asked = (words[0], path, "--kernel", name, *words[1:])
            yield _Command(asked, statuses)
            if "--editable" not in words:
                yield _Command((*asked, "--json"), statuses)


def _checks(path: str, kernels: Sequence[dict[str, Any]], failed: bool) -> Iterator[_Command]:
    """Yield checks of one figure each, with the status that the figures of ``inspect`` say."""
    for key, option, limit in (
        ("spill_bytes", "--max-spill-bytes", 0), ("scratch_bytes", "--max-scratch", 0), ("slm_bytes", "--max-slm", 0),
        ("barriers", "--max-barriers", 0), ("code_size", "--max-code-size", 4096), ("grf_count", "--max-grf-count", 128),
    ):  # fmt: skip
        values = [kernel.get(key) for kernel in kernels]
        is_out = failed or any(value is not None and value > limit for value in values)
        status = 1 if is_out else 2 if None in values else 0
        yield _Command(("check", path, option, str(limit)), (status,))
        yield _Command(("check", path, option, str(limit), "--json"), (status,))
    yield _Command(("check", path, "--baseline", path, "--allow-failed-builds"))
    yield _Command(("check", path, "--max-code-size", "1000000000", "--allow-failed-builds"))


def _run(words: Sequence[str]) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "kernlens", *words],
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        errors="surrogateescape",
        timeout=LIMIT_SECONDS,
    )


def _wrong(command: _Command) -> Iterator[str]:
    """Yield what is wrong with a command's end and answer."""
    done = _run(command.words)
    if done.returncode not in command.statuses:
        yield f"ends with {done.returncode}, not {command.statuses}: {done.stderr.strip()[-300:]}"
    for fault in _FAULTS:
        if fault in done.stderr or fault in done.stdout:
            yield f"prints {fault!r}: {done.stderr.strip()[-300:]}"
    if "--json" in command.words and done.returncode in (0, 1):
        try:
            check_printed(command.words, done.stdout)
            json.loads(done.stdout)
        except (AssertionError, ValueError) as error:
            yield f"prints no document of its schema: {str(error)[:300]}"
    missing = [name for name in command.names if name not in done.stdout and kernel_title(name) not in done.stdout]
    if missing:
        yield f"does not name {len(missing)} kernels, such as {missing[0]}"
    if command.writes is not None and not command.writes.exists():
        yield f"writes no {command.writes.name}"
