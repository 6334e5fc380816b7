"""The text of a compile's stages: the list, the passes, one line followed through them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from kernlens.analysis.line_passes import LinePass
from kernlens.analysis.stage_changes import PassStep
from kernlens.model.build import Build
from kernlens.model.source_map import SourcePlace
from kernlens.model.stage import Snapshot
from kernlens.model.stage_map import OFFSET, StagePart
from kernlens.model.stages import stage_named
from kernlens.report.describe import plural
from kernlens.report.json_text import attributes
from kernlens.report.style import style
from kernlens.report.table import Cell, table

_HEADINGS = ("stage", "form", "of", "bytes", "done after ms", "")
_PASS_HEADINGS = ("pass", "lines added", "removed")


def build_heading(build: Build) -> Iterator[str]:
    """Yield what was compiled, with what, and the exact command; the options of a build of an application, which has none."""
    # Of a bare binary neither is known.
    what = f"{build.source or build.name or 'the program'}{f' for {build.device}' if build.device else ''}"
    yield style(what, bold=True) + f"  {', '.join(_versions(build))}"
    outcome = (
        f"compiled in {build.seconds:.2f} s" if build.ok else f"failed after {build.seconds:.2f} s: {build.reason}"
    )
    if build.seconds or not build.ok:  # A binary that holds its stages does not tell how long they took.
        yield f"  {outcome}"
    yield style(f"  $ {build.command}" if build.command else f"  options: {build.options or 'none'}", dim=True)
    yield ""


def snapshot_list(snapshots: Sequence[Snapshot], device: str) -> Iterator[str]:
    """Yield a row per stage and form of a build for ``device``: the kernels, the bytes, when the last was complete.

    Sizes of forms that are only made when asked for are not known yet.
    """
    groups: dict[tuple[str, str], list[Snapshot]] = {}
    for snapshot in snapshots:
        if not snapshot.is_pass:
            groups.setdefault((snapshot.stage, snapshot.form), []).append(snapshot)
    rows: list[tuple[Cell, ...]] = []
    previous = ""
    for (stage, form), group in groups.items():
        rows.append((stage, form, _whose(group), _size(group), _milliseconds(group), _remark(group, stage, device)))
        if stage == previous:
            rows[-1] = (*rows[-1][:5], "" if not any(snapshot.failure for snapshot in group) else rows[-1][5])
        previous = stage
    yield from table(_HEADINGS, rows)


def _whose(snapshots: Sequence[Snapshot]) -> str:
    kernels = [snapshot.kernel for snapshot in snapshots if snapshot.kernel is not None]
    if not kernels:
        return "program" if len(snapshots) == 1 else f"program, {plural(len(snapshots), 'attempt')}"
    return kernels[0] if len(kernels) == 1 else plural(len(kernels), "kernel")


def _size(snapshots: Sequence[Snapshot]) -> int | None:
    sizes = [snapshot.size for snapshot in snapshots if snapshot.size is not None]
    return sum(sizes) if sizes else None


def _milliseconds(snapshots: Sequence[Snapshot]) -> int | None:
    times = [snapshot.seconds for snapshot in snapshots if snapshot.seconds is not None]
    return round(max(times) * 1000) if times else None


def _remark(snapshots: Sequence[Snapshot], name: str, device: str) -> str:
    failure = next((snapshot.failure for snapshot in snapshots if snapshot.failure), None)
    if failure:
        return style(f"failed: {failure}", fg="red")
    stage = stage_named(name, device)
    return stage.sentence if stage is not None else ""


def pass_list(steps: Iterable[PassStep]) -> Iterator[str]:
    """Yield the passes in order with what they changed; runs of passes without effect are folded."""
    rows: list[tuple[Cell, ...]] = []
    ran = changed = parts = 0
    for step in steps:
        ran += step.count
        if step.changed is None:
            parts += 1
            rows.append((step.snapshot.stage, "?", "?"))
            continue
        if not step.changed:
            idle = "1 pass" if step.count == 1 else f"{step.count:,} passes"
            rows.append((f"    ... {idle} without effect", "", ""))
            continue
        changed += 1
        moved = not step.added and not step.removed
        rows.append(
            (step.snapshot.stage, "moved" if moved else f"+{step.added:,}", "" if moved else f"-{step.removed:,}")
        )
    unknown = f"; of {parts:,} (?) only a part was dumped, and the next pass shows what they changed" if parts else ""
    yield f"  {ran:,} passes ran, {changed:,} of them changed the program{unknown}"
    yield from table(_PASS_HEADINGS, rows)


def line_through_stages(
    where: str, text: str | None, parts: Sequence[StagePart], kernels: Sequence[str] = (), width: int | None = None
) -> Iterator[str]:
    """Yield one source line: its text, then its instructions in each stage.

    ``kernels``: only these kernels' parts (functions that are no kernels stay). ``width`` cuts long lines off.
    """
    yield style(where, fg="green", bold=True) + (f"  {text.strip()}" if text else "")
    others = {part.kernel for part in parts if part.kernel} - set(kernels) if kernels else set()
    again = {part.stage for part in parts if part.kernel is None and part.attempt > 1}
    for part in parts:
        if part.kernel in others:
            continue
        indexes = [index for index in part.indexes if part.map.functions[index] not in others]
        title = f"{part.stage}  {part.kernel}" if part.kernel else part.stage
        if part.stage in again:
            title += f"  attempt {part.attempt}"
        yield ""
        yield style(f"  {title}", bold=True) + f"  {plural(len(indexes), 'instruction')}"
        yield from _instructions(StagePart(part.map, tuple(indexes)), width)


def _instructions(part: StagePart, width: int | None) -> Iterator[str]:
    function = part.kernel or ""
    for position, run in enumerate(part.runs()):
        here = part.map.functions[run[0]]
        if here != function and part.kernel is None:
            function = here
            yield style(f"    {function}:", fg="cyan")
        elif position:
            yield style("         ...", dim=True)
        for index in run:
            yield _instruction(part, index, width)


def _instruction(part: StagePart, index: int, width: int | None) -> str:
    number = part.map.positions[index]
    label = f"{number:#06x}" if part.map.unit == OFFSET else f"{number:6}"
    calls = part.map.calls[index]
    remark = f"  ; inlined at {', '.join(str(call.line) for call in calls)}" if calls else ""
    text = part.map.texts[index].strip()
    if width is not None:
        text = text[: max(width - len(label) - len(remark) - 8, 20)]
    return f"    {style(label, fg='yellow')}  {text}{style(remark, dim=True)}"


def line_pass_list(passes: Sequence[LinePass]) -> Iterator[str]:
    """Yield the passes that changed one source line's instructions, or removed the last of them."""
    yield ""
    if not passes:
        yield "  no single pass changed it"
        return
    yield style("  passes that changed it", bold=True)
    rows = [(change.stage, change.attempt, change.before, change.after, _line_remark(change)) for change in passes]
    headings = ("pass", "attempt", "instructions before", "after", "")
    if all(change.attempt == 1 for change in passes):
        yield from table((headings[0], *headings[2:]), [(row[0], *row[2:]) for row in rows], "    ")
    else:
        yield from table(headings, rows, "    ")


