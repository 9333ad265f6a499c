#!/usr/bin/env bash
# From a bare Debian to an explained plan and the answer of an ONNX model, and
# what each part takes; as root, with debootstrap:
#   bare_machine.sh SUITE WHEEL FOLDER
# SUITE is bookworm or trixie. FOLDER keeps the bare machine for the next time.
set -euo pipefail
suite=$1 wheel=$(readlink -f "$2") folder=$3
here=$(readlink -f "$(dirname "$0")")
base=$folder/$suite root=$folder/$suite.fresh
mkdir -p "$folder"
if [ ! -e "$base/complete" ]; then
  rm -rf "$base"
  debootstrap --variant=minbase "$suite" "$base" >"$folder/debootstrap.log"
  touch "$base/complete"
fi
trap 'umount "$root/proc" 2>/dev/null || true' EXIT
rm -rf --one-file-system "$root"
cp -a "$base" "$root"
mount -t proc proc "$root/proc"
cp "$wheel" "$here/first_program.py" "$root/tmp"
# For networks whose certificates are their own.
certificates=/etc/ssl/certs/ca-certificates.crt
if [ -e $certificates ]; then
  mkdir -p "$root/etc/ssl/certs" && cp -L $certificates "$root$certificates"
fi

# part NAME COMMAND...: runs the command on the machine; prints its seconds.
part() {
  local begin=$EPOCHREALTIME
  chroot "$root" env -u PYTHONPATH -u LD_LIBRARY_PATH PATH=/usr/bin:/bin:/sbin \
    DEBIAN_FRONTEND=noninteractive "${@:2}" >"$root.log" 2>&1 ||
    { tail -20 "$root.log" && exit 1; }
  awk -v a="$begin" -v b="$EPOCHREALTIME" -v name="$1" \
    'BEGIN { printf "%5.1f s  %s\n", b - a, name }'
}

begin=$EPOCHREALTIME
part "apt-get update" apt-get update -q
part "apt-get install python3 python3-venv" apt-get install -qy \
  --no-install-recommends python3 python3-venv
part "python3 -m venv" python3 -m venv /v
part "pip install, with NumPy and nanobind-backend" \
  /v/bin/pip install -q --disable-pip-version-check "/tmp/${wheel##*/}"
part "a plan, explained; an ONNX model's answer; two threads" \
  /v/bin/python /tmp/first_program.py
cat "$root.log"
awk -v a="$begin" -v b="$EPOCHREALTIME" -v name="$suite" \
  'BEGIN { printf "%5.1f s  in all, %s\n", b - a, name }'
