#!/usr/bin/env bash
# The quick check, for every commit: ruff, mypy, and the unit tests but for the slow ones, in half a minute. It installs nothing.
#
#   bash scripts/check.sh                  all of it
#   bash scripts/check.sh ruff mypy        some of it: ruff, mypy, unit
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

# Three processes on two processors, each of which collects all tests; one in an environment that is older than xdist.
run_unit() {
  local processes=()
  if compgen -G "$BIN/../lib/python3*/site-packages/xdist" >/dev/null; then
    processes=(-n 3)
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
  tail -n 1 "$logs/unit"
fi
exit "$failed"
