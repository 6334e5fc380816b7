"""The names of a document's kernels as a list shows them: in groups, and what all names of a group share said once.

A *word* of a name ends after ``_``, ``::``, ``<`` and ``, ``, and before a capital behind a small letter or digit.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Hashable, Iterable, Iterator, Sequence
from typing import NamedTuple, TypeVar

Item = TypeVar("Item", bound=Hashable)

#: Where a word of a name ends; and where the shared end of names may begin.
_WORD_END = re.compile(r"(?<=_)|(?<=::)|(?<=<)|(?<=, )|(?<=[a-z0-9])(?=[A-Z])")
_END_BEGINS = re.compile(r"(?=_)|(?=>)|(?=,)|(?<=[a-z0-9])(?=[A-Z])")
#: A word that opens no group: ``q4_K`` stays whole, and so do the arguments of a template. Namespaces may have digits.
_NO_GROUP = re.compile(r",|[0-9](?!.*::$)")
#: In the arguments of a template: a name in a namespace, and one without.
_QUALIFIED = re.compile(r"\b(?<!\w::)(?:[A-Za-z_]\w*::)+(?!operator\b)([A-Za-z_]\w*)(?!\w|::)")
_BARE = re.compile(r"(?<![\w:])[A-Za-z_]\w*(?!\w|::)")
#: Kernels that a file has at least, in the median, where files make the groups.
_MEDIAN = 2
#: Names that share a word open a group of their own, from as many, while the group around them has more than so many.
_SHARING, _LARGE = 4, 14
_SHARING_CXX, _LARGE_CXX = 2, 3
#: Words that a group's names share at most, and characters of a name that are looked at.
_DEEPEST = 40
_LONGEST = 2000

OTHERS = "other names"


class Listed(NamedTuple):
    """A kernel of the list: its name for people, the file or program that it is from, and how it was built."""

    name: str
    file: str
    device: str = ""
    toolchain: str = ""
    options: str = ""


class Group(NamedTuple):
    """A group of kernels. ``build`` tells it from the same group of another build; it is empty where there is only one
    build. ``title`` and, softer, ``words`` are its head, both empty where it needs none. ``before`` and ``after`` are the
    beginning and the end that all its names share."""

    build: str
    title: str
    words: str
    before: str
    after: str

    def row(self, name: str) -> str:
        """Return what is left of a name of this group: with ``before`` and ``after`` it is the whole name."""
        return name[len(self.before) : len(name) - len(self.after)]


class KernelNames(NamedTuple):
    """The groups of a list; for each kernel the index of its group, what the list shows of its name, and what tells it from
    another of the same name (empty where there is none).

    What is shown is the row of the group; in C++, types in the arguments of templates are without their namespaces where all
    names of the group mean the same by them.
    """

    groups: list[Group]
    group_of: list[int]
    rows: list[str]
    beside: list[str]


def kernel_names(kernels: Sequence[Listed]) -> KernelNames:
    """Return how a list shows these kernels.

    Groups are builds, where there are several, and in each the files, if half of these have two kernels or more; else the
    words that names share.
    """
    titles = _short_paths({kernel.file for kernel in kernels})
    groups: list[Group] = []
    group_of = [0] * len(kernels)
    shown = [""] * len(kernels)
    beside = [""] * len(kernels)
    for build, rows in _gathered(range(len(kernels)), _builds(kernels)).items():
        for title, members, is_shortened in _groups_of(kernels, rows, titles):
            names = [kernels[row].name for row in members]
            before, after = shared(names) if is_shortened else ("", "")
            group = Group(build, *_head(title, before, after), before, after)
            for row, text in zip(members, _without_namespaces(group, names), strict=True):
                group_of[row] = len(groups)
                shown[row] = text
            groups.append(group)
            for row, words in _told_apart(kernels, members, titles):
                beside[row] = words
    return KernelNames(groups, group_of, shown, beside)


def shared(names: Sequence[str]) -> tuple[str, str]:
    """Return the beginning and the end that all names share: whole words, and each name keeps a character. A C++ name's
    end are the brackets that the beginning leaves open."""
    if len(names) < 2:
        return "", ""
    shortest = min(map(len, names))
    common = min(_common_length(names), shortest - 1)
    before = next((end for end in reversed(_ends(_WORD_END, names[0][: common + 1])) if end <= common), 0)
    common = min(_common_length([name[: -_LONGEST - 1 : -1] for name in names]), shortest - before - 1)
    if "<" not in names[0]:
        last = names[0][-common - 1 :] if common > 0 else ""
        lengths = (len(last) - begin for begin in _ends(_END_BEGINS, last))
        after = next((length for length in lengths if length <= common), 0)
    else:
        beginning = names[0][:before]
        brackets = min(len(name) - len(name.rstrip(">")) for name in names)
        after = max(0, min(beginning.count("<") - beginning.count(">"), brackets, common))
        # Some demanglers write "> >".
        after += 0 < after < common and all(name[-after - 1] == " " for name in names)
    return names[0][:before], names[0][len(names[0]) - after :]


def _common_length(texts: Sequence[str]) -> int:
    """Return how many characters all texts begin with alike."""
    first, last = min(texts)[:_LONGEST], max(texts)[:_LONGEST]
    shortest = min(len(first), len(last))
    return next((at for at in range(shortest) if first[at] != last[at]), shortest)


def _ends(pattern: re.Pattern[str], text: str) -> list[int]:
    """Return the places within a text where the pattern matches, ascending."""
    return [match.start() for match in pattern.finditer(text) if 0 < match.start() < len(text)]


def _gathered(rows: Iterable[int], key: Callable[[int], Item]) -> dict[Item, list[int]]:
    gathered: dict[Item, list[int]] = {}
    for row in rows:
        gathered.setdefault(key(row), []).append(row)
    return gathered


def _builds(kernels: Sequence[Listed]) -> Callable[[int], str]:
    """Return what a kernel's build is called: of device, toolchain and options those that differ. Options are part of it only
    where all have the same files, as in a sweep: the programs of an application have each their own."""
    devices = {kernel.device for kernel in kernels}
    toolchains = {kernel.toolchain for kernel in kernels}
    files: dict[str, set[str]] = {}
    for kernel in kernels:
        files.setdefault(kernel.options, set()).add(kernel.file)
    is_sweep = len(files) > 1 and len(set(map(frozenset, files.values()))) == 1

    def build(row: int) -> str:
        kernel = kernels[row]
        words = [kernel.device or "?"] if len(devices) > 1 else []
        words += [kernel.toolchain or "?"] if len(toolchains) > 1 else []
        words += [kernel.options or "no options"] if is_sweep else []
        return " · ".join(words)

    return build


def _groups_of(
    kernels: Sequence[Listed], rows: Sequence[int], titles: dict[str, str]
) -> Iterator[tuple[str, list[int], bool]]:
    """Yield the groups of a build: title, kernels, and whether their names are shortened."""
    files = _gathered(rows, lambda row: kernels[row].file)
    sizes = sorted(map(len, files.values()))
    is_cxx = 2 * sum("::" in kernels[row].name for row in rows) >= len(rows)
    if sizes[len(sizes) // 2] >= _MEDIAN and not is_cxx and (len(files) > 1 or len(rows) <= _LARGE):
        alone = [members[0] for members in files.values() if len(members) == 1]
        yield from ((titles[file], members, True) for file, members in files.items() if len(members) > 1)
        if alone:
            yield (
                "files with one kernel each" if len(alone) > 1 else titles[kernels[alone[0]].file],
                alone,
                False,
            )
        return
    groups = _by_words(kernels, rows, is_cxx=is_cxx)
    if len(groups) == 1:
        is_named = is_cxx and len(rows) > 1 and shared([kernels[row].name for row in rows])[0]
        yield titles[next(iter(files))] if len(files) == 1 and not is_named else "", groups[0], True
        return
    others = []
    for members in groups:
        if len(members) > 1 and any(shared([kernels[row].name for row in members])):
            yield "", members, True
        else:
            others += members
    if others:
        yield OTHERS, others, False


def _by_words(kernels: Sequence[Listed], rows: Sequence[int], *, is_cxx: bool) -> list[list[int]]:
    """Return groups of kernels whose names share their first words."""
    sharing, large = (_SHARING_CXX, _LARGE_CXX) if is_cxx else (_SHARING, _LARGE)
    groups: list[list[int]] = []
    pending = [(list(rows), 0, 0)]
    while pending:
        members, start, depth = pending.pop()
        rest: list[int] = []
        opened: list[tuple[list[int], int, int]] = []
        words = _gathered(members, lambda row: _next_word(kernels[row].name, start))  # noqa: B023
        for word, sharers in words.items():
            is_group = len(sharers) >= sharing and (len(members) > large or len(words) == 1) and depth < _DEEPEST
            is_group = is_group and not _NO_GROUP.search(word)
            if is_group and word.endswith("<"):
                groups.append(sharers)
            elif is_group and any(len(kernels[row].name) > start + len(word) for row in sharers):
                opened.append((sharers, start + len(word), depth + 1))
            else:
                rest += sharers
        if rest:
            groups.append(rest)
        pending += reversed(opened)
    return groups


def _next_word(name: str, start: int) -> str:
    """Return the word of a name that begins at ``start``."""
    match = _WORD_END.search(name, start + 1)
    return name[start : match.start() if match else None]


def _head(title: str, before: str, after: str) -> tuple[str, str]:
    """Return the head of a group, and what it says softer: what the names share. A beginning that is the file's own name
    is not said again."""
    if title:
        if before == f"{title.rsplit('.', 1)[0]}_":
            before = ""
        return title, f"{before}…{after}" if before or after else ""
    bracket = before.find("<")
    space = before.rfind("::", 0, len(before) if bracket < 0 else bracket)
    if space < 0 or space + 2 == len(before):
        return (f"{before}…{after}", "") if before or after else ("", "")
    return f"{before[space + 2 :]}…{after}", before[:space]


def _without_namespaces(group: Group, names: Sequence[str]) -> list[str]:
    """Return the rows of a group with types in templates' arguments named shortly, where a short name has one meaning."""
    rows = [group.row(name) for name in names]
    starts = [0 if "<" in group.before else row.find("<") + 1 or len(row) for row in rows]
    arguments = [row[start:] for row, start in zip(rows, starts, strict=True)]
    bare = {match[0] for text in arguments for match in _BARE.finditer(text)}
    meanings: dict[str, set[str]] = {}
    for text in arguments:
        for match in _QUALIFIED.finditer(text):
            meanings.setdefault(match[1], set()).add(match[0])

    def short(match: re.Match[str]) -> str:
        return match[1] if len(meanings[match[1]]) == 1 and match[1] not in bare else match[0]

    return [row[:start] + _QUALIFIED.sub(short, text) for row, start, text in zip(rows, starts, arguments, strict=True)]


