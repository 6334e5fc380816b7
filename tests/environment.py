"""The environment of the tests: the variables of ``PASSED_ON``, an empty home folder, and nothing else of the user's.

Registered toolchains, caches, configuration files and settings of drivers would change what the tests see: so nothing is
removed by name, but only what is named here is passed on.
"""

from __future__ import annotations

import atexit
import os
import re
import shutil
import tempfile
from pathlib import Path

#: What the tests themselves read, and what programs need to find one another and the package registries.
PASSED_ON = re.compile(
    r"""
      KERNLENS_(TEST_\w+|WHOLE|VALGRIND|IGC_LIBRARIES|NVDISASM|NEWEST_ROOT|\w+_MISSING)  # docs/testing.md, scripts/setup.sh
    | PYTEST_\w+ | COV_\w+ | CI | PYTHON(HASHSEED|DONTWRITEBYTECODE|UNBUFFERED|PATH)
    | PATH | TMPDIR | LANG | TZ | USER | LOGNAME | SHELL | PYENV_ROOT | DEBIAN_FRONTEND
    | \w*_proxy | \w*_PROXY | \w*CERT\w* | \w*_CA_\w+ | GIT_SSL_CAINFO
    | (PIP|UV|NPM_CONFIG|npm_config)_\w+
    | OPENBLAS_\w+ | OMP_NUM_THREADS
    """,
    re.VERBOSE,
)
#: Names the empty home folder; a process that has it is in this environment already.
_HOME = "KERNLENS_TEST_HOME"
#: The files that say where packages come from, as the package clients find them in a home folder.
_CLIENTS = {"PIP_CONFIG_FILE": (".config/pip/pip.conf", ".pip/pip.conf"), "NPM_CONFIG_USERCONFIG": (".npmrc",)}


def cache_folder() -> Path:
    """Return where everything that can be made again is kept: KERNLENS_TEST_CACHE, or kernlens-tests in the user's cache."""
    named = os.environ.get("KERNLENS_TEST_CACHE")
    if named:
        return Path(named)
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "kernlens-tests"


def leave_the_users() -> None:
    """Give this process, and all that it starts, the environment of the tests. Compilers are not cached in it."""
    if _HOME in os.environ:
        return
    known = {name: value for name, value in os.environ.items() if PASSED_ON.fullmatch(name)}
    for variable, places in _CLIENTS.items():
        files = [path for place in places if (path := Path.home() / place).is_file()]
        if files and variable not in known:
            known[variable] = str(files[0])
    home = tempfile.mkdtemp(prefix="kernlens-home-")
    atexit.register(shutil.rmtree, home, ignore_errors=True)
    known |= {"HOME": home, _HOME: home, "KERNLENS_TEST_CACHE": str(cache_folder()), "KERNLENS_CACHE": "off"}
    os.environ.clear()
    os.environ.update(known)
