"""Symbols capture: the debug data of a live OpenCL program, for each of its devices.

CL_PROGRAM_DEBUG_INFO_INTEL has data only if the program was built with -gline-tables-only (or -g).

    python examples/opencl_symbols.py --simulate dg2 --output scale
"""

from __future__ import annotations

from pathlib import Path

from setting import arguments, opencl_program

from kernlens.opencl import live_builds

chosen = arguments(__doc__)
output = chosen.output or "program"
for options in ("-gline-tables-only", ""):
    for number, build in enumerate(live_builds(opencl_program(chosen.path, options))):
        if not build.debug:
            print(f"built with {options or 'no options'}: no debug data for {build.device}: {build.missing['debug']}")
            continue
        if options:
            Path(f"{output}.{number}.dbg").write_bytes(build.debug)
        print(f"built with {options or 'no options'}: {len(build.debug)} bytes of debug data for {build.device}")
