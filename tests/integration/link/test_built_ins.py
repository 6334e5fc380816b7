"""The list of OpenCL C's built-in functions against those that clang's own header declares."""

from __future__ import annotations

import re
import subprocess
from pathlib import Path

from kernlens.model.opencl_built_ins import opencl_built_ins
from kernlens.toolchain.clang import find_front_end

#: What the compiler knows without a header, by OpenCL C 3.0: 6.15.13 to 6.15.17 and ``printf``.
WITHOUT_HEADER = re.compile(r".*_pipe$|get_pipe_\w+|enqueue_kernel|printf|to_(?:global|local|private)|vec_step")
#: Vendors' functions, and families that have a name for each pair of types.
NOT_LISTED = re.compile(r"(?:__|amd_|arm_|as_|convert_|intel_)")


def test_all_names_of_the_header_and_no_others() -> None:
    command = [find_front_end().clang, "-print-resource-dir"]
    folder = subprocess.run(command, check=True, capture_output=True, text=True).stdout.strip()
    header = re.sub(r"//[^\n]*|/\*.*?\*/", "", (Path(folder) / "include/opencl-c.h").read_text(), flags=re.DOTALL)
    declared = {name for name in re.findall(r"\b([a-z_]\w*)\s*\([^()]*\)\s*;", header) if not NOT_LISTED.match(name)}
    assert len(declared) > 400
    assert {name for name in opencl_built_ins() if not WITHOUT_HEADER.fullmatch(name)} == declared
