#!/usr/bin/env bash
# Follows docs/adding_a_device.md word for word in an empty folder:
#   follow_adding_a_device.sh SOURCE_DIR WORK_DIR PREFIX
# PREFIX is where Sluice is installed; compilers and flags are taken from the
# environment. Fails unless the device is one file of at most 150 lines, is the
# one of tests/consumers, is built, keeps the rules and computes.
set -euo pipefail
source_dir=$1 work=$2 prefix=$3
guide=$source_dir/docs/adding_a_device.md
. "$(dirname "${BASH_SOURCE[0]}")/part.sh"
rm -rf "$work" && mkdir -p "$work"

blocks "$work" <"$guide"

lines=$(wc -l < "$work/abacus.c")
headers=$(grep -c '#include "sluice/' "$work/abacus.c")
if [ "$lines" -gt 150 ] || [ "$headers" -ne 1 ]; then
  echo "abacus.c: $lines lines, $headers headers of Sluice; expected at most" \
    "150 and 1" >&2
  exit 1
fi

diff -r --exclude=run.sh "$source_dir/tests/consumers/add_device" "$work"

cd "$work"
export CMAKE_PREFIX_PATH=$prefix CMAKE_GENERATOR=${CMAKE_GENERATOR:-Ninja}
PATH=$prefix/bin:$PATH bash -euxo pipefail run.sh
