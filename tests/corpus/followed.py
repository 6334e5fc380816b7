"""Every piece of advice that takes no person, followed on real kernels: does the code become less, and are results as promised?

    python -m tests.corpus.followed --journal FILE --on system:dg2 --on newest:bmg FOLDER [--options=-I...] ...

Each source is compiled for each ``--on``. A kernel with advice runs once on PoCL on made-up data
(``made_up_launches``), and each piece is followed there as ``advise --prove`` follows it, and
compiled for its device. Where results are against the promise, the same edit behind a test of its
condition tells a false promise from data that the condition excludes. The journal has a line for
each piece; the next run goes on behind it.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import kernlens
from kernlens.analysis.advice.division import DIVIDEND_BITS, DIVISOR_BITS
from kernlens.answers import Advice, AdvisedKernel
from kernlens.errors import KernlensError
from kernlens.model.advice import Edit
from kernlens.verbs.replay.proofs import Proof, proofs, trial_of

#: Sources with more characters are left out, and seconds of an application.
LARGEST, SECONDS = 60_000, 120
_WIDTHS = (8, 5, 6, 12, 8, 10, 6)
Row = dict[str, Any]


def main() -> int:
    """Follow what the journal has not, and print a row for each rule, and what was wrong."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folders", nargs="*", type=Path)
    parser.add_argument("--journal", type=Path, required=True)
    parser.add_argument("--on", action="append", default=[], help="TOOLCHAIN:DEVICE")
    parser.add_argument("--options", default="")
    parser.add_argument("--each", type=int, default=12, help="pieces of one rule in a source, at most")
    arguments = parser.parse_args()
    rows = _journal(arguments.journal)
    known = {row["source"] for row in rows}
    with arguments.journal.open("a") as journal:
        for source in (path for folder in arguments.folders for path in sorted(folder.rglob("*.cl"))):
            if str(source) in known or source.stat().st_size > LARGEST:
                continue
            own = list(followed(source, f"-I{source.parent} {arguments.options}".strip(), arguments.on, arguments.each))
            for row in own or [{"source": str(source)}]:
                journal.write(json.dumps(row) + "\n")
            journal.flush()
            print(f"{source}: {len(own)} followed", file=sys.stderr)
            rows += own
    _print_table([row for row in rows if "rule" in row])
    return 0


def followed(source: Path, options: str, targets: Sequence[str], each: int) -> Iterator[Row]:
    """Yield a row for each piece of advice on a source that was followed, and for each target."""
    kernels: list[AdvisedKernel] = []
    for target in targets:
        toolchain, _, device = target.partition(":")
        try:
            kernels += kernlens.advise(source, device=device, toolchain=toolchain, options=options).kernels
        except KernlensError:
            continue
    kernels = list(_with_edits(kernels, each))
    with tempfile.TemporaryDirectory() as folder:
        recording = Path(folder, "app.klens")
        told = (
            _captured(source, options, sorted({kernel.kernel.name for kernel in kernels}), recording) if kernels else ""
        )
        ran: dict[object, Proof] = {}
        for kernel in kernels:
            for piece in kernel.advice:
                key = kernel.kernel.name, piece.rule, piece.edit
                proof = ran[key] = _proof(kernel, piece, recording, told, ran.get(key))
                yield _row(source, kernel, proof, _holds(kernel, proof, recording))


def _proof(kernel: AdvisedKernel, piece: Advice, recording: Path, told: str, before: Proof | None) -> Proof:
    """Follow a piece; results are those ``before``, if the same edit ran for another device. ``told`` says why nothing ran."""
    if before is None:
        try:
            (proof,) = proofs([replace(kernel, advice=(piece,))], recording, unconfined=True)
            return proof
        except KernlensError as error:
            reason = told.strip() or str(error)
    assert piece.edit is not None
    trial = trial_of(kernel, piece, piece.edit, "\n".join(kernel.program.source_lines.get(piece.path or "", ())))
    if before is None:
        return Proof(kernel, piece, "", trial, reason=reason)
    return replace(before, kernel=kernel, advice=piece, trial=trial)


def _with_edits(kernels: Sequence[AdvisedKernel], each: int) -> Iterator[AdvisedKernel]:
    counts: Counter[tuple[object, str]] = Counter()
    options = set[tuple[int, str]]()
    for kernel in kernels:
        pieces = []
        for piece in kernel.advice:
            counted = kernel.program.device, piece.rule
            of_options = id(kernel), piece.edit.options if piece.edit else ""
            if piece.edit is None or counts[counted] >= each or (not piece.edit.replaced and of_options in options):
                continue
            options.add(of_options)
            counts[counted] += 1
            pieces.append(piece)
        if pieces:
            yield replace(kernel, advice=tuple(pieces))


def _captured(source: Path, options: str, names: Sequence[str], recording: Path) -> str:
    """Run the kernels under a capture: all in a process, else each in one of its own. Return what the application said."""
    printed = ""
    for chosen in (names, *([name] for name in names if len(names) > 1)):
        application = [sys.executable, "-m", "tests.corpus.made_up_launches", str(source), options, *chosen]
        command = [
            sys.executable,
            "-m",
            "kernlens",
            "capture",
            "--launch",
            "*:first",
            "-o",
            str(recording),
            "--",
            *application,
        ]
        try:
            done = subprocess.run(command, capture_output=True, text=True, timeout=SECONDS, check=False)
        except subprocess.TimeoutExpired:
            continue
        printed = (done.stdout + done.stderr)[-300:]
        if done.returncode == 0 and recording.exists():
            break
    return printed


