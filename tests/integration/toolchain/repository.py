"""A signed repository in a folder, as small as apt takes one, with packages that make up a root which works."""

from __future__ import annotations

import hashlib
import os
import shutil
import subprocess
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from kernlens.isa.llvm.llvm_libraries import installed_llvm
from kernlens.toolchain import roots

#: The LLVM whose disassembler the repository has.
DECODER = 22
#: The compiler: it answers the one question that ``add`` asks, as ocloc does, in a file called after the question.
OCLOC = """
#include <stdio.h>
int main(int count, char **words)
{
    FILE *answer = fopen(words[count - 1], "w");
    return answer == NULL || fputs("26.27.12345", answer) < 0 || fclose(answer) != 0;
}
"""


@dataclass(frozen=True)
class Repository:
    """A mirror's address, the file of its key, and the folder with its packages."""

    mirror: str
    keyring: Path
    folder: Path


def quiet(*command: str | Path, **variables: str) -> str:
    """Run a command, which must succeed; returns its output."""
    done = subprocess.run(command, capture_output=True, text=True, env={**os.environ, **variables})
    assert done.returncode == 0, done.stderr
    return done.stdout


def make_repository(work: Path) -> Repository:
    """Make the packages of the newest toolchain, without content but for the compiler and what it is started with."""
    folder = work / "debian"
    (folder / "pool").mkdir(parents=True)
    (work / "ocloc.c").write_text(OCLOC)
    quiet("gcc", "-o", work / "ocloc", work / "ocloc.c")
    libraries = {"ld-linux-x86-64.so.2": "/lib64/ld-linux-x86-64.so.2", "libc.so.6": "/lib/x86_64-linux-gnu/libc.so.6"}
    library_folder = "usr/lib/x86_64-linux-gnu"
    contents: dict[str, dict[str, str | Path]] = {name: {} for name in roots.PACKAGES}
    contents |= decoders(library_folder)
    contents["intel-ocloc"] = {"usr/bin/ocloc-26.27.1": work / "ocloc"}
    contents["libc6"] = {f"{library_folder}/{name}": path for name, path in libraries.items()}
    lists = [
        make_package(work, folder, name, files, "libc6" if name == "intel-ocloc" else "")
        for name, files in contents.items()
    ]
    key = work / "keys"
    key.mkdir(mode=0o700)
    words = ("gpg", "--homedir", key, "--batch", "--quiet", "--pinentry-mode", "loopback", "--passphrase", "")
    quiet(*words, "--quick-generate-key", "tests@kernlens.invalid", "ed25519", "sign", "never")
    keyring = work / "my keyring.gpg"
    quiet(*words, "--output", keyring, "--export")
    index = folder / f"dists/{roots.SUITE}/main/binary-amd64/Packages"
    index.parent.mkdir(parents=True)
    index.write_text("\n".join(lists))
    listed = index.read_bytes()
    release = folder / "dists" / roots.SUITE / "Release"
    release.write_text(
        f"Origin: Debian\nSuite: {roots.SUITE}\nCodename: {roots.SUITE}\nArchitectures: amd64\nComponents: main\n"
        f"Date: {quiet('date', '-Ru', LC_ALL='C').replace('+0000', 'UTC')}"
        f"SHA256:\n {hashlib.sha256(listed).hexdigest()} {len(listed)} main/binary-amd64/Packages\n"
    )
    quiet(*words, "--output", release.with_name("InRelease"), "--clearsign", release)
    quiet("gpgconf", "--homedir", key, "--kill", "all")
    return Repository(f"file:{folder}", keyring, folder)


def decoders(library_folder: str) -> dict[str, dict[str, str | Path]]:
    """Return a package of each libLLVM of this machine, as if it were ``DECODER``'s."""
    library = next((each.path for each in installed_llvm()), None)
    return {f"libllvm{DECODER}": {f"{library_folder}/libLLVM.so.{DECODER}.1": library} if library else {}}


def make_package(work: Path, folder: Path, name: str, files: Mapping[str, str | Path], needs: str) -> str:
    """Make one package in the repository; returns its stanza of the list."""
    tree = work / "trees" / name
    (tree / "DEBIAN").mkdir(parents=True)
    for inside, path in files.items():
        (tree / inside).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(path, tree / inside)
    stanza = f"Package: {name}\nVersion: 1\nArchitecture: amd64\nMaintainer: nobody\nDescription: for a test\n"
    stanza += f"Depends: {needs}\n" if needs else ""
    (tree / "DEBIAN/control").write_text(stanza)
    package = folder / "pool" / f"{name}_1_amd64.deb"
    quiet("dpkg-deb", "--root-owner-group", "-Znone", "--build", tree, package)
    content = package.read_bytes()
    return (
        f"{stanza}Filename: pool/{package.name}\nSize: {len(content)}\nSHA256: {hashlib.sha256(content).hexdigest()}\n"
    )
