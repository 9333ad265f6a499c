#!/usr/bin/env bash
# Follows docs/adding_a_layer.md word for word in an empty folder:
#   follow_adding_a_layer.sh SOURCE_DIR WORK_DIR PYTHON
# PYTHONPATH names the package. Fails unless the layer trains and its tests
# pass.
set -euo pipefail
source_dir=$1 work=$2 python=$3
guide=$source_dir/docs/adding_a_layer.md
. "$(dirname "${BASH_SOURCE[0]}")/part.sh"
rm -rf "$work" && mkdir -p "$work"

blocks "$work" <"$guide"

cd "$work"
python() { "$python" -B "$@"; }
export -f python
export python
bash -euxo pipefail run.sh | tee output
grep -q '= sigmoid(' output
grep -q '2 passed\|\[100%\]' output
first=$(sed -n 's/^step 0: loss //p' output)
last=$(sed -n 's/^step 100: loss //p' output)
awk -v first="$first" -v last="$last" 'BEGIN { exit !(last < first / 2) }'