def _line_remark(change: LinePass) -> str:
    words = ["removed"] if change.before and not change.after else []
    words += [f"or {' or '.join(change.partial)}, of which only a part was dumped"] if change.partial else []
    return "; ".join(words)


def line_pass_document(change: LinePass) -> dict[str, Any]:
    """Return a pass that changed one source line's instructions."""
    counts = attributes(change, "attempt", "before", "after")
    return {"pass": change.stage, **counts, "partial": list(change.partial)}


def build_document(build: Build) -> dict[str, Any]:
    """Return the compile, as every document about stages has it."""
    return {
        **attributes(build, "source", "device", "options", "command"),
        "versions": _versions(build),
        **attributes(build, "ok", "reason"),
        "seconds": round(build.seconds, 6),
    }


def _versions(build: Build) -> list[str]:
    return [build.toolchain.title] if build.toolchain else []


def snapshot_document(snapshot: Snapshot, content: bool = False) -> dict[str, Any]:
    """Return a snapshot; with ``content`` its text, or its bytes in base64."""
    document = attributes(snapshot, "stage", "kernel", "form", "ending", "attempt", "size")
    document["seconds"] = None if snapshot.seconds is None else round(snapshot.seconds, 6)
    document["failure"] = snapshot.failure
    if content and snapshot.form == "text":
        document["text"] = snapshot.text
    elif content:
        from base64 import b64encode

        document["base64"] = b64encode(snapshot.content).decode("ascii")
    return document


def pass_document(step: PassStep) -> dict[str, Any]:
    """Return a pass, or a folded run of passes without effect: ``pass`` is the last of them, ``passes`` are all."""
    return {
        "pass": step.snapshot.stage,
        "passes": list(step.names),
        "changed": step.changed,
        "added": None if step.changed is None else step.added,
        "removed": None if step.changed is None else step.removed,
        "count": step.count,
    }


def part_document(part: StagePart) -> dict[str, Any]:
    """Return one source line's part in one stage."""
    chosen = part.map
    return {
        **attributes(part, "stage", "kernel", "attempt"),
        "unit": chosen.unit,
        "instructions": [
            {
                "position": chosen.positions[index],
                "text": chosen.texts[index].strip(),
                "function": chosen.functions[index],
                **_place_document(chosen.places[index]),
                "inlined_at": [_place_document(call) for call in chosen.calls[index]],
            }
            for index in part.indexes
        ],
    }


def _place_document(place: SourcePlace | None) -> dict[str, Any]:
    if place is None:
        return {"path": None, "line": None, "column": None}
    return attributes(place, "path", "line", "column")
