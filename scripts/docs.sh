#!/usr/bin/env bash
# bash scripts/docs.sh [FOLDER]: the documentation as a site, in build/site if no folder is named. It installs nothing and
# needs no network. Warnings are errors: a link that leads nowhere, a page that nothing leads to.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
PYTHON=$PWD/.venv/bin/python

if ! "$PYTHON" -c 'import furo, myst_parser, sphinx' 2>/dev/null; then
  printf 'There is no Sphinx in .venv: run "bash scripts/test.sh" once, or ".venv/bin/pip install -e .[docs]".\n' >&2
  exit 2
fi
"$PYTHON" -m sphinx -b html -W --keep-going -n -q docs "${1:-build/site}"
