"""A process that compiles many sources with one libocloc: its start, and that of LLVM, cost more than a small kernel.

It is run by its path, with nothing but Python's own library, as the newest compiler needs the C library of its own root.
Each line of its input is a JSON list: a folder for the results, and the arguments of ocloc. It answers with a line of JSON:
None, or what went wrong.
"""

from __future__ import annotations

import ctypes
import json
import os
import sys
from pathlib import Path
from typing import Any

#: What ocloc calls its results, and what they are called here (``compiler.RESULTS``).
_RESULTS = {"program": "program", "program.bin": "program", "program.dbg": "program.dbg", "program.spv": "program.spv"}


def _compile(library: ctypes.CDLL, arguments: list[str]) -> tuple[int, dict[str, bytes]]:
    words = [word.encode() for word in ("ocloc", *arguments)]
    count, sizes = ctypes.c_uint32(), ctypes.POINTER(ctypes.c_uint64)()
    contents = ctypes.POINTER(ctypes.c_void_p)()
    names = ctypes.POINTER(ctypes.c_char_p)()
    outputs: list[Any] = [ctypes.byref(each) for each in (count, contents, sizes, names)]
    nothing = (0, None, None, None)
    status = library.oclocInvoke(len(words), (ctypes.c_char_p * len(words))(*words), *nothing, *nothing, *outputs)
    results = {
        names[index].decode(): ctypes.string_at(contents[index] or 0, sizes[index])
        for index in range(count.value)
        if contents[index]
    }
    library.oclocFreeOutput(*outputs)
    return status, results


def main() -> None:
    """Answer every line until the input ends. ``argv``: the library."""
    answers = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)  # The compiler's own words.
    library = ctypes.CDLL(sys.argv[1])
    for line in sys.stdin:
        folder, *arguments = json.loads(line)
        status, results = _compile(library, arguments)
        log = results.get("stdout.log", b"").decode(errors="replace")
        contents_of = {_RESULTS[name]: content for name, content in results.items() if name in _RESULTS and content}
        for name, content in contents_of.items():
            Path(folder, name).write_bytes(content)
        fault = None if status == 0 and "program" in contents_of else f"{log[-400:]} (status {status})"
        print(json.dumps(fault), file=answers, flush=True)


if __name__ == "__main__":
    main()
