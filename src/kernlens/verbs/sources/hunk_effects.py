"""The effect of each hunk of an edit by itself: the old source with it alone is compiled, or the new one without it."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterator, Mapping, Sequence

from kernlens.analysis.comparison.edit_hunks import Hunk, HunkChange, hunks_between, text_with, text_without
from kernlens.analysis.comparison.kernel_changes import by_badness
from kernlens.analysis.comparison.pairs import Pairing, pair
from kernlens.dataclass import dataclass, replace
from kernlens.loading import open_build
from kernlens.model.build import Build
from kernlens.model.program import Program
from kernlens.toolchain.sources.includes import include_folders
from kernlens.toolchain.sources.preprocessing import plain_lines
from kernlens.verbs.kernel_pairs import changed
from kernlens.verbs.sources.closures import Closures
from kernlens.verbs.sources.scope import SourcePair, SourceText

#: Hunks of a source that are compiled one by one, and sources of which they are.
_MOST_HUNKS, _MOST_SOURCES = 8, 8

#: Compiles texts of the old side (False) or the new one (True), each for that side's device by its toolchain.
Compile = Callable[[Sequence[tuple[SourceText, bool]]], Sequence[Build]]


@dataclass(frozen=True, slots=True)
class EditedSource:
    """A source that both sides have, with its programs on each; a side that does not compile has none."""

    pair: SourcePair
    old: Sequence[Program]
    new: Sequence[Program]


@dataclass(frozen=True, slots=True)
class _Edit:
    """A hunk in a source, with both texts of the file that it is in, and the file's name on each side."""

    source: EditedSource
    hunk: Hunk
    names: tuple[str, str]
    texts: tuple[str, str]

    def alone(self) -> SourceText:
        """Return the old source with this hunk alone."""
        assert self.source.pair.old is not None
        return _with_text(self.source.pair.old, self.names[0], text_with(self.hunk, *self.texts))

    def left_out(self) -> SourceText:
        """Return the new source without this hunk."""
        assert self.source.pair.new is not None
        return _with_text(self.source.pair.new, self.names[1], text_without(self.hunk, *self.texts))


def hunk_changes(sources: Sequence[EditedSource], compile_texts: Compile) -> tuple[HunkChange, ...]:
    """Return what each hunk of these sources does, in the order of their places; a hunk of a file that several include is one.
    Sources with a single hunk, or with many, are left out: nothing need be told apart, or it takes too long."""
    edits: list[_Edit] = []
    count = 0
    for source in sources:
        own = list(_edits(source)) if _differs(source) and count < _MOST_SOURCES else []
        if 1 < len(own) <= _MOST_HUNKS:
            edits += own
            count += 1
    builds = compile_texts([(edit.alone(), False) for edit in edits]) if edits else []
    again = [edit for edit, build in zip(edits, builds, strict=True) if not (build.ok and edit.source.old)]
    others = dict(zip(map(id, again), compile_texts([(edit.left_out(), True) for edit in again]), strict=True))
    changes: dict[Hunk, HunkChange] = {}
    for edit, build in zip(edits, builds, strict=True):
        change = _change(edit, build, others.get(id(edit)))
        known = changes.get(edit.hunk)
        changes[edit.hunk] = change if known is None else _joined(known, change)
    return tuple(changes[hunk] for hunk in sorted(changes))


def _change(edit: _Edit, alone: Build, left_out: Build | None) -> HunkChange:
    if left_out is None:
        return _compared(HunkChange(edit.hunk), edit.source.old, open_build(alone))
    if left_out.ok:
        blank = HunkChange(edit.hunk, is_left_out=True)
        if edit.source.new:
            return _compared(blank, open_build(left_out), edit.source.new)
        return replace(blank, failure=alone.told_failure or "the source compiles without it alone")
    return HunkChange(
        edit.hunk, failure=f"the source compiles neither with it alone nor without it: {alone.told_failure}"
    )


def _compared(blank: HunkChange, old: Sequence[Program], new: Sequence[Program]) -> HunkChange:
    pairing = pair(old, new)
    return replace(blank, changes=tuple(by_badness(changed(pairing.kernels))), pairing=pairing)


def _joined(first: HunkChange, second: HunkChange) -> HunkChange:
    """Return what a hunk of a file does to all sources that include it."""
    pairing = Pairing(
        (*first.pairing.kernels, *second.pairing.kernels),
        (*first.pairing.only_old, *second.pairing.only_old),
        (*first.pairing.only_new, *second.pairing.only_new),
    )
    changes = tuple(by_badness([*first.changes, *second.changes]))
    return replace(first, changes=changes, pairing=pairing, failure=first.failure or second.failure)


def _differs(source: EditedSource) -> bool:
    """Return whether hunks can be told apart: the code of both sides differs, or a side alone compiles."""
    if source.pair.old is None or source.pair.new is None or not (source.old or source.new):
        return False
    pairing = pair(source.old, source.new)
    return bool(
        not (source.old and source.new)
        or pairing.only_old
        or pairing.only_new
        or any(both.old.code != both.new.code for both in pairing.kernels)
    )


def _edits(source: EditedSource) -> Iterator[_Edit]:
    """Yield the hunks of all files of a source that are on both sides, those left out in which only comments differ."""
    old, new = source.pair.old, source.pair.new
    assert old is not None
    assert new is not None
    names = {new.name: old.name} | {name: name for name in new.closure.files if name not in (new.name, old.name)}
    for name, before in names.items():
        ids = old.closure.files.get(before), new.closure.files[name]
        if ids[0] is None or ids[0] == ids[1]:
            continue
        texts = _text(old, ids[0]), _text(new, ids[1])
        plain = _plain(texts[0])
        for hunk in hunks_between(name, *texts, _MOST_HUNKS):
            if _plain(text_with(hunk, *texts)) != plain:
                yield _Edit(source, hunk, (before, name), texts)


def _plain(text: str) -> list[str]:
    """Return a text's lines without comments and white space, which change no code."""
    return [line.strip() for line in plain_lines(text) if line.strip()]


def _text(side: SourceText, number: str) -> str:
    return side.tree.read(number).decode("utf-8", "surrogateescape")


def _with_text(text: SourceText, name: str, content: str) -> SourceText:
    """Return a source of a tree in which one file has another content."""
    data = content.encode("utf-8", "surrogateescape")
    number = f"edited {hashlib.sha256(data).hexdigest()}"
    tree = text.tree
    contents: Mapping[str, bytes] = {number: data}
    edited = replace(
        tree,
        find=lambda asked: number if asked == name else tree.find(asked),
        read=lambda asked: contents[asked] if asked in contents else tree.read(asked),
        ids=None,
    )
    folders = [folder for folder in include_folders(text.options) if not folder.startswith("/")]
    return SourceText(edited, Closures().of(edited, text.name, folders, text.options), text.options)
