"""The newest toolchain's root: from a small signed repository of the test's own and, before a release, from Debian's mirror."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
import urllib.error
import urllib.request
from pathlib import Path

import pytest

from kernlens.errors import KernlensError, NotFoundError, ToolError
from kernlens.isa.llvm.llvm_libraries import libraries_of
from kernlens.toolchain import apt, roots
from kernlens.toolchain.ocloc import compile_source
from kernlens.toolchain.toolchains import find_toolchains
from tests.integration.cli.test_cli import kernlens
from tests.integration.toolchain.repository import DECODER, Repository, make_repository
from tests.nvidia_files import triton_softmax
from tests.whole import before_release

#: It stops at a step, so that a signal meets it there. A shell starts what runs in its background with SIGINT ignored, and
#: children inherit that.
ADD = """
import signal, sys, time
from kernlens.toolchain import roots
mirror, keyring, step = sys.argv[1:]
signal.signal(signal.SIGINT, signal.default_int_handler)
def tell(line):
    print(line, flush=True)
    if line.startswith(step):
        time.sleep(60)
roots.add("newest", mirror, on_progress=tell, keyring=keyring)
"""


@pytest.fixture(scope="module")
def repository(tmp_path_factory: pytest.TempPathFactory) -> Repository:
    return make_repository(tmp_path_factory.mktemp("repository"))


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    path = tmp_path / "my toolchains"
    monkeypatch.setenv("KERNLENS_TOOLCHAINS", str(path))
    monkeypatch.delenv("KERNLENS_NEWEST_ROOT", raising=False)
    return path


def left(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir() if path.name != ".lock")


def test_added_from_signed_lists(repository: Repository, folder: Path) -> None:
    printed: list[str] = []
    added = roots.add("newest", repository.mirror, on_progress=printed.append, keyring=repository.keyring)
    assert added.neo_version == "26.27.12345"
    assert left(folder) == ["newest"]
    count = len(roots.PACKAGES) + 1  # The compiler depends on one more.
    assert printed[0] == f"Reading the lists of Debian {roots.SUITE} from {repository.mirror}"
    assert f"Unpacking libc6 (4 of {count})" in printed
    assert sum(line.startswith("Retrieving intel-ocloc, ") and line.endswith(f" of {count})") for line in printed) == 1
    assert printed[-1] == "Toolchain newest is ready"


def test_a_decoder(repository: Repository, folder: Path) -> None:
    """A disassembler is no compiler: it is used where it is needed, and is never the default toolchain."""
    printed: list[str] = []
    name = f"llvm-{DECODER}"
    added = roots.add(name, repository.mirror, on_progress=printed.append, keyring=repository.keyring)
    assert (added.name, added.ocloc) == (name, None)
    assert printed[-1] == f"Toolchain {name} is ready"
    assert str(folder / name) in "".join(library.path for library in libraries_of(folder / name))
    assert (
        f"(LLVM {DECODER}.1's disassembler)" in kernlens("toolchain", "list").stdout
    )  # LLVM 15 does not tell its version.
    with pytest.raises(KernlensError, match="could not be had"):  # It has no other release to be asked.
        roots.add("llvm-99", repository.mirror, keyring=repository.keyring)


def test_no_command_of_the_machines_runs(
    repository: Repository, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Machines have commands that run after an update, for their own lists; and proxies, which stay."""
    configuration = tmp_path / "apt.conf"
    configuration.write_text(f'APT::Update::Post-Invoke {{ "touch {tmp_path}/ran"; }};\nAcquire::Retries "0";\n')
    monkeypatch.setenv("APT_CONFIG", str(configuration))
    roots.add("newest", repository.mirror, keyring=repository.keyring)
    assert not (tmp_path / "ran").exists()


