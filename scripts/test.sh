#!/usr/bin/env bash
# Sets this machine up, then runs every check: ruff, mypy, the linters and tests of the viewer and of the extension for VS Code, a little fuzzing, a few unit tests with
# other versions of Python and the dependencies, and all tests. Arguments go to pytest; with any, nothing is fuzzed and no other version tried.
# KERNLENS_WHOLE=1 in the environment: also the tests that take minutes, before a release (tests/whole.py).
set -euo pipefail
source "$(dirname "${BASH_SOURCE[0]}")/setup.sh"

say_needs test
if [ $# -eq 0 ]; then
  say "this takes about 20 minutes on two quiet processors: ruff, mypy, viewer 2, fuzzing 1, other versions of Python 1 (10 the" \
    "first time), integration and browser 14, unit tests 2"
fi
set_up test
find_newest_root
cd "$ROOT"
# The tests start thousands of interpreters. Bytecode is made here and nowhere else: under a limit of file sizes, as some tests set
# one, Python leaves half a file, which every later import of the module fails on.
"$VENV/bin/python" -m compileall -q src tests
export PYTHONDONTWRITEBYTECODE=1
say "ruff"
"$VENV/bin/ruff" check .
fuzz() {
  # What the extra "fuzz" (pyproject.toml) installs here: atheris, or nothing.
  if "$VENV/bin/python" -m pip show --quiet atheris 2>/dev/null; then
    say "fuzz"
    # A count and not a time, from one seed: what is found here should depend on the tree, not on the machine.
    PYTHONHASHSEED=0 "$VENV/bin/python" -m tests.fuzz --brief --jobs 1
  else
    say "fuzz: left out, as atheris is not installed (it is for Linux on x86-64)"
  fi
}
# mypy and the fuzzer take one processor for two minutes, what comes before they have ended mostly the other. They are a group of
# processes of their own, which ends with this one.
beside=$(mktemp)
set -m
(
  say "mypy"
  "$VENV/bin/mypy"
  [ $# -gt 0 ] || fuzz
) >"$beside" 2>&1 </dev/null &
checking=$!
set +m
trap 'kill -- -$checking 2>/dev/null || true; rm -f "$beside"' EXIT
check_viewer
check_vscode
if [ $# -eq 0 ]; then
  "$ROOT/scripts/versions.sh"
fi
wait "$checking" || { cat "$beside"; exit 1; }
cat "$beside"
trap - EXIT
rm -f "$beside"
say "pytest"
# These processes alone keep pytest's own bytecode of the tests, which takes longer to make than all tests to collect.
run_tests() { env -u PYTHONDONTWRITEBYTECODE "$VENV/bin/python" -m pytest "$@" </dev/null; }
# Of a few files, named by arguments, a process that has nothing left takes from another's share.
if [ $# -gt 0 ]; then
  run_tests -n 3 --dist worksteal "$@"
  exit
fi
# Each process takes one file after another, so that what the tests of a file share is made once. There are three on two
# processors, as some of the time is waiting for drivers and browsers. The unit tests, which wait for nothing, have two processes of
# their own: a browser's client leaves an event loop running in its process, in which asyncio starts no other.
status=0
run_tests -n 3 --dist loadfile --no-loadscope-reorder tests/integration tests/browser || status=$?
run_tests -n 2 --dist worksteal tests/unit || status=$?
exit "$status"
