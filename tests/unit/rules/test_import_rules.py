"""The import directions of the package: what each room may import, held over every file, without an exception.

cli, explorer, agents -> verbs -> pipeline -> loading -> recording, toolchain -> runtime -> formats -> model;
report -> analysis -> model. Imports under ``if TYPE_CHECKING`` count like all others; so do those inside functions.
"""

from __future__ import annotations

import ast
import re
import subprocess
import sys
from collections.abc import Iterator
from graphlib import TopologicalSorter
from pathlib import Path

import pytest

import kernlens
from kernlens.runtime.driver_environment import WORKER_PARTS
from tests.tree import PACKAGE, nodes_of, package_files, text_of

#: What every room may import.
GROUND = {"errors", "dataclass"}
#: Room -> the rooms it may import besides itself and these. The table of docs/architecture.md says the same.
ALLOWED = {
    "errors": set(),
    "dataclass": set(),
    # The types of the public functions' arguments.
    "arguments": set(),
    # What was tried and passed over. Rooms that only compute have nothing to tell; a driver's child process loads none.
    "log": set(),
    # How many there are for this process: the same for decoding, rendering and compiles.
    "processors": set(),
    # A program of kernlens's own that answers on pipes: for the demangler, and for the decoders of other vendors and texts.
    "piped_process": {"log"},
    # A process of its own, as what it does for hostile names has to be stopped.
    "demangler": {"log", "piped_process"},
    "model": set(),
    "formats": {"model"},
    "isa": {"log", "model", "piped_process", "processors"},
    "analysis": {"demangler", "model"},
    "report": {"analysis", "isa", "model"},
    # What runs in a driver's child process: see test_worker_loads_little.
    "runtime": {"formats", "model"},
    # The libiga64 of a toolchain decodes what its compiler made.
    "toolchain": {"formats", "isa", "log", "model", "processors", "runtime"},
    # Texts in SPIR-V are found in order to leave them out.
    "recording": {"formats", "log", "model"},
    # A program's source maps are made on first use, so what assembles programs calls the analysis that makes them.
    # What a notebook shows of a kernel is a report; a kernel asks its parts for it.
    # It also opens live objects and recordings, and asks the toolchains for their disassemblers.
    "loading": {"analysis", "formats", "isa", "log", "model", "recording", "report", "runtime", "toolchain"},
    "pipeline": {"formats", "loading", "model", "runtime", "toolchain"},
    # What a user asks: Python, the command line and the server call the same function.
    "verbs": {
        *("analysis", "formats", "isa", "loading", "log", "model", "pipeline", "processors", "recording", "report"),
        *("runtime", "toolchain"),
    },
    # The server of kernlens serve. What it answers, others compute.
    "explorer": {"analysis", "isa", "loading", "log", "model", "pipeline", "report", "toolchain", "verbs"},
    # The server of kernlens mcp. Each verb runs as a command of its own.
    "agents": {"model", "processors", "report", "toolchain", "verbs"},
    "cli": {
        *("agents", "analysis", "explorer", "isa", "loading", "log", "model", "pipeline", "processors"),
        *("recording", "report", "runtime", "toolchain", "verbs"),
    },
    # The public modules, which only export what the rooms hold, and the pytest plugin: no room imports them.
    "public": {"analysis", "arguments", "isa", "model", "pipeline", "report", "runtime", "toolchain", "verbs"},
    # The package itself names its public functions' homes.
    "": {"arguments", "loading", "verbs"},
}

#: Modules that open files, processes or sockets: not for rooms that only compute.
OUTSIDE_WORLD = {"subprocess", "socket", "ctypes", "tempfile", "shutil", "sqlite3", "multiprocessing", "mmap", "glob"}
PURE_ROOMS = {"model", "formats", "analysis", "report"}
#: A folder of a room that opens files: what it holds makes texts and documents, as ``report`` does.
PURE_FOLDER = PACKAGE / "cli" / "answers"
OPENERS = {"open", "exec", "eval"}
FORBIDDEN_WORDS = {"pc", "shader", "asm", "manager", "utils", "util", "helper", "helpers", "info"}


def room_of(path: Path) -> str:
    relative = path.relative_to(PACKAGE)
    if len(relative.parts) > 1:
        return relative.parts[0]
    own = {
        "__init__": "",
        "__main__": "cli",
        **dict.fromkeys(("answers", "level_zero", "opencl", "pytest_plugin"), "public"),
    }
    return own.get(path.stem, path.stem)


