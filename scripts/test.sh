#!/usr/bin/env bash
# Sets this machine up, then runs every check: ruff, mypy, and all tests. Arguments go to pytest.
set -euo pipefail
source "$(dirname "${BASH_SOURCE[0]}")/setup.sh"

set_up test
find_newest_root
cd "$ROOT"
say "ruff"
"$VENV/bin/ruff" check .
say "mypy"
"$VENV/bin/mypy"
say "pytest"
# Two processes: much of the time is waiting for compilers and drivers.
exec "$VENV/bin/python" -m pytest -n 2 "$@" </dev/null
