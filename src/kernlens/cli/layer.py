"""``kernlens layer``: how to turn the snapshot layer on for a C program."""

from __future__ import annotations

import shlex

import click

from kernlens.cli.options import json_option, verb
from kernlens.errors import UnsupportedError


@verb('eval "$(kernlens layer)"; ./application')
@click.option(
    "--stage",
    metavar="S",
    help="Take this stage in the application's own build, which newer drivers need to know early.",
)
@click.option("--unset", is_flag=True, help="Print what turns it off again.")
@json_option()
def command(stage: str | None, unset: bool, as_json: bool) -> None:
    """Print the shell lines that add cl_codeplay_program_snapshot to every OpenCL platform.

    The OpenCL loader loads the layer (OPENCL_LAYERS). Most stages come from a second build in a child process; with
    --stage the layer is preloaded too, before the driver reads its settings, and that one stage comes from the
    application's own build. The folder of the extension's header is what --json calls include.
    """
    from importlib.resources import files

    library = files("kernlens").joinpath("native", "libkernlens_opencl_layer.so")
    if not library.is_file():
        raise UnsupportedError("this installation has no OpenCL layer: it is built on Linux, by pip install")
    early = {"LD_PRELOAD": str(library), "KERNLENS_SNAPSHOT_STAGE": stage} if stage else {}
    variables = {"OPENCL_LAYERS": str(library), **early}
    if as_json:
        from kernlens.cli.output import print_json

        include = files("kernlens").joinpath("include")
        print_json({"schema": 1, "environment": variables, "include": str(include)})
    elif unset:
        click.echo("unset OPENCL_LAYERS LD_PRELOAD KERNLENS_SNAPSHOT_STAGE")
    else:
        for name, value in variables.items():
            click.echo(f"export {name}={shlex.quote(value)}{_KEPT.get(name, '')}")


#: What a variable holds already stays, after our value.
_KEPT = {"OPENCL_LAYERS": '"${OPENCL_LAYERS:+:$OPENCL_LAYERS}"', "LD_PRELOAD": '"${LD_PRELOAD:+ $LD_PRELOAD}"'}