def _told_apart(kernels: Sequence[Listed], members: Sequence[int], titles: dict[str, str]) -> Iterator[tuple[int, str]]:
    """Yield what tells kernels of one group and name apart: their files, the options that not all of them have, numbers."""
    for twins in _gathered(members, lambda row: kernels[row].name).values():
        if len(twins) < 2:
            continue
        files = {kernels[row].file for row in twins}
        options = [_option_words(kernels[row].options) for row in twins]
        everywhere = set.intersection(*map(set, options))
        words = []
        for row, own in zip(twins, options, strict=True):
            parts = [titles[kernels[row].file]] if len(files) > 1 else []
            words.append(" ".join([*parts, *(word for word in own if word not in everywhere)]))
        alike = Counter(words)
        number: Counter[str] = Counter()
        for row, text in zip(twins, words, strict=True):
            number[text] += 1
            yield row, text if alike[text] == 1 and text else f"{text} #{number[text]}".lstrip()


def _option_words(options: str) -> list[str]:
    """Return the options of a build, each with its value."""
    return [" ".join(match.split()) for match in re.findall(r"-[DUI] \S+|\S+", options)]


def _short_paths(paths: Iterable[str]) -> dict[str, str]:
    """Return for each path its last part, with as many folders before it as tell it from the others."""
    parts = {path: path.replace("\\", "/").strip("/").split("/") for path in paths}
    short: dict[str, str] = {}
    count = 1
    while len(short) < len(parts):
        tails = {path: "/".join(names[-count:]) for path, names in parts.items()}
        alike = Counter(tails.values())
        for path, tail in tails.items():
            if path not in short and (alike[tail] == 1 or count >= min(8, len(parts[path]))):
                short[path] = tail or path
        count += 1
    return short
