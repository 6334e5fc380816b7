#!/usr/bin/env bash
# Runs unit tests with other versions than those of .venv: with the oldest of every dependency that pyproject.toml allows, and in
# bare Debian 13 and 14, and if asked for more 12, with the Python that each of them has (3.13, 3.14, 3.11.2), where there is no compiler and
# no driver. There with the dependencies of scripts/constraints.txt; with --all, the newest of today.
#
#   bash scripts/versions.sh                 a short selection, as a part of scripts/test.sh
#   bash scripts/versions.sh --all           all unit tests, before a release
#   bash scripts/versions.sh -k include      arguments go to pytest
#
# What it needs is made once, in the tests' cache folder. Debian's packages are only unpacked, and mounts are in a name space of
# their own, so no root rights are needed. What cannot be done here is left out, with the reason.
set -euo pipefail
source "$(dirname "${BASH_SOURCE[0]}")/setup.sh"

# What depends on versions: patterns, the command line, files, processes, recordings; and what was different once.
SHORT=(tests/unit/{agents/test_protocol_server,cli/test_{kernel_choice,cli_every_verb},formats/test_{ze_info,budget_file},rules/test_{patterns,public_surface}}.py
  tests/unit/{package,pipeline/test_second_build_of_recording.py,recording/test_recording.py,toolchain/test_{preprocessing,process,source_reading}.py})
# What the tests need in the bare roots.
REQUIREMENTS=(click orjson rich zstandard mcp jsonschema pytest pytest-xdist hypothesis starlette uvicorn httpx jsonschema-rs pyelftools
  setuptools)

PINS=$ROOT/scripts/constraints.txt

leave_out() { say "$1: left out, as $2"; }

# The lower bounds of what kernlens and its extras need, and of pytest, which it has a plugin for: one requirement a line.
oldest_requirements() {
  "$VENV/bin/python" - "$ROOT/pyproject.toml" <<'PYTHON'
import re, sys, tomllib
project = tomllib.load(open(sys.argv[1], "rb"))["project"]
extras = project["optional-dependencies"]
needed = [*project["dependencies"], *(each for name in ("opencl", "serve", "cluster", "arrow") for each in extras[name])]
needed += [each for each in extras["test"] if re.match(r"pytest\b[^-]", each)]
print(*(each.replace(">=", "==") for each in needed), sep="\n")
PYTHON
}

# is_made FOLDER STAMP: whether the folder holds what was made for this stamp.
is_made() { [ "$(cat "$1/stamp" 2>/dev/null)" = "$2" ]; }

# pip_into FOLDER WORDS...: packages without a kernlens, for a Python that may be another than pip's.
pip_into() { quietly "$VENV/bin/python" -m pip install --only-binary=:all: --target "$@"; }

with_oldest() {
  local folder=$CACHE/oldest partial requirements
  mapfile -t requirements < <(oldest_requirements)
  if ! is_made "$folder" "${requirements[*]}"; then
    partial=$(mktemp -d "$CACHE/.oldest-XXXXXX")
    if ! pip_into "$partial" "${requirements[@]}"; then
      rm -rf "$partial"
      return 1
    fi
    printf '%s' "${requirements[*]}" >"$partial/stamp"
    rm -rf "$folder"
    mv "$partial" "$folder"
  fi
  say "unit tests with the oldest dependencies: ${requirements[*]}"
  PYTHONPATH=$folder "$VENV/bin/python" -m pytest -q -p no:cacheprovider -n 2 "$@" </dev/null
}

