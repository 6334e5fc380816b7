"""One door: what opens files goes through ``toolchain/sources/source_reading.py``, which knows why a file may be opened.

The others are few, are listed with what they open, and open nothing whose name came with an input.
"""

from __future__ import annotations

import ast
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.tree import PACKAGE, nodes_of, package_files

DOOR = "toolchain/sources/source_reading.py"
#: Who else opens files, how many places, and what is opened there.
OWNERS = {
    # Files of kernlens itself.
    "explorer/served_page.py": (1, "the viewer of this installation"),
    "report/explore/single_file.py": (1, "the viewer of this installation"),
    "toolchain/process.py": (1, "the processor time of a child: /proc"),
    "toolchain/packages.py": (1, "this installation's metadata"),
    "toolchain/compile_cache.py": (1, "the user's cache, which belongs to nobody else"),
    "toolchain/roots.py": (2, "the lock of the toolchains' folder, and the list of mounts"),
    "toolchain/swept_folder.py": (2, "the lock of a temporary folder"),
    "verbs/replay/export.py": (1, "the templates of this installation"),
    # Files that are written.
    "cli/output.py": (2, "what the user has named for the output"),
    "runtime/cuda/cuda_requests.py": (1, "what the parent has written for this process"),
    "runtime/opencl/launch_memory.py": (1, "what the parent has written for this process"),
    "toolchain/nvdisasm.py": (1, "written into a temporary folder"),
    "recording/target.py": (4, "the recording that is written"),
    "recording/writer.py": (2, "the recording that is written"),
    "runtime/driver_environment.py": (2, "modules of this installation, copied for a driver's process"),
    # Files that the user has named, by who cannot import the door, or which may be pipes.
    "recording/reader.py": (1, "the recording, which the user has named, or loading has opened through the door"),
    "recording/settled.py": (6, "the recording, and what SQLite keeps beside it, which is no link"),
    "cli/offsets.py": (1, "a list of offsets, which may be a pipe"),
    "toolchain/loaders/application.py": (3, "the application that the user has named, and /proc"),
    "toolchain/shown_files.py": (1, "the first bytes of a program that is about to be started"),
    # The system.
    "runtime/driver_library.py": (1, "/proc/self/mem"),
    "runtime/opencl/opencl_library.py": (1, "/proc/self/maps"),
    "runtime/temporary.py": (3, "folders that are removed"),
    "runtime/worker.py": (3, "/dev/null, and the files of requests and answers that the parent has named"),
    "pipeline/second_build.py": (1, "/proc/self/cmdline"),
    "toolchain/gpus.py": (1, "/sys"),
    "verbs/capture/mapped_code.py": (3, "/proc of the application, and libraries that it has loaded"),
    "toolchain/toolchains.py": (1, "the list of packages of a toolchain"),
    "toolchain/loaders/driver_files.py": (1, "vendors' files of the system and of the user's variables"),
    "toolchain/loaders/vendor_file.py": (1, "the vendor's file that it writes"),
    "verbs/capture/level_zero_layer.py": (1, "the loader's cache"),
}
#: Calls that open a file, by their last name, and what they are called on where that has other methods of the name.
_READS, _COPIES = {"read_text", "read_bytes", "memmap", "fromfile"}, {"copyfile", "copy", "copy2", "copytree"}
_ELSEWHERE = {"webbrowser", "Spool"}


def openings(tree_nodes: tuple[ast.AST, ...]) -> Iterator[int]:
    """Yield the line of each call that opens a file, or connects to one."""
    for node in tree_nodes:
        if not isinstance(node, ast.Call):
            continue
        called = node.func
        if isinstance(called, ast.Name) and called.id == "open":
            yield node.lineno
        elif isinstance(called, ast.Attribute):
            holder = ast.unparse(called.value)
            is_open = called.attr == "open" and holder not in _ELSEWHERE
            is_copy = called.attr in _COPIES and holder == "shutil"
            if is_open or is_copy or called.attr in _READS or ast.unparse(called) == "sqlite3.connect":
                yield node.lineno


def counted() -> Counter[str]:
    counts: Counter[str] = Counter()
    for path in package_files():
        counts[str(path.relative_to(PACKAGE))] += sum(1 for _ in openings(nodes_of(path)))
    return +counts


def test_files_are_opened_at_one_door() -> None:
    counts = counted()
    assert counts.pop(DOOR) == 3, "named, beside and source"
    assert dict(counts) == {name: count for name, (count, _) in OWNERS.items()}


@pytest.mark.parametrize(
    "call",
    [
        "open(path)", "os.open(path, 0)", "io.open(path)", "Path(path).open('rb')", "path.read_text()", "tarfile.open(path)",
        "shutil.copyfile(a, b)", "(folder / name).read_bytes()", "sqlite3.connect(path)",
    ],
)  # fmt: skip
def test_the_rule_sees_each_way_to_open(call: str) -> None:
    assert list(openings(tuple(ast.walk(ast.parse(call))))) == [1]


def test_owners_are_files() -> None:
    assert [name for name in OWNERS if not Path(PACKAGE, name).is_file()] == []