def test_lists_that_nobody_signed_are_refused(
    repository: Repository, folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    other = tmp_path / "other.gpg"
    other.write_bytes(Path(apt.KEYRING).read_bytes())
    # Not even where the machine's apt takes such.
    configuration = tmp_path / "apt.conf"
    configuration.write_text('Acquire::AllowInsecureRepositories "true";\nAPT::Get::AllowUnauthenticated "true";\n')
    monkeypatch.setenv("APT_CONFIG", str(configuration))
    with pytest.raises(ToolError, match="is not signed; try another mirror with --mirror URL"):
        roots.add("newest", repository.mirror, keyring=other)
    assert left(folder) == []


def test_a_package_that_was_changed_is_refused(folder: Path, tmp_path: Path) -> None:
    repository = make_repository(tmp_path / "own")
    package = repository.folder / "pool/intel-ocloc_1_amd64.deb"
    content = bytearray(package.read_bytes())
    content[-1000] ^= 1
    package.write_bytes(content)
    with pytest.raises(ToolError, match="the packages could not be had from"):
        roots.add("newest", repository.mirror, keyring=repository.keyring)
    assert left(folder) == []


@pytest.mark.parametrize(
    ("ending", "step"), [(signal.SIGKILL, "Retrieving"), (signal.SIGKILL, "Unpacking"), (signal.SIGINT, "Retrieving")]
)
def test_an_interrupted_add_leaves_nothing_half_done(
    ending: signal.Signals, step: str, repository: Repository, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    command = [sys.executable, "-c", ADD, repository.mirror, str(repository.keyring), step]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=environment) as child:
        assert child.stdout is not None
        assert any(line.startswith(step) for line in child.stdout)
        child.send_signal(ending)
        child.stdout.read()
    assert child.returncode != 0
    assert [chain.name for chain in find_toolchains()] == ["system"]
    # Killed, it cannot clean up after itself; interrupted from the keyboard it does.
    assert len(left(folder)) == (1 if ending == signal.SIGKILL else 0)
    # The next add removes it, and waits for what the killed one left running, however long that takes here.
    monkeypatch.setattr(roots, "LOCK_TIMEOUT", 3600.0)
    roots.add("newest", repository.mirror, keyring=repository.keyring)
    assert left(folder) == ["newest"]


@pytest.mark.parametrize("mirror", ["http://127.0.0.1:9/debian", "file:/nowhere/debian"])
def test_a_mirror_that_does_not_answer(mirror: str, repository: Repository, folder: Path) -> None:
    with pytest.raises(ToolError, match=rf"from {mirror}: .*; try another mirror with --mirror URL") as caught:
        roots.add("newest", mirror, keyring=repository.keyring)
    assert caught.value.log
    assert caught.value.command
    assert left(folder) == []


def test_a_mirror_that_is_no_address(repository: Repository, folder: Path) -> None:
    for mirror in ("example/debian", "", "http://a x main\ndeb [trusted=yes] http://b"):
        with pytest.raises(KernlensError, match="is no address of a mirror"):
            roots.add("newest", mirror, keyring=repository.keyring)
    assert left(folder) == []


def test_a_keyring_that_is_missing(folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(NotFoundError, match="with the keys of the mirror"):
        roots.add("newest", "http://127.0.0.1:9/debian", keyring=tmp_path / "none.gpg")
    monkeypatch.setattr(apt, "KEYRING", str(tmp_path / "none.gpg"))
    with pytest.raises(NotFoundError, match="apt install debian-archive-keyring, or name a keyring with --keyring"):
        roots.add("newest", "http://127.0.0.1:9/debian")
    assert left(folder) == []


@before_release
def test_the_remedy_is_carried_out(folder: Path, tmp_path: Path) -> None:
    """The command that a listing with undecoded words names decodes all of them."""
    path = tmp_path / "softmax.hsaco"
    path.write_bytes(triton_softmax("gfx1100.hsaco"))
    remedy = re.search(r"kernlens (toolchain add llvm-\d+)", kernlens("disasm", path).stdout)
    assert remedy is not None, "this machine's libLLVM decodes all: nothing is to be remedied"
    assert kernlens(*remedy[1].split()).returncode == 0
    listed = kernlens("disasm", path)
    assert listed.returncode == 0
    assert ".long" not in listed.stdout
    assert "not decode" not in listed.stdout


@before_release
def test_added_used_and_removed(folder: Path, tmp_path: Path) -> None:
    try:
        address = apt.debian_mirror()
        with urllib.request.urlopen(f"{address}/dists/{roots.SUITE}/Release", timeout=20) as answer:
            answer.read(100)
    except (KernlensError, urllib.error.URLError, TimeoutError) as error:
        pytest.skip(f"no Debian mirror: {error}")
    added = roots.add("newest")
    assert left(folder) == ["newest"]
    assert added.release is not None
    assert added.release >= (26, 27)
    assert added.iga_libraries
    source = tmp_path / "k.cl"
    source.write_text("kernel void k(global int *a) { a[0] = 1; }\n")
    assert compile_source(source, "bmg", "", added).ok
    with pytest.raises(KernlensError, match="there is a toolchain newest already"):
        roots.add("newest")
    roots.remove("newest")
    assert left(folder) == []
