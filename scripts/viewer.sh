#!/usr/bin/env bash
# Builds the viewer (viewer/, TypeScript) into the package: viewer.js and notebook.js in src/kernlens/explorer/viewer, which are
# committed, so that users need no Node. With --check it lints and tests the sources too, and fails if what is committed is not what they give.
# Status 75: npm's registry, from which what it is built with is installed once, cannot be reached.
set -euo pipefail

ROOT=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
BUILT=$ROOT/src/kernlens/explorer/viewer

if ! command -v npm >/dev/null; then
  printf 'The viewer is built with Node: apt-get install nodejs npm (Debian 12 has version 18; 20.19 or newer is needed).\n' >&2
  exit 1
fi
cd "$ROOT/viewer"
source "$ROOT/scripts/npm.sh"
install_locked
if [ "${1:-}" = --check ]; then
  npm run --silent check
fi
before=$(sha256sum "$BUILT"/*.js 2>/dev/null || true)
npm run --silent build
if [ "${1:-}" = --check ] && [ "$before" != "$(sha256sum "$BUILT"/*.js)" ]; then
  printf 'The scripts in src/kernlens/explorer/viewer were not what their sources give: they have been built anew, commit them.\n' >&2
  exit 1
fi
