"""Replays as JSON, with the answer in words."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict
from typing import Any

from kernlens.report.describe import plural
from kernlens.verbs.replay.kept import RecordedLaunch
from kernlens.verbs.replay.replayed import Compared, Profile, Replayed, ReplayedBuild
from kernlens.verbs.replay.timing import Ratio


def replay_document(replayed: Sequence[Replayed]) -> dict[str, Any]:
    """Return the document of launches that ran again."""
    return {
        "schema": 1,
        "equal": all(each.is_equal for each in replayed),
        "launches": [launch_document(each) for each in replayed],
    }


def kept_document(launches: Sequence[RecordedLaunch]) -> dict[str, Any]:
    """Return the document of the launches that a recording keeps."""
    names = ("kernel", "number", "process", "global_size", "local_size", "global_offset", "nanoseconds", "size")
    return {
        "schema": 1,
        "kept": [
            {
                "program": each.build.title,
                "device": each.build.device,
                **{name: getattr(each.launch, name) for name in names},
                "memory": len(each.launch.memory),
            }
            for each in launches
        ],
    }


def launch_document(replayed: Replayed) -> dict[str, Any]:
    """Return a launch that ran again."""
    names = ("kernel", "number", "process", "program", "platform", "device", "recorded_on", "global_size", "local_size")
    return {
        **{name: getattr(replayed, name) for name in names},
        "answer": answer_words(replayed),
        "equal": replayed.is_equal,
        "simulated": replayed.is_simulated,
        "cpu": replayed.is_cpu,
        "builds": [build_document(build) for build in replayed.builds],
        "ratio": ratio_document(replayed.ratio),
        "not_compared": list(replayed.not_compared),
        "notes": list(replayed.notes),
        "profile": None if replayed.profile is None else _profile_document(replayed.profile),
    }


def _profile_document(profile: Profile) -> dict[str, Any]:
    return {
        "command": profile.command,
        "results": _results_document(profile.compared),
        "output": profile.output,
        "notes": list(profile.notes),
        "files": list(profile.files),
    }


def ratio_document(ratio: Ratio | None) -> dict[str, Any] | None:
    """Return how many times as fast a build is."""
    return None if ratio is None else {**asdict(ratio), "different": ratio.is_different}


def build_document(build: ReplayedBuild) -> dict[str, Any]:
    """Return a build that ran: its results and its times."""
    return {
        "title": build.title,
        "options": build.options,
        "results": _results_document(build.compared),
        "times": None if build.times is None else asdict(build.times),
        "accuracy": None if build.accuracy is None else asdict(build.accuracy),
    }


def _results_document(compared: Sequence[Compared]) -> list[dict[str, Any]]:
    return [
        {
            "memory": each.title,
            "type": each.type_name or None,
            "elements": each.elements,
            "difference": None if each.difference is None else asdict(each.difference),
        }
        for each in compared
    ]


def answer_words(replayed: Replayed) -> str:
    """Return the answer: ``equal; 1.31x (1.28 to 1.33), 20 pairs``."""
    if replayed.is_simulated:
        return "nothing was computed"
    if not any(build.compared for build in replayed.builds):
        words = "nothing could be compared"
    elif replayed.is_equal:
        words = "equal"
    else:
        words = "different"
    return words if replayed.ratio is None else f"{words}; {ratio_words(replayed.ratio)}"


def ratio_words(ratio: Ratio) -> str:
    """Return how many times as fast the other build is."""
    pairs = plural(ratio.pairs, "pair")
    if ratio.low is None or ratio.high is None:
        return f"{ratio.median:.2f}x, of {pairs}: too few to tell a difference"
    interval = f"{ratio.median:.2f}x ({ratio.low:.2f} to {ratio.high:.2f}), {pairs}"
    return interval if ratio.is_different else f"no difference in time: {interval}"
