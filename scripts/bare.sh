#!/usr/bin/env bash
# Installs a wheel on a bare system, as a plain user without compiler and headers, and annotates a kernel: two commands, timed.
#
#   bash scripts/bare.sh WHEEL SUITE [TOOLCHAIN]     as root; SUITE is bookworm, trixie, or noble of Ubuntu
#
# With TOOLCHAIN, the folder of one from another machine, there is no network: what the wheel depends on is fetched before.
# BARE_ROOT names a folder to keep the system in (250 MB), which is made once.
set -euo pipefail
source "$(dirname "${BASH_SOURCE[0]}")/setup.sh"

wheel=$(realpath "${1:?the wheel}") suite=${2:?the release} toolchain=${3:+$(realpath "$3")}
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
root=${BARE_ROOT:-$work/root}
if [ ! -x "$root/usr/bin/python3" ]; then
  case $suite in
    noble) from=(http://archive.ubuntu.com/ubuntu /usr/share/debootstrap/scripts/sid) words=(--no-check-gpg --components=main,universe) ;;
    *) from=(http://deb.debian.org/debian /usr/share/debootstrap/scripts/sid) words=() ;;
  esac
  say "making a bare $suite in $root"
  quietly debootstrap --variant=minbase --include=python3,python3-venv,ca-certificates "${words[@]}" "$suite" "$root" "${from[@]}"
fi
# What this machine's apt and pip are told of proxies and certificates counts there too.
apt-config dump Acquire | grep '"' >"$root/etc/apt/apt.conf.d/99outside" || true
for each in /etc/resolv.conf /etc/hosts /etc/pip.conf /etc/ssl/certs/ca-certificates.crt; do
  [ ! -f "$each" ] || { rm -f "$root$each"; cp -L "$each" "$root$each"; }
done
grep -q '^me:' "$root/etc/passwd" || echo 'me:x:1000:1000::/home/me:/bin/bash' >>"$root/etc/passwd"
rm -rf "$root/home/me" "$root/wheels"
mkdir -p "$root/home/me" "$root/wheels" "$root/toolchain"
chown 1000:1000 "$root/home/me" "$root/wheels"
cp "$wheel" "$root/wheels"
echo 'kernel void add(global int *a) { a[get_global_id(0)] += 1; }' >"$root/home/me/my.cl"

# Runs as the plain user: in_root unshare's words, then a script.
in_root() {
  local script=$1
  shift
  unshare --mount --pid --fork --kill-child "$@" bash -c '
    mount -t proc proc "$0/proc" && mount --rbind /dev "$0/dev"
    [ -z "$2" ] || mount --bind "$2" "$0/toolchain"
    exec chroot --userspec=1000:1000 "$0" /usr/bin/env -i HOME=/home/me LANG=C.UTF-8 PATH=/usr/bin:/bin bash -euc "cd; $1"
  ' "$root" "$script" "$toolchain"
}

begin='. /etc/os-release; echo "$PRETTY_NAME, $(ldd --version | head -n 1), $(python3 --version)"
! command -v gcc cc ocloc; python3 -m venv v; . v/bin/activate; TIMEFORMAT="%1R s"'
end='kernlens doctor | sed "/^Optional/,\$d"'
if [ -z "$toolchain" ]; then
  in_root "$begin
    time pip install -q --find-links /wheels kernlens
    time kernlens annotate my.cl --device dg2 --yes >out; head -n 2 out
    $end"
else
  in_root 'python3 -m venv w; w/bin/pip download -q --dest /wheels /wheels/*.whl'
  in_root "$begin
    time pip install -q --no-index --find-links /wheels kernlens
    kernlens toolchain add newest --root /toolchain
    time kernlens annotate my.cl --device dg2 >out; head -n 2 out
    $end" --net
fi
