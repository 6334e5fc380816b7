"""Every part of a file, written into a folder: the verb ``extract``."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from kernlens.analysis.parts import parts
from kernlens.errors import OutputError
from kernlens.toolchain.folders import make_folder
from kernlens.verbs.absent import whole_of
from kernlens.verbs.programs import containers_for, for_device, with_kernels

if TYPE_CHECKING:
    from kernlens.loading import Contents


def extract(
    contents: Contents, folder: Path, device: str | None = None, kernel_names: Sequence[str] = ()
) -> list[tuple[str, int]]:
    """Write the parts of ``contents``, only those for ``device`` if it is given, below ``folder``, and return the path there
    and the bytes of each. With ``kernel_names`` they are those of programs with these kernels, without other kernels' code.
    Raises NotFoundError if no program, nor a failed build, is for the device, or none has such a kernel, OutputError if a part
    cannot be written."""
    written: list[tuple[str, int]] = []
    checked: set[Path] = set()
    whole, failed = whole_of(contents), contents.failed_builds(device)
    of_device = for_device(contents.programs, device, must_be=not failed, whole=whole)
    programs = with_kernels(of_device, kernel_names, whole, device)
    containers = () if kernel_names else containers_for(contents.containers, device)
    for part in parts(containers, programs, failed.builds):
        _write(folder, part.path, part.content, checked)
        written.append(("/".join(part.path), len(part.content)))
    return written


def _write(folder: Path, names: tuple[str, ...], content: memoryview | bytes, checked: set[Path]) -> None:
    """Write one part; no link in the folder is followed out of it. ``checked`` are folders of which that is known."""
    target = folder.joinpath(*names)
    try:
        if target.parent not in checked:
            if not target.parent.resolve().is_relative_to(folder.resolve()):
                raise OutputError(f"{target.parent} is a symbolic link out of {folder}; name an empty folder with -o")
            make_folder(target.parent)
            checked.add(target.parent)
        target.unlink(missing_ok=True)
        target.write_bytes(content)
    except OSError as error:
        raise OutputError(f"cannot write {target}: {error.strerror}; name another folder with -o") from error
