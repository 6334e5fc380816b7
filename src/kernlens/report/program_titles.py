"""Titles of programs that tell each from the others: by source, device and toolchain, and by more where these are alike."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping

from kernlens.model.program import Program
from kernlens.report.describe import device_words


def program_titles(programs: Iterable[Program]) -> dict[int, str]:
    """Return a title for people by each program's id: ``blur on dg2 (12.55.8) by newest``. Programs of one name that were
    compiled from several sources are called by the sources' paths."""
    each = {id(program): program for program in programs}
    paths: dict[str, set[str]] = {}
    for program in each.values():
        paths.setdefault(_name(program), set()).add(source_path(program))

    def title(program: Program) -> str:
        is_shared = len(paths[_name(program)]) > 1
        name = (is_shared and source_path(program)) or _name(program)
        return f"{name} on {device_words(program)}{by_toolchain(program)}"

    return _unique(each, title)


def stable_titles(programs: Iterable[Program], locate: Callable[[str], str] = str) -> dict[int, str]:
    """Return a title for CI by each program's id, which stays the same when others are checked as well: the path of the source,
    as ``locate`` returns it, or the program's name, then the device and the toolchain's name."""
    each = {id(program): program for program in programs}

    def title(program: Program) -> str:
        path = source_path(program)
        device = program.device or program.device_id or "no device"
        return f"{locate(path) if path else _name(program)} on {device}{by_toolchain(program)}"

    return _unique(each, title)


def variant_words(programs: Iterable[Program]) -> dict[int, str]:
    """Return the build options by each program's id, of those that several programs of one name and device do not share:
    the variants of a source. Of the others nothing."""
    groups: dict[tuple[str, str], dict[int, Program]] = {}
    for program in programs:
        groups.setdefault((program.name, device_words(program)), {})[id(program)] = program
    return {
        key: program.build.stated_options or ""
        for group in groups.values()
        if len({program.build.stated_options for program in group.values()}) > 1
        for key, program in group.items()
    }


def source_path(program: Program) -> str:
    """Return the path of a program's main source, as the caller or the recording names it; empty if it is not known."""
    return program.build.path or next(filter(None, program.build.parts.source_paths), "")


def _name(program: Program) -> str:
    """Return the name of its build; a recording adds device and toolchain where one name stands for several programs."""
    return program.build.name or program.name


def by_toolchain(program: Program) -> str:
    """Return the end of a title, `` by newest``; empty if no toolchain is known."""
    return f" by {program.build.toolchain.name}" if program.build.toolchain else ""


def _unique(programs: Mapping[int, Program], title: Callable[[Program], str]) -> dict[int, str]:
    """Return the titles; those that several programs share with the build options, and a number where these are alike."""
    titles = {key: title(program) for key, program in programs.items()}
    shared = Counter(titles.values())
    for key, program in programs.items():
        if shared[titles[key]] > 1 and (options := program.build.stated_options):
            titles[key] += f" ({options})"
    numbers: Counter[str] = Counter()
    shared = Counter(titles.values())
    for key, words in titles.items():
        numbers[words] += 1
        if shared[words] > 1 and numbers[words] > 1:
            titles[key] = f"{words} #{numbers[words]}"
    return titles
