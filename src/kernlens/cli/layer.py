"""``kernlens layer``: how to turn the snapshot layer on for a C program."""

from __future__ import annotations

import click

from kernlens.cli.options import json_option, verb
from kernlens.errors import UnsupportedError


@verb('eval "$(kernlens layer)"; ./application')
@click.option("--unset", is_flag=True, help="Print what turns it off again.")
@json_option()
def command(unset: bool, as_json: bool) -> None:
    """Print the shell lines that add cl_codeplay_program_snapshot to every OpenCL platform.

    The layer is loaded by the OpenCL loader (OPENCL_LAYERS). Newer drivers read their variables before a layer is
    loaded, so it is preloaded too (LD_PRELOAD). The extension's header is in the folder that --json calls include.
    """
    from importlib.resources import files

    library = files("kernlens").joinpath("native", "libkernlens_opencl_layer.so")
    if not library.is_file():
        raise UnsupportedError("this installation has no OpenCL layer: it is built on Linux, by pip install")
    if as_json:
        from kernlens.cli.output import print_json

        include = files("kernlens").joinpath("include")
        variables = {"OPENCL_LAYERS": str(library), "LD_PRELOAD": str(library)}
        print_json({"schema": 1, "environment": variables, "include": str(include)})
    elif unset:
        click.echo("unset OPENCL_LAYERS LD_PRELOAD")
    else:
        for name, separator in (("OPENCL_LAYERS", ":"), ("LD_PRELOAD", " ")):
            click.echo(f"export {name}='{library}'\"${{{name}:+{separator}${name}}}\"")
