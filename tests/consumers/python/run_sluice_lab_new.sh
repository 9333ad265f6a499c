#!/usr/bin/env bash
# Builds and tests what `sluice-lab new` writes, by the commands that it prints,
# and then with a mistake in it, which the tests must find:
#   run_sluice_lab_new.sh PREFIX WORK_DIR PYTHON FILE MISTAKE KIND NAME [OPTION...]
# MISTAKE is a command of sed for FILE.
set -euo pipefail
prefix=$1 work=$2 python=$3 file=$4 mistake=$5
shift 5
rm -rf "$work" && mkdir -p "$work"
unset PYTHONPATH
export SLUICE_RECORDS=off PYTHONDONTWRITEBYTECODE=1
export PATH=$prefix/bin:$(dirname "$python"):$PATH
cd "$work"

sluice-lab new "$@" --into project | tee said
sed -n '/^build and test/,$s/^  //p' said >commands.sh
SECONDS=0
bash -eux commands.sh
echo "sluice-lab new $*: built and tested in $SECONDS s"
grep -xF "$(sed -n 's/ -DCMAKE_PREFIX_PATH=.*//; s/^PYTHONPATH=[^ ]* //; $p' \
  commands.sh)" project/README.md

cp "project/$file" right
sed -i "$mistake" "project/$file"
if cmp -s right "project/$file"; then
  echo "$file has no such line: $mistake" >&2
  exit 1
fi
if bash -eux commands.sh >wrong.log 2>&1; then
  echo "the tests pass with a mistake in $file: $mistake" >&2
  exit 1
fi
grep -E "tests failed|^FAILED" wrong.log
