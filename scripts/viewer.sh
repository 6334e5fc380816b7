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
# The lock file decides; what is there already is left alone.
if ! cmp -s package-lock.json node_modules/.lock-of-this-install; then
  log=$(mktemp)
  trap 'rm -f "$log"' EXIT
  if ! npm ci --no-audit --no-fund --loglevel=error >"$log" 2>&1; then
    cat "$log" >&2
    # What npm calls a connection that was never made. Any answer of a registry, a refusal too, is a failure to look into.
    if grep -Eq '^npm (ERR!|error) code (ENOTFOUND|EAI_AGAIN|ECONNREFUSED|ENETUNREACH|EHOSTUNREACH|ETIMEDOUT)$' "$log"; then
      exit 75
    fi
    exit 1
  fi
  cp package-lock.json node_modules/.lock-of-this-install
fi
if [ "${1:-}" = --check ]; then
  npm run --silent check
fi
before=$(sha256sum "$BUILT"/*.js 2>/dev/null || true)
npm run --silent build
if [ "${1:-}" = --check ] && [ "$before" != "$(sha256sum "$BUILT"/*.js)" ]; then
  printf 'The scripts in src/kernlens/explorer/viewer were not what their sources give: they have been built anew, commit them.\n' >&2
  exit 1
fi