def _holds(kernel: AdvisedKernel, proof: Proof, recording: Path) -> bool | None:
    """Return whether the condition of an edit holds on the data; None if that is not asked, or not known."""
    edit, text = proof.advice.edit, "\n".join(kernel.program.source_lines.get(proof.advice.path or "", ()))
    if proof.is_kept is not False or edit is None or proof.advice.rule != "integer-division":
        return None
    guarded = Edit(tuple((start, end, _guarded(text[start:end], new)) for start, end, new in edit.replaced))
    alone = replace(kernel, advice=(replace(proof.advice, edit=guarded),))
    (answer,) = proofs([alone], recording, unconfined=True)
    return None if answer.is_kept is None else not answer.is_kept


def _guarded(old: str, new: str) -> str:
    """Return a division by floats where its operands are in their range, and else the division of integers."""
    head, tail = new.split(") + 0.5f) / (", 1)
    left = head.split("(((float)(", 1)[1]
    right = tail[:-3] if tail.endswith(")))") else tail[: (len(tail) - len(")) * ())")) // 2]
    test = f"({left}) >= 0 && ({left}) < (1 << {DIVIDEND_BITS}) && ({right}) > 0 && ({right}) < (1 << {DIVISOR_BITS})"
    return f"({test} ? {new} : ({old}))"


def _row(source: Path, kernel: AdvisedKernel, proof: Proof, holds: bool | None) -> Row:
    piece, trial, build = proof.advice, proof.trial, kernel.program.build
    differing = proof.replayed.builds[1].differing if proof.replayed and len(proof.replayed.builds) == 2 else ()
    ulps = [each.difference.ulp for each in differing if each.difference]
    return {
        "source": str(source), "kernel": kernel.kernel.name, "rule": piece.rule, "line": piece.line,
        "device": build.device, "compiler": str(build.toolchain.name if build.toolchain else ""), "becomes": proof.becomes,
        "results": piece.results, "equal": proof.is_equal, "kept": proof.is_kept, "holds": holds, "ulp": ulps,
        "reason": proof.reason, "uncounted": trial.reason, "before": _figures(trial.before),
        "after": None if trial.after is None else _figures(trial.after), "note": trial.note,
        "same": trial.is_same_code, "ratio": trial.ratio("instructions"), "cycles": trial.ratio("cycles"),
    }  # fmt: skip


def _figures(code: Any) -> Row:
    return {"simd": code.simd, "instructions": code.instructions, "cycles": code.cycles, "loops": code.loops}


def is_less(row: Row) -> bool | None:
    """Return whether the code became less, as the advice promises: by work-item, where both are comparable, else by lane."""
    if row["after"] is None:
        return None
    ratio = row["ratio"]
    if ratio is None:
        before, after = (row[name]["instructions"] / (row[name]["simd"] or 1) for name in ("before", "after"))
        ratio = after / before
    return bool(ratio < 1)


def is_wrong(row: Row) -> str:
    """Return what is wrong with a piece; empty if nothing is."""
    words = []
    if is_less(row) is False:
        words.append("the same code" if row["same"] else "no fewer instructions")
    if row["kept"] is False and row["holds"] is not False:
        words.append("results")
    if row["uncounted"]:
        words.append("does not compile")
    return ", ".join(words)


def _journal(path: Path) -> list[Row]:
    return [json.loads(line) for line in path.read_text().splitlines()] if path.exists() else []


def _print_table(rows: Sequence[Row]) -> None:
    print(f"{'rule':24} {'compiler':16} followed  less  equal  as promised  not run  condition  wrong")
    groups: dict[tuple[str, str], list[Row]] = defaultdict(list)
    for row in rows:
        groups[row["rule"], f"{row['compiler']}:{row['device']}"].append(row)
        groups["all", ""].append(row)
    for (rule, compiler), own in sorted(groups.items(), key=lambda each: (each[0][0] == "all", each[0])):
        figures = [
            len(own),
            sum(is_less(row) is True for row in own),
            sum(row["equal"] is True for row in own),
            sum(row["kept"] is True and row["equal"] is not True for row in own),
            sum(row["kept"] is None for row in own),
            sum(row["holds"] is False for row in own),
            sum(bool(is_wrong(row)) for row in own),
        ]
        columns = [f"{figure:{width}}" for figure, width in zip(figures, _WIDTHS, strict=True)]
        print(f"{rule:24} {compiler:16} {' '.join(columns)}")
    for row in rows:
        if words := is_wrong(row):
            print(
                f"{words}: {row['source']}:{row['line']} {row['kernel']} {row['device']} {row['rule']}: {row['becomes'][:100]}"
            )
            print(f"   {row['before']} -> {row['after']} {row['note']} {row['uncounted'][:200]} {row['ulp']}")


if __name__ == "__main__":
    sys.exit(main())
