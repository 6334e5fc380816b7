"""``kernlens layer``: how to turn the snapshot layer on for a C program."""

from __future__ import annotations

import shlex

import click

from kernlens.cli.options import json_option, verb
from kernlens.errors import UnsupportedError


@verb('eval "$(kernlens layer)"; ./application')
@click.option("--unset", is_flag=True, help="Print what turns it off again.")
@json_option()
def command(unset: bool, as_json: bool) -> None:
    """Print the shell lines that add cl_codeplay_program_snapshot to every OpenCL platform.

    The OpenCL loader loads the layer (OPENCL_LAYERS). The folder of the extension's header is what --json calls
    include.
    """
    from importlib.resources import files

    library = files("kernlens").joinpath("native", "libkernlens_opencl_layer.so")
    if not library.is_file():
        from kernlens.doctor import LAYER_FIX

        raise UnsupportedError(
            "this installation has no OpenCL layer: it is built on Linux, where the OpenCL headers are; then"
            f" {LAYER_FIX}"
        )
    if as_json:
        from kernlens.cli.output import print_json

        include = files("kernlens").joinpath("include")
        print_json({"schema": 1, "environment": {"OPENCL_LAYERS": str(library)}, "include": str(include)})
        return
    from kernlens.cli.output import print_lines

    ours = shlex.quote(str(library))
    if unset:
        others = f"""$(printf %s "$OPENCL_LAYERS" | tr : '\\n' | grep -vxF {ours} | paste -sd: -)"""
        print_lines([f'export OPENCL_LAYERS="{others}"', '[ -n "$OPENCL_LAYERS" ] || unset OPENCL_LAYERS'])
    else:  # Layers that the variable holds already stay, after ours; and ours stands there once.
        added = f'export OPENCL_LAYERS={ours}"${{OPENCL_LAYERS:+:$OPENCL_LAYERS}}"'
        print_lines([f'case ":$OPENCL_LAYERS:" in *:{ours}:*) ;; *) {added} ;; esac'])