# fill_root SUITE FOLDER: a root of Debian in FOLDER/root and, in FOLDER/packages, what pip has for its Python.
fill_root() {
  local name package version
  # The script is for all releases: a debootstrap that is older than a release has none under its name.
  quietly debootstrap --download-only --variant=minbase --include=python3 "$1" "$2/download" "$MIRROR" \
    /usr/share/debootstrap/scripts/sid || return 1
  # As since Debian 12 all programs and libraries are below /usr.
  for name in bin lib lib64 sbin; do
    mkdir -p "$2/root/usr/$name"
    ln -s "usr/$name" "$2/root/$name"
  done
  for package in "$2"/download/var/cache/apt/archives/*.deb; do
    quietly dpkg-deb --extract "$package" "$2/root" || return 1
  done
  echo 'root:x:0:0:root:/root:/bin/sh' >"$2/root/etc/passwd"
  echo 'root:x:0:' >"$2/root/etc/group"
  mkdir -p "$2/root/kernlens" "$2/root/packages"
  version=$(basename "$(readlink "$2/root/usr/bin/python3")")
  pip_into "$2/packages" --python-version "${version#python}" ${PINS:+--constraint "$PINS"} "${REQUIREMENTS[@]}" || return 1
  rm -rf "$2/download"
}

# Runs in the name space: mounts what the tests need.
IN_ROOT='
set -e
root=$1 tree=$2 packages=$3
shift 3
for each in proc dev sys; do mount --rbind /$each "$root/$each"; done
mount -t tmpfs -o mode=1777 tmp "$root/tmp"
mount -t tmpfs home "$root/root"
mount --bind "$tree" "$root/kernlens"
mount --bind "$packages" "$root/packages"
exec chroot "$root" /usr/bin/env -i HOME=/root PATH=/usr/bin:/bin:/packages/bin LANG=C.UTF-8 PYTHONDONTWRITEBYTECODE=1 \
  PYTHONPATH=/kernlens/src:/packages sh -c "cd /kernlens; exec python3 -m pytest -q -p no:cacheprovider -n 2 \"\$@\"" sh "$@"
'

in_debian() {
  local suite=$1 folder=$CACHE/debian/$1 partial stamp
  shift
  stamp="4 $MIRROR ${REQUIREMENTS[*]} ${PINS:+$(cat "$PINS")}"
  if ! is_made "$folder" "$stamp"; then
    say "making a root of Debian $suite in $folder (350 MB, once)"
    mkdir -p "$CACHE/debian"
    partial=$(mktemp -d "$CACHE/debian/.$suite-XXXXXX")
    if ! fill_root "$suite" "$partial"; then
      rm -rf "$partial"
      leave_out "bare Debian $suite" "its root cannot be made (above)"
      return 0
    fi
    printf '%s' "$stamp" >"$partial/stamp"
    rm -rf "$folder"
    mv "$partial" "$folder"
  fi
  say "unit tests in bare Debian $suite, with $(basename "$(readlink "$folder/root/usr/bin/python3")")"
  unshare --map-root-user --mount --fork --kill-child bash -c "$IN_ROOT" bash \
    "$folder/root" "$ROOT" "$folder/packages" "$@" </dev/null
}

[ -x "$VENV/bin/python" ] || set_up test
mkdir -p "$CACHE"
failed=0
suites=(bookworm trixie forky)
case ${1:-} in
  # Debian 12's Python is that of most .venv, and the other two have no compiler either.
  "") chosen=(-m "not slow" "${SHORT[@]}") suites=(trixie forky) ;;
  --all) shift; PINS='' chosen=(tests/unit "$@") ;;
  *) chosen=(tests/unit "$@") ;;
esac
with_oldest "${chosen[@]}" || failed=1
PATH=$PATH:/usr/sbin:/sbin
if ! command -v debootstrap >/dev/null; then
  leave_out "bare Debian" "debootstrap is not installed"
elif ! unshare --map-root-user --mount true 2>/dev/null; then
  leave_out "bare Debian" "this process may not mount in a name space of its own"
elif ! MIRROR=$("$VENV/bin/python" -c 'from kernlens.toolchain.apt import debian_mirror; print(debian_mirror())' 2>/dev/null); then
  leave_out "bare Debian" "apt's configuration names no Debian mirror"
else
  for suite in "${suites[@]}"; do
    in_debian "$suite" "${chosen[@]}" || failed=1
  done
fi
exit "$failed"