def room_of_module(name: str) -> str | None:
    """The room of a dotted name; None for what is not of this package, or the package itself."""
    parts = name.split(".")
    if parts[0] != "kernlens" or len(parts) == 1:
        return None
    if (PACKAGE / parts[1]).is_dir():
        return parts[1]
    return room_of(PACKAGE / f"{parts[1]}.py") if (PACKAGE / f"{parts[1]}.py").exists() else None


def imports_of(path: Path) -> Iterator[str]:
    """Dotted names of all modules that a file imports, relative ones resolved."""
    package = ("kernlens", *path.relative_to(PACKAGE).parent.parts)
    for node in nodes_of(path):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            base = package[: len(package) + 1 - node.level] if node.level else ()
            module = ".".join((*base, *((node.module,) if node.module else ())))
            yield from (f"{module}.{alias.name}" for alias in node.names) if module == "kernlens" else (module,)


def test_every_room_has_a_rule() -> None:
    assert {room_of(path) for path in package_files()} <= set(ALLOWED)


@pytest.mark.slow
def test_every_module_can_be_imported() -> None:
    """What is imported only when a verb needs it is broken without anybody noticing it."""
    names = [".".join(("kernlens", *path.relative_to(PACKAGE).with_suffix("").parts)) for path in package_files()]
    own = [name.removesuffix(".__init__") for name in names if not name.endswith("__main__")]
    script = (
        "import importlib, sys, types; [importlib.import_module(name) for name in sys.argv[1:]]; import kernlens\n"
        "print(*[name for name in kernlens.__all__ if isinstance(getattr(kernlens, name), types.ModuleType)])"
    )
    done = subprocess.run([sys.executable, "-c", script, *own], capture_output=True, text=True)
    # None of them has replaced a public function.
    assert (done.returncode, done.stdout.split(), done.stderr) == (0, [], "")


def test_imports_point_down() -> None:
    wrong = []
    for path in package_files():
        room = room_of(path)
        allowed = {room, *GROUND} | ALLOWED[room]
        for name in imports_of(path):
            target = room_of_module(name)
            if target is not None and target not in allowed:
                wrong.append(f"{path.relative_to(PACKAGE)} imports {name}")
    assert wrong == []


def test_every_permission_is_used() -> None:
    """A permission that nobody needs would let the next import through unseen."""
    used: dict[str, set[str]] = {room: set() for room in ALLOWED}
    for path in package_files():
        used[room_of(path)] |= {room for room in map(room_of_module, imports_of(path)) if room is not None}
    assert {room: allowed - used[room] for room, allowed in ALLOWED.items() if allowed - used[room]} == {}


def test_no_room_is_named_like_a_public_function() -> None:
    """Importing a module of the name would replace the function: ``kernlens.load`` is not a room."""
    rooms = {room_of(path) for path in package_files()}
    assert rooms.isdisjoint(kernlens.__all__)


def test_worker_loads_little() -> None:
    """A driver's child process loads model, formats and runtime beside the ground, whatever it is asked for."""
    modules = (
        "import sys, kernlens.runtime.worker",
        "kernlens.runtime.level_zero.level_zero_requests",
        "kernlens.runtime.opencl.opencl_requests",
        "kernlens.formats.zebin.zebin_file",
        "kernlens.formats.patch_tokens.program_binary",
    )
    script = ", ".join(modules) + "\nprint(*sys.modules)"
    loaded = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True).stdout.split()
    rooms = {name.split(".")[1] for name in loaded if name.startswith("kernlens.")}
    assert rooms == {*GROUND, "model", "formats", "runtime"}
    assert {part.removesuffix(".py") for part in WORKER_PARTS} == rooms, "what is copied into a root"


def test_classes_are_made_by_the_dataclass_that_costs_little() -> None:
    """The standard library's compiles each class's methods at import, which a short command feels."""
    wrong = [
        path.name
        for path in package_files()
        if path.name != "dataclass.py" and re.search(r"^from dataclasses import .*\bdataclass\b", text_of(path), re.M)
    ]
    assert wrong == []


def test_processors_are_counted_in_one_way() -> None:
    """Those of the machine may be more than this process may use."""
    counts = {"cpu_count", "process_cpu_count", "sched_getaffinity"}
    counting = {
        path.name
        for path in package_files()
        for node in nodes_of(path)
        if getattr(node, "attr", getattr(node, "name", None)) in counts
    }
    assert counting == {"processors.py"}


def test_no_modules_import_one_another_in_a_circle() -> None:
    names = {path: ".".join(("kernlens", *path.relative_to(PACKAGE).with_suffix("").parts)) for path in package_files()}
    graph = {name.removesuffix(".__init__"): set(imports_of(path)) for path, name in names.items()}
    TopologicalSorter(graph).prepare()  # Raises CycleError, which names the circle.


