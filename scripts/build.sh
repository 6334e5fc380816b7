#!/usr/bin/env bash
# Builds what is handed out into a folder: the sdist, and a wheel for every Linux whose C library is new enough (manylinux).
#
#   bash scripts/build.sh [FOLDER]         FOLDER is dist if not given
set -euo pipefail
source "$(dirname "${BASH_SOURCE[0]}")/setup.sh"

set_up test
folder=$(realpath -m "${1:-$ROOT/dist}")
plain=$(mktemp -d)
trap 'rm -rf "$plain"' EXIT
say "building in $folder"
"$VENV/bin/python" "$ROOT/scripts/man.py" "$ROOT/build/man"
# The wheel is made from the sdist, so what the sdist lacks is noticed.
quietly "$VENV/bin/python" -m build --outdir "$plain" "$ROOT"
# The Level Zero layer is for the driver of the machine that it will be on.
quietly env PATH="$VENV/bin:$PATH" "$VENV/bin/auditwheel" repair --exclude libze_intel_gpu.so.1 --wheel-dir "$folder" "$plain"/*.whl
cp "$plain"/*.tar.gz "$folder"
ls "$folder"
