"""An application under ``kernlens run`` starts and ends as it does without, on both generations of drivers."""

from __future__ import annotations

import os
import re
import shlex
import subprocess
import sys
from pathlib import Path

import pytest

from tests.integration.cli.test_cli import kernlens, refusal

KERNLENS = f"{sys.executable} -c 'from kernlens.cli.main import main; main()'"

#: Prints what a process finds: its folder, its arguments, its environment, the signals that it ignores and its open
#: files. The first argument may tell it to die by a signal, or to write more than a pipe takes.
APPLICATION = r"""
#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

extern char **environ;

int main(int count, char **arguments) {
    char text[4096];
    if (count > 1 && !strcmp(arguments[1], "abort")) abort();
    if (count > 1 && !strcmp(arguments[1], "talk"))
        for (int i = 0; i < 1000000; i++) puts("more");
    printf("folder %s\n", getcwd(text, sizeof text));
    for (int i = 0; i < count; i++) printf("argument %s\n", arguments[i]);
    for (char **entry = environ; *entry; entry++) printf("variable %s\n", *entry);
    FILE *status = fopen("/proc/self/status", "r");
    while (fgets(text, sizeof text, status))
        if (!strncmp(text, "SigBlk", 6) || !strncmp(text, "SigIgn", 6) || !strncmp(text, "SigCgt", 6)) printf("%s", text);
    fclose(status);
    for (int descriptor = 0; descriptor < 256; descriptor++)
        if (fcntl(descriptor, F_GETFD) != -1) printf("open %d\n", descriptor);
    return 7;
}
"""

#: How the application is named, and the folder to call it from, below the test's own.
NAMES = {
    "beside": ("./application", "place"),
    "below": ("place/application", "."),
    "above": ("../application", "place/deeper"),
    "found in PATH": ("application", "."),
    "found in an empty entry of PATH": ("application", "place"),
    "with spaces": ("./odd place/odd name", "."),
}


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    top = tmp_path_factory.mktemp("run")
    (top / "place/deeper").mkdir(parents=True)
    (top / "odd place").mkdir()
    source = top / "application.c"
    source.write_text(APPLICATION)
    subprocess.run(["cc", str(source), "-o", str(top / "place/application")], check=True, timeout=60)
    (top / "odd place/odd name").symlink_to(top / "place/application")
    return top


@pytest.fixture(params=["system", "newest"])
def toolchain(request: pytest.FixtureRequest) -> str:
    name = str(request.param)
    if name == "newest":
        request.getfixturevalue("newest_root")
    return name


def shell(line: str, folder: Path, top: Path) -> subprocess.CompletedProcess[bytes]:
    """What a user's shell makes of the line, in an environment without a locale."""
    whole = {name: value for name, value in os.environ.items() if not name.startswith(("LC_", "LANG"))}
    whole |= {"PATH": f":{top / 'place'}:{os.environ['PATH']}"}
    return subprocess.run(["bash", "-c", line], cwd=folder, env=whole, capture_output=True, timeout=120, check=False)


def words(name: str) -> str:
    return f"'{name}' './relative' '' -- --debug --help $'\\xff\\n' '*'"


@pytest.mark.parametrize("case", NAMES)
def test_an_application_sees_the_same(case: str, toolchain: str, folder: Path) -> None:
    name, place = NAMES[case]
    bare = shell(f"exec {words(name)}", folder / place, folder)
    assert bare.returncode == 7
    line = f"exec {KERNLENS} run --simulate dg2 --toolchain {toolchain} -- {words(name)}"
    simulated = shell(line, folder / place, folder)
    assert simulated.returncode == 7, simulated.stderr
    seen = simulated.stdout.splitlines()
    expected = bare.stdout.splitlines()
    added = [event for event in seen if event not in expected]
    assert [event for event in seen if event not in added] == expected
    assert {name.split(b"=")[0] for name in added} >= {
        b"variable ProductFamilyOverride",
        b"variable NEOReadDebugKeys",
    }
    assert all(entry.startswith(b"variable ") and b"LC_CTYPE" not in entry for entry in added)


def test_children_that_see_no_platform(toolchain: str) -> None:
    """What clinfo lists as an application's child is what the sentence says."""
    done = kernlens("run", "--simulate", "dg2", "--toolchain", toolchain, "--", "/bin/sh", "-c", "clinfo -l; true")
    sees_one = "Intel(R) OpenCL" in done.stdout
    assert ("so they see no OpenCL platform" in done.stderr) is not sees_one, done.stderr


