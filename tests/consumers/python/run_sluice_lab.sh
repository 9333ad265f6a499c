#!/usr/bin/env bash
# Calls the installed sluice-lab without any settings:
#   run_sluice_lab.sh PREFIX WORK_DIR PYTHON KERNELS
# through a link, and after the installation was moved.
set -euo pipefail
prefix=$1 work=$2 python=$3 kernels=$4
rm -rf "$work" && mkdir -p "$work/bin"
unset PYTHONPATH
export SLUICE_RECORDS=off PYTHONDONTWRITEBYTECODE=1
PATH=$work/bin:$(dirname "$python"):$PATH
cd "$work"

ln -s "$prefix/bin/sluice-lab" bin/sluice-lab
sluice-lab records relu
# Kernels run in separate processes, which also need the package.
sluice-lab verify "$kernels" --threads 1 | tee verify.log
grep -Eq 'relu/mine .* ok$' verify.log

cp -a "$prefix" moved
moved/bin/sluice-lab records relu

# A Python without NumPy, and one without the package for its version.
"$python" -S -I moved/bin/sluice-lab --help | grep -q "what is known"
status=0
"$python" -S -I moved/bin/sluice-lab tune mlp 2>error.log || status=$?
cat error.log
[ $status = 1 ]
grep -q "$python has no NumPy, .* -m pip install numpy" error.log
rm moved/sluice/_core.*.so
status=0
"$python" moved/bin/sluice-lab records 2>error.log || status=$?
cat error.log
[ $status = 1 ]
grep -q "cannot import $work/moved/sluice; run PYTHON" error.log
