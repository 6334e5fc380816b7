#!/usr/bin/env bash
# What the other scripts need: packages of the system, a virtual environment with kernlens in it, the newest driver.
# For Debian 12 and 13; Ubuntu's packages have the same names, but nothing was tried there.
# Source it and call set_up. What is there already is left alone, so running it again costs a moment only.
set -euo pipefail

ROOT=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
VENV=$ROOT/.venv${KERNLENS_TEST_PYTHON:+-system}
CACHE=${KERNLENS_TEST_CACHE:-${XDG_CACHE_HOME:-$HOME/.cache}/kernlens-tests}

# Of names with | between them, the first that the release has.
# What builds the package.
PACKAGES_TO_BUILD=(gcc libc6-dev opencl-headers python3 python3-dev python3-venv)
# Intel's OpenCL compiler and the disassembler's library, which Debian 13 does not have.
PACKAGES_OF_INTEL=(intel-opencl-icd 'intel-ocloc|intel-opencl-icd' 'libigc1|libigc2')
# The tools that the tests compare with, and the drivers and compilers that they run.
PACKAGES_TO_TEST=('libigc-tools|libigc2-tools' binutils elfutils spirv-tools 'clang-15|clang-19|clang-18'
  'llvm-15|llvm-19|llvm-18' 'llvm-spirv-15|llvm-spirv-19|llvm-spirv-18' clinfo ocl-icd-libopencl1 chromium firefox-esr g++ git
  gpg gpg-agent ocl-icd-opencl-dev libze1 libze-dev pocl-opencl-icd debootstrap
  'lld-15|lld-19|lld-18' 'rocm-device-libs|rocm-device-libs-17' oclgrind llvm-14 llvm-spirv-14)

# What tests before a release alone need: those that KERNLENS_WHOLE or KERNLENS_VALGRIND asks for.
PACKAGES_TO_RELEASE=(valgrind libc6-dbg darktable)

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

# Asks for sudo's password once, where somebody can type it.
can_be_root() {
  [ "$(id -u)" -eq 0 ] || sudo -n true 2>/dev/null || { [ -t 0 ] && [ -t 2 ] && command -v sudo >/dev/null && sudo -v; }
}

is_installed() {
  [ "$(dpkg-query -W -f '${db:Status-Status}' "$1" 2>/dev/null)" = installed ]
}

# Of a package that is only named by others apt knows nothing to show.
is_known() {
  [ -n "$(apt-cache show "$1" 2>/dev/null)" ]
}

# Package lists are fetched only when apt has none.
fetch_package_lists() {
  is_known gcc && return
  say "fetching the package lists"
  quietly as_root apt-get -q update
}

