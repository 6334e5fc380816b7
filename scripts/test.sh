#!/usr/bin/env bash
# Sets this machine up, then runs every check: ruff, mypy, the linters and tests of the viewer and of the extension for VS Code, a little fuzzing, a few unit tests with
# other versions of Python and the dependencies, and all tests. Arguments go to pytest; with any, nothing is fuzzed and no other version tried.
# KERNLENS_WHOLE=1 in the environment: also the tests that take minutes, before a release (tests/whole.py).
set -euo pipefail
source "$(dirname "${BASH_SOURCE[0]}")/setup.sh"

say_needs test
if [ $# -eq 0 ]; then
  say "this takes about 40 minutes on two quiet processors (10 more the first time): ruff, mypy and the viewer 2, then integration" \
    "and browser, with fuzzing, other versions of Python and unit tests beside them"
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
# These processes alone keep pytest's own bytecode of the tests, which takes longer to make than all tests to collect.
run_tests() { env -u PYTHONDONTWRITEBYTECODE "$VENV/bin/python" -m pytest "$@" </dev/null; }
# beside COMMAND...: runs it while other things go on, as a group of processes of its own, which ends with this one.
beside() {
  log=$(mktemp)
  set -m
  "$@" >"$log" 2>&1 </dev/null &
  running=$!
  set +m
  trap 'kill -- -$running 2>/dev/null || true; rm -f "$log"' EXIT
}
# Waits for it and prints what it said; its status.
end_beside() {
  local status=0
  wait "$running" || status=$?
  trap - EXIT
  cat "$log"
  rm -f "$log"
  return "$status"
}
check_types() { say "mypy" && "$VENV/bin/mypy"; }
beside check_types
check_viewer
check_vscode
end_beside
# Of a few files, named by arguments, a process that has nothing left takes from another's share.
if [ $# -gt 0 ]; then
  say "pytest"
  run_tests -n 3 --dist worksteal "$@"
  exit
fi
# What waits for nothing, and so takes what those leave of the processors that wait for drivers and browsers. The unit tests have
# processes of their own also as a browser's client leaves an event loop running in its process, in which asyncio starts no other.
check_without_tools() {
  local status=0
  fuzz || status=$?
  "$ROOT/scripts/versions.sh" || status=$?
  say "unit tests"
  run_tests -n 2 --dist worksteal tests/unit || status=$?
  return "$status"
}
beside check_without_tools
say "integration and browser tests"
# Each process takes one file after another, so that what the tests of a file share is made once. There are three on two
# processors, as some of the time is waiting for drivers and browsers.
status=0
run_tests -n 3 --dist loadfile --no-loadscope-reorder tests/integration tests/browser || status=$?
end_beside || status=$?
exit "$status"
