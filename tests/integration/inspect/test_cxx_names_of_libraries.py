"""C++ names against c++filt: the thousands that a compiler's library holds."""

from __future__ import annotations

import re
import shutil
import subprocess
from pathlib import Path

import pytest

from kernlens.analysis.cxx_names import readable

LIBRARIES = ("libigc.so.1.0.1", "libLLVM-15.so.1", "libclang-cpp.so.15")
FOLDER = Path("/usr/lib/x86_64-linux-gnu")
#: Of two brackets binutils keeps some apart where libstdc++ does not.
SPACE = re.compile(r"(?<=>) (?=>)")
#: c++filt writes these out where libstdc++ does not.
LONG_FORM = re.compile(r"std::basic_(?:istream|ostream|iostream|string)<")


@pytest.mark.parametrize("library", LIBRARIES)
@pytest.mark.skipif(shutil.which("c++filt") is None, reason="c++filt is not installed (Debian package binutils)")
def test_names_of_a_library(library: str) -> None:
    path = FOLDER / library
    if not path.exists():
        pytest.skip(f"{path} is not installed")
    names = sorted(
        {name.decode() for name in re.findall(rb"(?<![A-Za-z0-9_])_Z[A-Za-z0-9_]{3,1000}", path.read_bytes())}
    )
    names = names[::5]
    done = subprocess.run(["c++filt"], input="\n".join(names), capture_output=True, text=True, check=True, timeout=60)
    pairs = list(zip(names, done.stdout.splitlines(), strict=True))
    other = [
        (name, readable(name), text)
        for name, text in pairs
        if SPACE.sub("", readable(name)) != SPACE.sub("", text) and not LONG_FORM.search(text)
    ]
    assert sum(name != text for name, text in pairs) > 500
    assert len(other) <= len(pairs) // 500, other[:5]
