"""Layers for an application whose OpenCL loader knows none: a loader that does is put in front of it.

``kernlens capture``, ``layer`` and ``run`` prepare their environment here. Where a library that LD_LIBRARY_PATH leads to
comes first, a folder that holds nothing but the loader goes there; where DT_RPATH comes before that, LD_PRELOAD names it.
"""

from __future__ import annotations

import contextlib
import glob
import os
from collections.abc import Mapping, Sequence
from hashlib import sha256
from pathlib import Path

from kernlens import log
from kernlens.dataclass import dataclass, field
from kernlens.toolchain.opencl_loader import LOADER, Loader, fronts, read_loader
from kernlens.toolchain.opencl_vendors import HOME, SORT, lists_the_same, same_vendors
from kernlens.toolchain.packages import how_to_get
from kernlens.toolchain.used_loaders import ABSOLUTE, LoaderUse, Programs, programs_of, used_loaders

#: e_machine of programs that this kernlens starts: x86-64 and AArch64.
_MACHINES = {"x86_64": 62, "aarch64": 183}


@dataclass(frozen=True, slots=True)
class LoaderFront:
    """The way in which an application's loaders come to take layers.

    ``uses`` are the loaders that it would load, ``front`` the one in front of those that take no layers (None: none is
    needed, or there is none), ``changes`` the variables (None: to be unset). ``obstacle`` is why some take none all the same,
    ``repair`` the variable that lets them ("" if none does).
    """

    uses: tuple[LoaderUse, ...] = ()
    front: Loader | None = None
    changes: Mapping[str, str | None] = field(default_factory=dict)
    obstacle: str = ""
    repair: str = ""

    @property
    def without_layers(self) -> list[LoaderUse]:
        """The loaders that the application would load and that take no layers."""
        return [use for use in self.uses if not use.loader.takes_layers]

    @property
    def sentence(self) -> str:
        """A sentence on the loader that was put in front, and on the obstacle; "" if nothing was to be done."""
        names = ", ".join(dict.fromkeys(use.loader.path for use in self.without_layers if use.kind != ABSOLUTE))
        if self.front is None or not names:
            return self.obstacle
        ways = " and ".join(name for name in ("LD_LIBRARY_PATH", "LD_PRELOAD") if name in self.changes)
        behind = f"; {self.obstacle}" if self.obstacle else ""
        return (
            f"the OpenCL loader {names} takes no layers, so kernlens put {self.front.path} in front of it ({ways}),"
            f" which lists the same drivers{behind}"
        )

    def apply(self, environment: dict[str, str]) -> None:
        """Make the changes in an application's environment."""
        for name, value in self.changes.items():
            if value is None:
                environment.pop(name, None)
            else:
                environment[name] = value


def find_front(words: Sequence[str], program: str, environment: Mapping[str, str]) -> LoaderFront:
    """Return what is to be put in front of the loaders of an application, the file ``program``, started by ``words``; for
    any program if there are no words."""
    programs = programs_of(words, program, environment) if words else Programs((), None)
    uses = tuple(used_loaders(programs, environment))
    without = [use for use in uses if not use.loader.takes_layers]
    for use in uses:
        answer = "takes" if use.loader.takes_layers else "does not take"
        log.debug("toolchain", "%s, by %s of %s, %s layers", use.loader.path, use.kind, use.requester or "any", answer)
    if not without:
        return LoaderFront(uses)
    absolute = [use for use in without if use.kind == ABSOLUTE]
    reachable = [use for use in without if use.kind != ABSOLUTE]
    obstacle = (
        f"{absolute[0].requester} has the absolute path of {absolute[0].loader.path}, and nothing can be put in front of that:"
        f" {instead_of_path()}"
        if absolute
        else ""
    )
    if not reachable:
        return LoaderFront(uses, obstacle=obstacle)
    machine = next((use.loader.machine for use in reachable if use.loader.machine is not None), None)
    machine = _MACHINES.get(os.uname().machine) if machine is None else machine
    front = _best(reachable, machine, programs.python, environment)
    if front is None:
        return LoaderFront(
            uses,
            obstacle=(
                f"the OpenCL loader {reachable[0].loader.path} takes no layers, and kernlens found none that does to put in"
                f" front of it: {how_to_get(LOADER)}, or pip install pyopencl beside kernlens"
            ),
        )
    try:
        changes = _changes(front, reachable, environment)
    except OSError as error:
        return LoaderFront(uses, obstacle=f"no loader can be put in front of {reachable[0].loader.path}: {error}")
    # What comes in front of one must not show another that the application loads instead other drivers: it takes the first.
    others = (use.loader for use in uses if use.is_likely and use.loader.takes_layers)
    other = next((each for each in others if not lists_the_same(each.vendors, environment, changes)), None)
    if other is not None:
        if _is_preloaded(environment):
            return LoaderFront(uses, obstacle=obstacle)
        repair = _unsorted(uses, front, reachable, environment) or f"LD_PRELOAD={front.path}"
        return LoaderFront(
            uses,
            obstacle=(
                f"the OpenCL loader {reachable[0].loader.path} takes no layers, and kernlens put none in front of it: that"
                f" would change the drivers, or their order, that {other.path} lists, which the application may load instead."
                f" What goes through the latter is recorded; to record what goes through the former: {repair} kernlens"
                " capture ..."
            ),
            repair=repair,
        )
    return LoaderFront(uses, front, changes, obstacle)


