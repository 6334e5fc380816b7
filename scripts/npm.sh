#!/usr/bin/env bash
# What scripts/viewer.sh and scripts/vscode.sh need. Source it.

# Installs what package-lock.json of this folder names, if that is not there already; what is there is left alone.
# Exits with 75 if npm's registry cannot be reached.
install_locked() {
  local log
  if cmp -s package-lock.json node_modules/.lock-of-this-install; then
    return 0
  fi
  log=$(mktemp)
  if ! npm ci --no-audit --no-fund --loglevel=error >"$log" 2>&1; then
    cat "$log" >&2
    # What npm calls a connection that was never made. Any answer of a registry, a refusal too, is a failure to look into.
    if grep -Eq '^npm (ERR!|error) code (ENOTFOUND|EAI_AGAIN|ECONNREFUSED|ENETUNREACH|EHOSTUNREACH|ETIMEDOUT)$' "$log"; then
      rm -f "$log"
      exit 75
    fi
    rm -f "$log"
    exit 1
  fi
  rm -f "$log"
  cp package-lock.json node_modules/.lock-of-this-install
}
