#!/usr/bin/env bash
# Follows docs/adding_an_op.md word for word in an empty folder:
#   follow_adding_an_op_elsewhere.sh SOURCE_DIR WORK_DIR PREFIX [PYTHON]
# PREFIX is where Sluice is installed; PYTHONPATH names its package for PYTHON.
# Fails unless the files of tests/consumers/add_op and add_eigen_op are the
# page's and the op computes what the page says.
set -euo pipefail
source_dir=$1 work=$2 prefix=$3 python=${4:-}
. "$(dirname "${BASH_SOURCE[0]}")/part.sh"
rm -rf "$work" && mkdir -p "$work/eigen"

part "$source_dir/docs/adding_an_op.md" \
  "An op in TensorFlow's form, with Eigen" | blocks "$work/eigen"
diff -r --exclude=main.cc "$source_dir/tests/consumers/add_eigen_op" \
  "$work/eigen"
rm -r "$work/eigen"
part "$source_dir/docs/adding_an_op.md" "In a project of your own" |
  blocks "$work"
diff -r --exclude="*.sh" --exclude="*.py" \
  "$source_dir/tests/consumers/add_op" "$work"

cd "$work"
export CMAKE_PREFIX_PATH=$prefix CMAKE_GENERATOR=${CMAKE_GENERATOR:-Ninja}
export SLUICE_RECORDS=off
bash -euxo pipefail walk.sh
if [ -n "$python" ]; then
  said=$(PYTHONDONTWRITEBYTECODE=1 "$python" use.py)
  expected=$(sed -n 's/.*print(result)  # //p' use.py)
  if [ "$said" != "$expected" ]; then
    echo "use.py printed $said, expected $expected" >&2
    exit 1
  fi
fi