def instead_of_path(front: Loader | None = None) -> str:
    """Return what helps where a program opens a loader by its path, in words; ``front`` is a loader that takes layers."""
    link = f" (a link to {front.path})" if front is not None else ""
    return f"have it open {LOADER} without a path, or put a loader that takes layers in that file's place{link}"


def _is_preloaded(environment: Mapping[str, str]) -> bool:
    """Return whether LD_PRELOAD has a loader that takes layers, which then answers to the usual name."""
    loaders = map(read_loader, _others(environment, "LD_PRELOAD", ""))
    return any(each is not None and each.takes_layers and each.soname == LOADER for each in loaders)


def _unsorted(
    uses: Sequence[LoaderUse], front: Loader, reachable: Sequence[LoaderUse], environment: Mapping[str, str]
) -> str:
    """Return the variable that keeps all loaders from sorting drivers if ``front`` changes nothing for the others then; ""."""
    tried = {**environment, SORT: "none"}
    changes = _changes(front, reachable, tried)
    others = [use.loader.vendors for use in uses if use.is_likely and use.loader.takes_layers]
    return f"{SORT}=none" if all(lists_the_same(each, tried, changes) for each in others) else ""


def _best(
    uses: Sequence[LoaderUse], machine: int | None, python: str | None, environment: Mapping[str, str]
) -> Loader | None:
    """Return the first loader that can be put in front; where one is to be preloaded, rather one of the usual name, which
    the dynamic loader then takes for every request for that."""
    if machine is None:
        return None
    able = list(fronts(machine, python, environment))
    if any(use.is_pinned for use in uses):
        able.sort(key=lambda loader: loader.soname != LOADER)
    return next(iter(able), None)


def _changes(front: Loader, uses: Sequence[LoaderUse], environment: Mapping[str, str]) -> dict[str, str | None]:
    base = front_folder()
    link = _linked(base, front.path)
    changes: dict[str, str | None] = {}
    for use in uses:
        changes |= same_vendors(use.loader.vendors, front.vendors, environment, base)
    if front.vendors.needs_home and HOME not in environment:
        libraries = os.path.dirname(front.path)
        changes[HOME] = str(base if glob.glob(f"{glob.escape(libraries)}/*.icd") else os.path.dirname(libraries))
    if any(not use.is_pinned for use in uses):
        changes["LD_LIBRARY_PATH"] = ":".join(
            [str(link.parent), *_others(environment, "LD_LIBRARY_PATH", str(link.parent))]
        )
    if any(use.is_pinned for use in uses):
        # Behind what is preloaded anyway: that may be to see calls of OpenCL before any loader.
        preloaded = os.path.realpath(front.path)
        changes["LD_PRELOAD"] = ":".join([*_others(environment, "LD_PRELOAD", preloaded), preloaded])
    return changes


def _others(environment: Mapping[str, str], name: str, path: str) -> list[str]:
    """Return the paths of a variable but for ``path``."""
    value = environment.get(name)
    return [each for each in value.split(":") if each != path] if value else []


def front_folder() -> Path:
    """Return the folder of the loaders that were put in front: ``kernlens/opencl-loader`` in the user's cache folder."""
    base = os.environ.get("XDG_CACHE_HOME")
    if not base or not os.path.isabs(base):
        base = os.path.join(os.path.expanduser("~"), ".cache")
    return Path(base) / "kernlens" / "opencl-loader"


def _linked(base: Path, loader: str) -> Path:
    """Make a folder that holds nothing but a link to the loader, under the name that programs ask for, and return the link.
    Raises OSError if it cannot be made, or is somebody else's."""
    target = os.path.realpath(loader)
    folder = base / sha256(os.fsencode(target)).hexdigest()[:16]
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    status = folder.stat()
    if status.st_uid != os.geteuid() or status.st_mode & 0o022:
        raise PermissionError(f"{folder} could be written by somebody else")
    if any(character in str(folder) for character in ":; $"):
        raise OSError(
            f"{folder} cannot stand in a list of paths; set XDG_CACHE_HOME to a folder without : ; $ and blanks"
        )
    link = folder / LOADER
    if not link.is_symlink() or os.readlink(link) != target:
        temporary = folder / f"{LOADER}.{os.getpid()}"
        with contextlib.suppress(FileNotFoundError):
            temporary.unlink()
        temporary.symlink_to(target)
        temporary.replace(link)
    return link