@pytest.mark.parametrize("line", ["./application abort", "./application talk | head -n 1", "./application"])
def test_an_application_ends_the_same(line: str, toolchain: str, folder: Path) -> None:
    """A shell says 128 and the signal's number, for SIGABRT as for the SIGPIPE of a reader that has gone."""
    ask = 'ulimit -c 0; {} ; echo "${{PIPESTATUS[*]}}"'
    bare = shell(ask.format(line), folder / "place", folder)
    simulated = shell(
        ask.format(f"{KERNLENS} run --simulate dg2 --toolchain {toolchain} -- {line}"), folder / "place", folder
    )
    assert simulated.stdout.splitlines()[-1] == bare.stdout.splitlines()[-1]
    assert bare.stdout.splitlines()[-1] in (b"134", b"141 0", b"7")


def test_what_cannot_be_started(toolchain: str, folder: Path, tmp_path: Path) -> None:
    (tmp_path / "plain").write_text("no program\n")
    (tmp_path / "lost").write_text("#!/no/such/interpreter\n")
    (tmp_path / "lost").chmod(0o755)

    def refusal_of(*command: str, status: int) -> str:
        return refusal(
            "run", "--simulate", "dg2", "--toolchain", toolchain, "--", *command, status=status, cwd=tmp_path
        )

    assert "no program ./nonesuch; the current folder is" in refusal_of("./nonesuch", status=2)
    assert "no program nonesuch; give its path" in refusal_of("nonesuch", status=2)
    assert "not executable; run chmod +x ./plain" in refusal_of("./plain", status=3)
    assert "is a folder" in refusal_of("./", status=3)
    if toolchain == "system":
        assert "its interpreter or dynamic loader is not there" in refusal_of("./lost", status=3)
        (tmp_path / "plain").chmod(0o755)
        assert "(#!); give that: sh ./plain" in refusal_of("./plain", status=3)
    else:
        assert "give its interpreter: python3 ./lost" in refusal_of("./lost", status=2)


def test_an_application_runs_on_a_simulated_device(tmp_path: Path) -> None:
    done = kernlens("run", "--simulate", "dg2", "--", "clinfo", "--raw", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert re.search(r"CL_DEVICE_NAME +Intel\(R\) Graphics", done.stdout)
    assert "nothing is computed" in done.stderr
    assert list(tmp_path.iterdir()) == []


def test_a_device_that_no_driver_simulates() -> None:
    assert "does not simulate" in refusal("run", "--simulate", "apl", "--", "true")


def test_a_root_starts_programs_and_not_scripts(newest_root: Path) -> None:
    done = kernlens("run", "--simulate", "bmg", "--toolchain", "newest", "--", "clinfo", "-l")
    assert re.search(r"Intel\(R\) OpenCL Graphics", done.stdout)
    assert "interpreter" in refusal("run", "--simulate", "bmg", "--toolchain", "newest", "--", "ldd")


#: Prints the other processes, its parent aside, with its argument in their command lines, and the largest file it may write.
ALONE = """\
import os, resource, sys
others = []
for name in filter(str.isdigit, os.listdir("/proc")):
    try:
        words = open(f"/proc/{name}/cmdline", "rb").read().split(b"\\0")
    except OSError:
        continue  # It has ended meanwhile.
    if os.fsencode(sys.argv[1]) in words and int(name) not in (os.getpid(), os.getppid()):
        others.append(int(name))
print(others, resource.getrlimit(resource.RLIMIT_FSIZE)[0])
"""


@pytest.mark.parametrize("verb", ["run", "capture"])
def test_nothing_watches_the_application(verb: str, tmp_path: Path) -> None:
    """No process that might end it stays: a loop of short calls looks like a call that does not return."""
    application = shlex.join([sys.executable, "-c", ALONE, f"alone-{tmp_path}"])
    done = shell(f"{KERNLENS} {verb} --simulate dg2 -- {application}", tmp_path, tmp_path)
    assert done.stdout == b"[] 1073741824\n", done.stderr


def test_a_static_application_sees_no_device(tmp_path: Path) -> None:
    (tmp_path / "main.c").write_text("int main(void) { return 5; }\n")
    subprocess.run(["gcc", "-static", "main.c", "-o", "static"], cwd=tmp_path, check=True, timeout=60)
    done = kernlens("run", "--simulate", "skl", "--", tmp_path / "static")
    assert done.returncode == 5
    assert f"{tmp_path / 'static'} is statically linked and loads no driver" in done.stderr
