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
#: c++filt writes these out where __cxa_demangle does not.
#: Of two brackets it keeps some apart and some not.
SPACE = re.compile(r"(?<=>) (?=>)")
LONG_FORM = re.compile(r"std::basic_(?:istream|ostream|iostream|string)<")


@pytest.mark.parametrize("library", LIBRARIES)
@pytest.mark.skipif(shutil.which("c++filt") is None, reason="c++filt is not installed (Debian package binutils)")
def test_names_of_a_library(library: str) -> None:
    path = FOLDER / library
    if not path.exists():
        pytest.skip(f"{path} is not installed")
    found = set(re.findall(rb"(?<![A-Za-z0-9_])_Z[A-Za-z0-9_.]{3,3000}", path.read_bytes()))
    names = sorted(name.decode() for name in found)[::5]
    done = subprocess.run(["c++filt"], input="\n".join(names), capture_output=True, text=True, check=True, timeout=60)
    pairs = [pair for pair in zip(names, done.stdout.splitlines(), strict=True) if pair[0] != pair[1]]
    kept = [(name, said) for name, said in pairs if readable(name) == name]
    other = [
        (name, readable(name), said)
        for name, said in pairs
        if readable(name) != name
        and SPACE.sub("", readable(name)) != SPACE.sub("", said)
        and not LONG_FORM.search(said)
    ]
    assert len(pairs) > 500
    assert len(kept) <= len(pairs) // 50
    assert len(other) <= len(pairs) // 1000, other[:5]
