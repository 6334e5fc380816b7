#!/usr/bin/env bash
# What the other scripts need: Debian packages, a virtual environment with kernlens in it, the newest driver.
# Source it and call set_up. What is there already is left alone, so running it again costs a moment only.
set -euo pipefail

ROOT=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
VENV=$ROOT/.venv${KERNLENS_TEST_PYTHON:+-system}
CACHE=${KERNLENS_TEST_CACHE:-${XDG_CACHE_HOME:-$HOME/.cache}/kernlens-tests}

# To compile and read kernels: the OpenCL compiler, the disassembler's library, and what builds the package.
PACKAGES_TO_RUN=(intel-opencl-icd libigc1 gcc libc6-dev python3 python3-dev python3-venv)
# The tools that the tests compare with, and the drivers and compilers that they run.
PACKAGES_TO_TEST=(libigc-tools binutils elfutils spirv-tools clang-15 llvm-15 llvm-spirv-15 clinfo ocl-icd-libopencl1
  chromium g++ valgrind libc6-dbg ocl-icd-opencl-dev opencl-headers libze1 libze-dev pocl-opencl-icd debootstrap
  darktable)

say() { printf '== %s\n' "$*"; }

# Runs a command whose output matters only if it fails.
quietly() {
  local log status=0
  log=$(mktemp)
  "$@" >"$log" 2>&1 </dev/null || status=$?
  [ "$status" -eq 0 ] || { printf 'failed: %s\n' "$*"; tail -n 40 "$log"; } >&2
  rm -f "$log"
  return "$status"
}

as_root() {
  if [ "$(id -u)" -eq 0 ]; then "$@"; else sudo -n "$@"; fi
}

can_be_root() {
  [ "$(id -u)" -eq 0 ] || sudo -n true 2>/dev/null
}

is_installed() {
  [ "$(dpkg-query -W -f '${db:Status-Status}' "$1" 2>/dev/null)" = installed ]
}

# Package lists are fetched only when apt does not know a package by name.
refresh_package_lists_for() {
  local package
  for package in "$@"; do
    if ! apt-cache show --quiet=2 "$package" >/dev/null 2>&1; then
      say "fetching Debian's package lists"
      quietly as_root apt-get -q update
      return
    fi
  done
}

