"""``kernlens extract``: every part of a file, as files."""

from __future__ import annotations

from pathlib import Path

import click

from kernlens.cli.options import device_option, json_option, path_argument, source_root_option, verb
from kernlens.cli.output import print_json, print_lines
from kernlens.errors import OutputError
from kernlens.report.table import table
from kernlens.toolchain.folders import make_folder
from kernlens.verbs.programs import containers_for, for_device


@verb("kernlens extract blur.bin -o blur.parts")
@path_argument()
@click.option("-o", "--output", metavar="DIR", type=click.Path(), required=True, help="The folder to write to.")
@source_root_option()
@device_option()
@json_option()
def command(path: str, output: str, source_roots: tuple[str, ...], device: str | None, as_json: bool) -> None:
    """Write every container, section, kernel and source of a file into a folder, and list them."""
    from kernlens.analysis.parts import parts
    from kernlens.loading import open_file

    contents = open_file(path, device=device, source_roots=source_roots)
    folder = Path(output)
    written: list[tuple[str, int]] = []
    checked: set[Path] = set()
    programs = for_device(contents.programs, device)
    for part in parts(containers_for(contents.containers, device), programs):
        _write(folder, part.path, part.content, checked)
        written.append(("/".join(part.path), len(part.content)))
    if as_json:
        print_json({"schema": 1, "folder": output, "parts": [{"path": name, "size": size} for name, size in written]})
    else:
        print_lines(table(("file", "bytes"), written))
    contents.check()


def _write(folder: Path, names: tuple[str, ...], content: memoryview | bytes, checked: set[Path]) -> None:
    """Write one part. Links that stand in the folder already are not followed: the content stays inside it.

    ``checked`` are the folders of which that is known.
    """
    target = folder.joinpath(*names)
    try:
        if target.parent not in checked:
            if not target.parent.resolve().is_relative_to(folder.resolve()):
                raise OutputError(f"{target.parent} is a link that leads out of {folder}; name an empty folder with -o")
            make_folder(target.parent)
            checked.add(target.parent)
        target.unlink(missing_ok=True)
        target.write_bytes(content)
    except OSError as error:
        raise OutputError(f"cannot write {target}: {error.strerror}; name another folder with -o") from error
