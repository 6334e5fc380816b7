"""``kernlens layer``: how to turn the snapshot layer on for a C program."""

from __future__ import annotations

import shlex
from collections.abc import Mapping

from kernlens.cli import option
from kernlens.cli.option_rules import Rule
from kernlens.cli.output import print_json, print_lines, print_message

#: What --capture sets beside the list of layers; then, if the Level Zero layer is among the drivers, what it sets for that.
_CAPTURE_VARIABLES = ("KERNLENS_CAPTURE", "KERNLENS_CAPTURE_OPTIONS", "KERNLENS_SNAPSHOTS")
_LEVEL_ZERO_VARIABLES = ("ZE_ENABLE_ALT_DRIVERS", "ZE_ENABLE_LOADER_DRIVER_DDI_PATH")


_RULES = (
    Rule("--lines", needs=("--capture",)),
    Rule("--unset", excludes=("--json",), why="prints shell lines, which have no JSON"),
)


@option.verb('eval "$(kernlens layer)"; ./application', rules=_RULES)
@option.flag("Print the shell lines that turn the layer off.", "--unset")
@option.file(
    "Print shell lines after which every application is recorded in FILE (kernlens capture).",
    "--capture",
    "recording",
    dir_okay=False,
)
@option.flag("With --capture: add -gline-tables-only to builds, as kernlens capture --lines.", "--lines")
@option.json()
def command(unset: bool, recording: str | None, lines: bool, as_json: bool) -> None:
    """Print the shell lines that add cl_codeplay_program_snapshot to every OpenCL platform.

    The OpenCL loader loads the layer (OPENCL_LAYERS). With --json, `include` is the folder of the extension's header.
    """
    from kernlens.toolchain.native_layers import OPENCL_LAYER, needed_layer

    if recording is not None and not unset:
        _print_capture(recording, lines, as_json)
        return

    library = needed_layer(OPENCL_LAYER)
    if as_json:
        from importlib.resources import files

        include = files("kernlens").joinpath("include")
        environment = {"OPENCL_LAYERS": str(library), **{name: value or "" for name, value in _front().items()}}
        print_json({"schema": 1, "environment": environment, "include": str(include)})
        return
    ours = shlex.quote(str(library))
    if unset:
        others = f"""$(printf %s "$OPENCL_LAYERS" | tr : '\\n' | grep -vxF {ours} | paste -sd: -)"""
        if recording is not None:
            _print_capture_off(recording)
        print_lines([f'export OPENCL_LAYERS="{others}"', '[ -n "$OPENCL_LAYERS" ] || unset OPENCL_LAYERS'])
        print_lines(_front_off())
    else:  # Layers that the variable holds already stay, after ours; and ours stands there once.
        added = f'export OPENCL_LAYERS={ours}"${{OPENCL_LAYERS:+:$OPENCL_LAYERS}}"'
        # A capture that was turned on before has the layer keep the extension back.
        print_lines([f'case ":$OPENCL_LAYERS:" in *:{ours}:*) ;; *) {added} ;; esac', "unset KERNLENS_SNAPSHOTS"])
        print_lines(
            f"unset {name}" if value is None else f"export {name}={shlex.quote(value)}"
            for name, value in sorted(_front().items())
        )


def _front() -> Mapping[str, str | None]:
    """Return the variables that put a loader that takes layers in front of this shell's, if that takes none. Report what
    is put there, or why nothing is, on standard error."""
    from kernlens.toolchain.application import initial_environment
    from kernlens.toolchain.loader_front import find_front

    front = find_front((), "", initial_environment())
    if front.sentence:
        print_message(f"kernlens: {front.sentence}")
    return front.changes


def _front_off() -> list[str]:
    """Return the shell lines that take away what ``_front`` put there."""
    from kernlens.toolchain.loader_front import front_folder
    from kernlens.toolchain.opencl_vendors import SORT, VENDORS

    ours = shlex.quote(str(front_folder()))
    others = f"""$(printf %s "$LD_LIBRARY_PATH" | tr : '\\n' | grep -vF {ours}/ | paste -sd: -)"""
    off = f'export LD_LIBRARY_PATH="{others}"; unset {SORT}; [ -n "$LD_LIBRARY_PATH" ] || unset LD_LIBRARY_PATH'
    return [
        f'case ":$LD_LIBRARY_PATH" in *:{ours}/*) {off} ;; esac',
        f'case "${VENDORS}" in {ours}/*) unset {VENDORS} ;; esac',
    ]


def _print_capture_off(recording: str) -> None:
    from pathlib import Path

    from kernlens.toolchain.native_layers import LEVEL_ZERO_LAYER
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

    _front()  # ``attach`` puts it there; this says so.
    folder, environment = attach(recording, lines=lines)
    if as_json:
        print_json({"schema": 1, "environment": environment, "folder": str(folder)})
        return
    print_lines(
        [
            "# Programs that are started with these variables are recorded. When they have ended:",
            f"#   kernlens capture --recover {shlex.quote(str(folder))}",
            *(f"export {name}={shlex.quote(value)}" for name, value in sorted(environment.items())),
        ]
    )