def test_rooms_that_only_compute_open_nothing() -> None:
    wrong = []
    for path in package_files():
        if room_of(path) not in PURE_ROOMS and not path.is_relative_to(PURE_FOLDER):
            continue
        wrong += [f"{path.relative_to(PACKAGE)} imports {name}" for name in imports_of(path) if name in OUTSIDE_WORLD]
        for node in nodes_of(path):
            if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id in OPENERS:
                wrong.append(f"{path.relative_to(PACKAGE)}:{node.lineno} calls {node.func.id}")
    assert wrong == []


def test_names_are_nouns_of_the_field() -> None:
    """No public class, function or module is named with a word that says nothing or means something else here."""
    wrong = []
    for path in package_files():
        names = [(path.stem, 1)]
        names += [
            (node.name, node.lineno)
            for node in nodes_of(path)
            if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef)
        ]
        for name, line in names:
            if not name.startswith("_") and set(words(name)) & FORBIDDEN_WORDS:
                wrong.append(f"{path.relative_to(PACKAGE)}:{line} {name}")
    assert wrong == []


def words(name: str) -> list[str]:
    """``ZeInfoReader`` and ``ze_info_reader`` -> ze, info, reader. ze_info, a section's name, counts as one word."""
    spaced = "".join(f"_{letter}" if letter.isupper() else letter for letter in name).lower()
    return [word for word in spaced.replace("ze_info", "zeinfo").split("_") if word]


#: Calls that write text to the outputs of the process, or that make escape sequences.
WRITERS = {"click.echo", "click.secho", "click.style", "click.echo_via_pager", "click.progressbar", "print", "os.write"}
OUTPUT = PACKAGE / "cli" / "output.py"
#: These run in processes of their own, whose outputs kernlens reads.
CHILDREN = {PACKAGE / "runtime" / "worker.py"}


def test_only_one_module_writes_to_the_outputs() -> None:
    wrong = []
    for path in package_files():
        if path == OUTPUT or path in CHILDREN:
            continue
        wrong += [f"{path}:{line} {what}" for line, what in _writing(path)]
        wrong += [f"{path} imports {name}" for name in imports_of(path) if name in ("rich.progress", "rich.prompt")]
    assert wrong == []


def _writing(path: Path) -> Iterator[tuple[int, str]]:
    for node in nodes_of(path):
        if isinstance(node, ast.Call) and (called := ast.unparse(node.func)) in WRITERS:
            yield node.lineno, called
        elif isinstance(node, ast.Attribute) and ast.unparse(node) in ("sys.stdout", "sys.stderr"):
            yield node.lineno, ast.unparse(node)
        elif isinstance(node, ast.Constant) and "\x1b" in str(node.value) and path.name != "style.py":
            yield node.lineno, "an escape sequence"


#: Rooms whose modules lie with their users, and those that stay although all their users sit in one other room.
CLOSE_TO_USERS = {"loading", "report", "toolchain"}
STAY = {
    "report/diff/comparison_document.py": "it opens nothing, which only rooms like report promise",
    "toolchain/clang.py": "it starts compilers, confined",
    "toolchain/gpus.py": "only toolchain may ask for vendors",
    "toolchain/llvm_mca.py": "it starts a program, confined",
    "toolchain/ncu_report.py": "it starts a program",
    "toolchain/nvidia_clocks.py": "only toolchain may ask for vendors",
    "toolchain/parallel_compiles.py": "it drives compilers",
    "toolchain/roots.py": "it makes toolchains",
    "toolchain/swept_folder.py": "it opens files, which the command line leaves to others",
}


def test_modules_lie_where_their_users_are() -> None:
    """A module whose users all sit in one other room belongs there."""
    modules = {".".join(path.relative_to(PACKAGE).with_suffix("").parts): path for path in package_files()}
    users: dict[str, set[str]] = {name: set() for name in modules}
    for path in package_files():
        for name in imports_of(path):
            own = name.removeprefix("kernlens.")
            for target in (own, own.rpartition(".")[0]):
                if target in users:
                    users[target].add(room_of(path))
        for node in nodes_of(path):
            if isinstance(node, ast.ImportFrom) and node.module and node.module.startswith("kernlens."):
                for alias in node.names:
                    if (target := f"{node.module.removeprefix('kernlens.')}.{alias.name}") in users:
                        users[target].add(room_of(path))
    alone = {
        str(path.relative_to(PACKAGE))
        for name, path in modules.items()
        if room_of(path) in CLOSE_TO_USERS and len(users[name]) == 1 and room_of(path) not in users[name]
    }
    assert alone == STAY.keys()
