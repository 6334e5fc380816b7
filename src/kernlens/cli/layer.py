"""``kernlens layer``: how to turn the snapshot layer on for a C program."""

from __future__ import annotations

import shlex
from collections.abc import Sequence
from pathlib import Path

from kernlens.cli import option
from kernlens.cli.option_rules import Rule
from kernlens.cli.output import print_json, print_lines
from kernlens.dataclass import dataclass
from kernlens.errors import OutputError

#: What --capture sets beside the list of layers; then, if the Level Zero layer is among the drivers, what it sets for that.
_CAPTURE_VARIABLES = ("KERNLENS_CAPTURE", "KERNLENS_CAPTURE_OPTIONS", "KERNLENS_SNAPSHOTS")
_LEVEL_ZERO_VARIABLES = ("ZE_ENABLE_ALT_DRIVERS", "ZE_ENABLE_LOADER_DRIVER_DDI_PATH")


_RULES = (
    Rule("--lines", needs=("--capture",)),
    Rule("--unset", excludes=("--json",), why="prints shell lines, which have no JSON"),
)


@dataclass(frozen=True)
class Asked:
    """The words of the command."""

    unset: bool = option.flag("Print the shell lines that turn the layer off.", "--unset")
    recording: str | None = option.file(
        "Print shell lines after which every application is recorded in FILE (kernlens capture).",
        "--capture",
        dir_okay=False,
    )
    lines: bool = option.flag(
        "With --capture: add -gline-tables-only to builds, as kernlens capture --lines.", "--lines"
    )
    as_json: bool = option.json()


@option.verb(Asked, 'eval "$(kernlens layer)"; ./application', rules=_RULES)
def command(asked: Asked) -> None:
    """Print the shell lines that add cl_codeplay_program_snapshot to every OpenCL platform.

    OpenCL loaders load the layer as a driver (OCL_ICD_VENDORS), which opens the real ones. With --json, `include` is the folder
    of the extension's header.
    """
    from kernlens.toolchain.loaders.native_layers import OPENCL_LAYER, needed_layer
    from kernlens.toolchain.loaders.vendor_file import HELD, VENDORS

    recording = asked.recording
    if recording is not None and not asked.unset:
        _print_capture(recording, asked.lines, asked.as_json)
        return

    library = needed_layer(OPENCL_LAYER)
    if asked.as_json:
        from importlib.resources import files

        include = files("kernlens").joinpath("include")
        print_json({"schema": 1, "environment": _led(library), "include": str(include)})
        return
    if asked.unset:
        if recording is not None:
            _print_capture_off(recording)
        print_lines(_when_led("if", [_moved(held, name) for name, held in HELD.items()]))
        return
    moved = [_moved(name, held) for name, held in HELD.items()]
    print_lines(_when_led("if !", moved))
    # A capture that was turned on before has the layer keep the extension back.
    print_lines([f"export {VENDORS}={shlex.quote(str(_led(library)[VENDORS]))}", "unset KERNLENS_SNAPSHOTS"])


def _led(library: Path) -> dict[str, str | None]:
    from kernlens.toolchain.loaders.application import initial_environment
    from kernlens.toolchain.loaders.vendor_file import led_to_layer

    try:
        return led_to_layer(initial_environment(), library, Path.cwd())
    except OSError as error:
        raise OutputError(f"the vendor's file for OpenCL loaders cannot be written: {error}") from error


def _when_led(condition: str, lines: Sequence[str]) -> list[str]:
    """Return the shell lines for a shell whose loaders are led to the layer, with "if !" for one whose are not."""
    from kernlens.toolchain.loaders.vendor_file import VENDORS

    return [f'{condition} [ -f "${{{VENDORS}:-/none}}/kernlens.icd" ]; then', *lines, "fi"]


def _moved(name: str, other: str) -> str:
    """Return the shell line that moves a variable, which may not be set, to another."""
    return f'if [ "${{{name}+set}}" ]; then export {other}="${name}"; unset {name}; else unset {other}; fi'


def _print_capture_off(recording: str) -> None:
    from pathlib import Path

    from kernlens.toolchain.loaders.native_layers import LEVEL_ZERO_LAYER
    from kernlens.verbs.capture.caches import CACHE_VARIABLES, cache_folder
    from kernlens.verbs.capture.spool import spool_folder

    drop = f"*{LEVEL_ZERO_LAYER.file}*) unset {' '.join(_LEVEL_ZERO_VARIABLES)}"
    caches = shlex.quote(cache_folder(spool_folder(Path(recording))))
    print_lines(
        [
            f"unset {' '.join(_CAPTURE_VARIABLES)}",
            f'case "$ZE_ENABLE_ALT_DRIVERS" in {drop} ;; esac',
            *(f'case "${name}" in {caches}/*) unset {name} ;; esac' for name in CACHE_VARIABLES),
        ]
    )


def _print_capture(recording: str, lines: bool, as_json: bool) -> None:
    from kernlens.verbs.capture.capture import attach

    folder, environment = attach(recording, lines=lines)
    if as_json:
        print_json({"schema": 1, "environment": environment, "folder": str(folder)})
        return
    print_lines(
        [
            "# Programs that are started with these variables are recorded. When they have ended:",
            f"#   kernlens capture --recover {shlex.quote(str(folder))}",
            *(
                f"unset {name}" if value is None else f"export {name}={shlex.quote(value)}"
                for name, value in sorted(environment.items())
            ),
        ]
    )