install_packages() {
  local word package packages missing=()
  for word in "$@"; do
    IFS='|' read -ra packages <<<"$word"
    for package in "${packages[@]}"; do is_installed "$package" && continue 2; done
    missing+=("$word")
  done
  [ ${#missing[@]} -gt 0 ] || return 0
  if ! can_be_root; then
    printf 'These packages are missing, and this user is neither root nor may use sudo:\n' >&2
    printf '  apt-get install %s\n' "${missing[*]%%|*}" >&2
    printf 'docs/install.md says how kernlens is installed without root.\n' >&2
    return 1
  fi
  fetch_package_lists
  set -- "${missing[@]}"
  missing=()
  for word in "$@"; do
    IFS='|' read -ra packages <<<"$word"
    for package in "${packages[@]}"; do
      [[ " ${missing[*]} " == *" $package "* ]] && continue 2
      is_known "$package" && missing+=("$package") && continue 2
    done
    say "left out: ${word//|/ or }, which this release does not have"
  done
  [ ${#missing[@]} -gt 0 ] || return 0
  say "installing packages: ${missing[*]}"
  local install=(env DEBIAN_FRONTEND=noninteractive apt-get -q -y --no-install-recommends install)
  # How much there is to fetch, and how much room it takes.
  "${install[@]}" --assume-no "${missing[@]}" 2>/dev/null </dev/null | grep -E '^(Need to get|After this)' || true
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
  for python in python3 python3.14 python3.13 python3.12 python3.11 /usr/bin/python3; do
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
    find pyproject.toml setup.py scripts/setup.sh scripts/constraints.txt native -type f | LC_ALL=C sort | xargs sha256sum
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
    quietly "$VENV/bin/python" -m pip install --quiet --constraint "$ROOT/scripts/constraints.txt" --editable "$ROOT[test,fuzz,docs]"
  else
    quietly "$VENV/bin/python" -m pip install --quiet --editable "$ROOT"
  fi
  printf '%s\n' "$stamp" >"$VENV/kernlens-$1.stamp"
}

# say_needs run|test: what set_up installs, in which size, and what of it is there already.
say_needs() {
  local what=$1 size=70 there=missing
  [ "$what" = run ] || size=2700
  ! grep -qsx "$(environment_stamp)" "$VENV/kernlens-$what.stamp" "$VENV/kernlens-test.stamp" || there="there already"
  say "needed once: .venv with what '$what' needs ($size MB, $there)"
  [ "$what" = run ] && return
  there=missing
  [ ! -d "${KERNLENS_NEWEST_ROOT:-$CACHE/toolchains/newest}" ] || there="there already"
  say "needed once: Intel's newest compiler and driver (94 MB to fetch, 430 MB on the disk, $there)"
  say "needed once: packages of Debian, which apt counts below if any are missing; without KERNLENS_WHOLE and KERNLENS_VALGRIND" \
    "none of: ${PACKAGES_TO_RELEASE[*]}"
}

# set_up run|test: everything that running, or testing, needs.
set_up() {
  case $1 in
    run)
      install_packages "${PACKAGES_TO_BUILD[@]}"
      # Without root, or where the release has none, find_compiler gets another one.
      if ! is_installed intel-opencl-icd && can_be_root; then
        fetch_package_lists
        if is_known intel-opencl-icd; then
          install_packages "${PACKAGES_OF_INTEL[@]}"
        else
          say "this release has no package of Intel's compiler"
        fi
      fi
      ;;
    test)
      install_packages "${PACKAGES_TO_BUILD[@]}" "${PACKAGES_OF_INTEL[@]}" "${PACKAGES_TO_TEST[@]}"
      [ -z "${KERNLENS_WHOLE:-}${KERNLENS_VALGRIND:-}" ] || install_packages "${PACKAGES_TO_RELEASE[@]}"
      ;;
  esac
  make_environment "$1"
}

# Where no toolchain has a compiler: Intel's newest, in this user's folder; no root rights are needed.
find_compiler() {
  if ! "$VENV/bin/python" -c 'import sys; from kernlens.toolchain.toolchains import toolchain; sys.exit(toolchain().ocloc is None)'; then
    say "kernlens toolchain add newest (94 MB to fetch, 430 MB on the disk, once)"
    "$VENV/bin/kernlens" toolchain add newest
  fi
}

# Sets KERNLENS_NEWEST_ROOT: a folder with the newest Intel compiler and driver (430 MB, made once; needs no root rights).
# If it cannot be had, KERNLENS_NEWEST_ROOT_MISSING says why, and the tests that need it say so at the end of the run.
find_newest_root() {
  local folder=$CACHE/toolchains
  if [ -n "${KERNLENS_NEWEST_ROOT:-}" ]; then
    return 0
  fi
  if [ ! -d "$folder/newest" ]; then
    say "fetching the newest Intel compiler and driver into $folder/newest (430 MB, once)"
    if ! KERNLENS_TOOLCHAINS=$folder quietly "$VENV/bin/kernlens" toolchain add newest; then
      export KERNLENS_NEWEST_ROOT_MISSING="kernlens toolchain add newest failed, its words are at the top of this log"
      return 0
    fi
  fi
  export KERNLENS_NEWEST_ROOT=$folder/newest
}

# Lints, tests and builds what is in TypeScript, with Node at hand: check_in_node NAME SCRIPT VARIABLE LEFT_OUT. Where that cannot
# be, the VARIABLE says why, and the tests that need what npm installs say so at the end.
check_in_node() {
  local name=$1 script=$2 variable=$3 left_out=$4 status=0
  if ! node -e 'process.exit(parseInt(process.versions.node) < 20 ? 1 : 0)' 2>/dev/null || ! command -v npm >/dev/null; then
    say "$name: $left_out, as Node 20 or newer with npm is not installed"
    export "$variable=it comes through npm, and Node 20 or newer with npm is not installed"
    return 0
  fi
  say "$name"
  bash "$ROOT/scripts/$script" --check || status=$?
  if [ "$status" -eq 75 ]; then
    say "$name: $left_out, as npm's registry cannot be reached"
    export "$variable=npm's registry could not be reached, which has it"
    return 0
  fi
  return "$status"
}

# The viewer's scripts are committed; they are built again and must be the same.
check_viewer() {
  check_in_node viewer viewer.sh KERNLENS_AXE_MISSING "neither linted, tested nor built again"
}

# The extension for VS Code is built by hand (scripts/vscode.sh) and in no wheel.
check_vscode() {
  check_in_node "VS Code" vscode.sh KERNLENS_VSCODE_MISSING "neither linted nor tested"
}
