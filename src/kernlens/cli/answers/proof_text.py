"""Proofs of advice as text and as JSON."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

from kernlens.cli.answers.replay_text import difference_words, not_compared_words
from kernlens.model.advice import EQUAL
from kernlens.report.describe import kernel_words, plural
from kernlens.report.style import cut, style
from kernlens.report.trial_table import figures_document
from kernlens.verbs.replay.replay_document import launch_document, ratio_words

if TYPE_CHECKING:
    from kernlens.model.advice import Advice
    from kernlens.model.trial import Trial, TrialCode
    from kernlens.verbs.replay.proofs import Proof

_WIDEST = 100
_FIGURES = ("instructions", "cycles")


def proof_lines(proofs: Sequence[Proof], left: Sequence[Advice]) -> Iterator[str]:
    """Yield each proof, what was not compared, and a line that sums up. ``left`` is the advice that no edit can follow."""
    yield ""
    replays = [proof.replayed for proof in proofs if proof.replayed is not None]
    if replays:
        where = f"{replays[0].device} ({replays[0].platform})"
        yield style(f"Each piece alone, on the first launch that was kept of its kernel, on {where}", dim=True)
    for proof in proofs:
        place = f", {proof.advice.place}" if proof.advice.place else ""
        yield style(f"{kernel_words(proof.kernel.kernel)}{place}: {proof.advice.rule}", bold=True)
        yield f"  {cut(proof.becomes, _WIDEST)}"
        yield f"  results: {_results(proof)}"
        if proof.is_equal is False and proof.replayed is not None:
            yield from (f"    {difference_words(each)}" for each in proof.replayed.builds[1].differing)
        yield f"  effect: {_effect(proof)}"
    yield from dict.fromkeys(f"{each.kernel}: {not_compared_words(each)}" for each in replays)
    held = [proof.is_kept for proof in proofs]
    equal = sum(proof.is_equal is True for proof in proofs)
    parts = [
        f"{plural(len(proofs), 'piece')} of advice followed",
        f"{equal} equal, {held.count(True) - equal} different as promised",
        f"{held.count(False)} against the promise, {held.count(None)} not known",
        f"{plural(len(left), 'piece')} left to you",
    ]
    yield "; ".join(parts)


def _results(proof: Proof) -> str:
    replayed, promised = proof.replayed, f"promised: results {proof.advice.results}"
    if replayed is None:
        return f"not compared: {proof.reason}"
    if proof.is_equal:
        # The built-in functions and the divisions of a CPU are exacter than those of a GPU.
        other = "; a GPU's arithmetic may differ" if replayed.is_cpu and proof.advice.results != EQUAL else ""
        return f"equal ({promised}){other}"
    if proof.is_equal is None:
        if replayed.is_simulated:
            return "not known: nothing is computed on a simulated device"
        differs = any(build.differing for build in replayed.builds)
        return f"not known: {'the program without the edit differs too' if differs else 'no results were kept'}"
    return f"different{'' if proof.is_kept else ', against the promise for this launch'} ({promised})"


def _effect(proof: Proof) -> str:
    """Return the time that was measured, if that is a GPU's, and the code that was counted."""
    ratio = proof.replayed.ratio if proof.replayed is not None and not proof.replayed.is_cpu else None
    code = _counted(proof.trial)
    return code if ratio is None else f"{ratio_words(ratio)} in time; {code}"


def _counted(trial: Trial) -> str:
    before, after = trial.before, trial.after
    if after is None:
        return f"code not counted: {trial.reason}"
    if trial.is_same_code:
        return trial.note or "the compiler makes the same code"
    words = []
    for figure in _FIGURES:
        old, new, ratio = getattr(before, figure), getattr(after, figure), trial.ratio(figure)
        if old is not None and new is not None:
            change = f" ({100 * (ratio - 1):+.1f}% per work-item)" if ratio is not None else ""
            words.append(f"{figure} {old:,} -> {new:,}{change}")
    return "; ".join(filter(None, (f"{', '.join(words)}, each loop once", trial.note)))


def proofs_document(proofs: Sequence[Proof]) -> list[dict[str, Any]]:
    """Return the proofs for JSON."""
    return [
        {
            "program": proof.kernel.program.name,
            "kernel": proof.kernel.kernel.name,
            "rule": proof.advice.rule,
            "path": proof.advice.path,
            "line": proof.advice.line or None,
            "column": proof.advice.column or None,
            "becomes": proof.becomes,
            "results": proof.advice.results,
            "equal": proof.is_equal,
            "kept": proof.is_kept,
            "replayed": None if proof.replayed is None else launch_document(proof.replayed),
            "reason": proof.reason or None,
            "counted": None if proof.trial.after is None else _trial_document(proof.trial, proof.trial.after),
            "uncounted": proof.trial.reason or None,
        }
        for proof in proofs
    ]


def _trial_document(trial: Trial, after: TrialCode) -> dict[str, Any]:
    return {
        "is_same_code": trial.is_same_code,
        "before": figures_document(trial.before),
        "after": figures_document(after),
        **{f"{figure}_per_work_item_ratio": trial.ratio(figure) for figure in _FIGURES},
        "note": trial.note or None,
    }