install_packages() {
  local package missing=()
  for package in "$@"; do
    is_installed "$package" || missing+=("$package")
  done
  [ ${#missing[@]} -gt 0 ] || return 0
  if ! can_be_root; then
    printf 'These Debian packages are missing, and this user is neither root nor may use sudo without a password:\n' >&2
    printf '  apt-get install %s\n' "${missing[*]}" >&2
    return 1
  fi
  refresh_package_lists_for "${missing[@]}"
  say "installing Debian packages: ${missing[*]}"
  local install=(env DEBIAN_FRONTEND=noninteractive apt-get -q -y --no-install-recommends install)
  # A list can be older than the mirror's packages: fetch it anew before giving up.
  quietly as_root "${install[@]}" "${missing[@]}" 2>/dev/null || {
    quietly as_root apt-get -q update
    quietly as_root "${install[@]}" "${missing[@]}"
  }
}

# KERNLENS_TEST_PYTHON, or the first Python that is new enough and has headers (the decoder is C) and venv; Debian 12's own is one.
find_python() {
  local python
  if [ -n "${KERNLENS_TEST_PYTHON:-}" ]; then
    printf '%s\n' "$KERNLENS_TEST_PYTHON"
    return
  fi
  for python in python3 python3.13 python3.12 python3.11 /usr/bin/python3; do
    command -v "$python" >/dev/null || continue
    "$python" - 2>/dev/null <<'PYTHON' && { command -v "$python"; return; }
import os, sys, sysconfig
import ensurepip, venv
headers = os.path.join(sysconfig.get_paths()["include"], "Python.h")
sys.exit(sys.version_info < (3, 11) or not os.path.exists(headers))
PYTHON
  done
  printf 'No Python 3.11 or newer with headers and venv was found.\n' >&2
  return 1
}

# Changes exactly when the environment must be made anew: the build's files, the native sources, the checkout.
environment_stamp() {
  (
    cd "$ROOT"
    printf '%s\n' "$ROOT"
    find pyproject.toml setup.py scripts/setup.sh native -type f | LC_ALL=C sort | xargs sha256sum
  ) | sha256sum | cut -d ' ' -f 1
}

# make_environment EXTRAS: a virtual environment that holds kernlens, editable: changes of the Python sources count at once.
make_environment() {
  local stamp python
  stamp=$(environment_stamp)
  # What is there for tests serves for running too.
  if [ -x "$VENV/bin/kernlens" ] && grep -qsx "$stamp" "$VENV/kernlens-$1.stamp" "$VENV/kernlens-test.stamp"; then
    return 0
  fi
  if [ ! -x "$VENV/bin/python" ] || ! "$VENV/bin/python" -c '' 2>/dev/null; then
    python=$(find_python)
    say "making the virtual environment .venv with $python"
    rm -rf "$VENV"
    quietly "$python" -m venv "$VENV"
  fi
  say "building kernlens and installing it into .venv (editable, with what '$1' needs)"
  if [ "$1" = test ]; then
    quietly "$VENV/bin/python" -m pip install --quiet --editable "$ROOT[test,fuzz,docs]"
  else
    quietly "$VENV/bin/python" -m pip install --quiet --editable "$ROOT"
  fi
  printf '%s\n' "$stamp" >"$VENV/kernlens-$1.stamp"
}

# set_up run|test: everything that running, or testing, needs.
set_up() {
  case $1 in
    run) install_packages "${PACKAGES_TO_RUN[@]}" ;;
    test) install_packages "${PACKAGES_TO_RUN[@]}" "${PACKAGES_TO_TEST[@]}" ;;
  esac
  make_environment "$1"
}

# Sets KERNLENS_NEWEST_ROOT: a folder with the newest Intel compiler and driver (750 MB, made once; needs no root rights).
# If it cannot be had, KERNLENS_NEWEST_ROOT_MISSING says why, and the tests that need it say so at the end of the run.
find_newest_root() {
  local folder=$CACHE/toolchains
  if [ -n "${KERNLENS_NEWEST_ROOT:-}" ]; then
    return 0
  fi
  if [ ! -d "$folder/newest" ]; then
    say "fetching the newest Intel compiler and driver into $folder/newest (750 MB, once)"
    if ! KERNLENS_TOOLCHAINS=$folder quietly "$VENV/bin/kernlens" toolchain add newest; then
      export KERNLENS_NEWEST_ROOT_MISSING="kernlens toolchain add newest failed, its words are at the top of this log"
      return 0
    fi
  fi
  export KERNLENS_NEWEST_ROOT=$folder/newest
}

# The viewer's script is committed; with Node at hand its sources are linted and tested, and it is built again and must be the
# same. Where that cannot be, KERNLENS_AXE_MISSING says why, and the tests that need axe-core, which is installed with what it is
# built with, say so at the end.
check_viewer() {
  local status=0
  if ! node -e 'process.exit(parseInt(process.versions.node) < 20 ? 1 : 0)' 2>/dev/null || ! command -v npm >/dev/null; then
    say "viewer: neither linted, tested nor built again, as Node 20 or newer with npm is not installed"
    export KERNLENS_AXE_MISSING="it comes through npm, and Node 20 or newer with npm is not installed"
    return 0
  fi
  say "viewer"
  "$ROOT/scripts/viewer.sh" --check || status=$?
  if [ "$status" -eq 75 ]; then
    say "viewer: neither linted, tested nor built again, as npm's registry cannot be reached; the tests take the script that is committed"
    export KERNLENS_AXE_MISSING="npm's registry could not be reached, which has it"
    return 0
  fi
  return "$status"
}
