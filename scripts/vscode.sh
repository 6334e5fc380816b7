#!/usr/bin/env bash
# Builds the extension for VS Code (editors/vscode, TypeScript) into dist/kernlens-VERSION.vsix, which VS Code installs:
#
#   bash scripts/vscode.sh              builds it
#   bash scripts/vscode.sh --check      lints and tests its sources, and builds nothing
#
# Status 75: npm's registry, from which what it is built with is installed once, cannot be reached.
set -euo pipefail

ROOT=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)

if ! command -v npm >/dev/null; then
  printf 'The extension is built with Node: apt-get install nodejs npm (Debian 12 has version 18; 20.19 or newer is needed).\n' >&2
  exit 1
fi
cd "$ROOT/editors/vscode"
source "$ROOT/scripts/npm.sh"
install_locked
if [ "${1:-}" = --check ]; then
  npm run --silent check
  exit
fi
npm run --silent build -- --logLevel=warn
version=$(node -p 'require("./package.json").version')
python3 "$ROOT/scripts/vsix.py" "$ROOT/dist/kernlens-$version.vsix"
