#!/usr/bin/env bash
# The quick check, for every commit: ruff, mypy, and the unit tests that the change touches, in at most 20 s of processor time
# where mypy knows the tree from before. It installs nothing, and says what it left out.
#
#   bash scripts/check.sh                      what changed since the last commit
#   bash scripts/check.sh --since main         what changed since a revision
#   bash scripts/check.sh --all                all unit tests but for the slow ones (90 s of processor time)
#   bash scripts/check.sh ruff mypy            some of it: ruff, mypy, unit
#
# bash scripts/test.sh runs everything, with real compilers and drivers.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
BIN=$PWD/.venv/bin

for tool in ruff mypy pytest; do
  if [ ! -x "$BIN/$tool" ]; then
    printf 'There is no %s in .venv: run "bash scripts/test.sh" once, which makes it.\n' "$tool" >&2
    exit 2
  fi
done

run_ruff() { "$BIN/ruff" check --quiet . && "$BIN/ruff" format --quiet --check .; }

run_mypy() { "$BIN/mypy"; }

since=HEAD
all=
while [ $# -gt 0 ]; do
  case $1 in
    --all) all=1; shift ;;
    --since) since=${2:?--since needs a revision}; shift 2 ;;
    *) break ;;
  esac
done
git rev-parse --quiet --verify "$since^{commit}" >/dev/null || { printf 'git knows no revision %s\n' "$since" >&2; exit 2; }

# Bytecode is made here, once: the tests start hundreds of interpreters that write none.
run_unit() {
  "$BIN/python" -m compileall -q src
  if [ -z "$all" ]; then
    "$BIN/python" -m tests.touched "$since"
    return
  fi
  # An environment that is older than xdist has one process.
  local processes=()
  if compgen -G "$BIN/../lib/python3*/site-packages/xdist" >/dev/null; then
    processes=(-n 2 --dist worksteal)
  fi
  "$BIN/python" -m pytest -q "${processes[@]}" -m "not slow" tests/unit
}

# report PART LOG STATUS: what a part printed, only if it failed.
report() {
  if [ "$3" -ne 0 ]; then
    printf '== %s failed\n' "$1"
    cat "$2"
  fi
}

[ $# -gt 0 ] || set -- ruff mypy unit
logs=$(mktemp -d)
trap 'rm -rf "$logs"' EXIT
declare -A running=()
failed=0
for part in "$@"; do
  case $part in
    ruff | mypy | unit) ;;
    *) printf '%s is none of the checks: ruff, mypy, unit\n' "$part" >&2; exit 2 ;;
  esac
  "run_$part" >"$logs/$part" 2>&1 </dev/null &
  running[$part]=$!
done
for part in "$@"; do
  status=0
  wait "${running[$part]}" || status=$?
  report "$part" "$logs/$part" "$status"
  [ "$status" -eq 0 ] || failed=1
done
if [ "$failed" -eq 0 ] && [ -f "$logs/unit" ]; then
  grep -E "^left out|are touched$|looks at|nothing has changed|touches all" "$logs/unit" || true
  tail -n 1 "$logs/unit"
fi
exit "$failed"
