#!/usr/bin/env bash
# bash scripts/docs.sh [FOLDER]: the documentation as a site, in build/site if no folder is named. Needs no network but for
# what pip installs once (the extra docs). Warnings are errors: a link that leads nowhere, a page that nothing leads to.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
. scripts/setup.sh
set_up test
exec "$VENV/bin/python" -m sphinx -b html -W --keep-going -n -q docs "${1:-build/site}"
