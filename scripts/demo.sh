#!/usr/bin/env bash
# From a real kernel to its annotated machine code, on a machine without a GPU.
#
# Sets this machine up (packages, .venv, a compiler), fetches Debian's darktable package for its OpenCL kernels, compiles one
# program for Intel's dg2 and prints each source line of one kernel with the instructions that it became.
set -euo pipefail
source "$(dirname "${BASH_SOURCE[0]}")/setup.sh"

PROGRAM=soften
KERNEL=soften_mix
DEVICE=dg2

# Unpacks darktable's kernels (no root needed) and prints their folder.
fetch_darktable() {
  local folder=$CACHE/demo kernels=$CACHE/demo/usr/share/darktable/kernels
  if [ ! -d "$kernels" ]; then
    fetch_package_lists >&2
    say "fetching Debian's darktable package for its OpenCL kernels" >&2
    mkdir -p "$folder"
    # Without a sandbox user: apt's own cannot write into this folder, and warns of it.
    (cd "$folder" && quietly apt-get -q -o APT::Sandbox::User= download darktable)
    dpkg-deb --fsys-tarfile "$folder"/darktable_*.deb | tar -x -C "$folder" ./usr/share/darktable/kernels
    rm "$folder"/darktable_*.deb
  fi
  printf '%s\n' "$kernels"
}

say_needs run
set_up run
find_compiler
kernels=$(fetch_darktable)
recording=$CACHE/demo/$PROGRAM.klens
kernlens=$VENV/bin/kernlens

say "$("$kernlens" --version)"
"$kernlens" toolchain list
say "kernlens compile $PROGRAM.cl --device $DEVICE"
"$kernlens" compile "$kernels/$PROGRAM.cl" --device "$DEVICE" --build-options "-gline-tables-only -I $kernels" -o "$recording"
say "kernlens annotate $PROGRAM.klens --kernel $KERNEL"
"$kernlens" annotate "$recording" --kernel "$KERNEL"
say "next, with kernels of ours or of your own:"
say "  . $VENV/bin/activate"
say "  kernlens compile examples/kernels/blur.cl --device $DEVICE && kernlens annotate blur.klens"
