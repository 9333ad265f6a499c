#!/usr/bin/env bash
# Follows docs/adding_a_library.md word for word in a copy of the tree without
# operators/eigen and its word:
#   follow_adding_a_library.sh SOURCE_DIR WORK_DIR [CMAKE_OPTION...]
# Fails unless the result equals the tree, the module builds, its kernels pass
# the harness, and a missing module is no error.
set -euo pipefail
source_dir=$1 work=$2
shift 2
. "$(dirname "${BASH_SOURCE[0]}")/part.sh"
tree=$work/tree
rm -rf "$tree" && mkdir -p "$tree/operators/eigen"
tar -C "$source_dir" --exclude=./build --exclude=./.git \
  --exclude=./operators/eigen -cf - . | tar -C "$tree" -xf -
sed -i "/^  eigen$/d" "$tree/operators/CMakeLists.txt"

part "$source_dir/docs/adding_a_library.md" "A library in this tree" |
  blocks "$tree"
word=$(cat "$tree/word") && rm "$tree/word"
sed -i "s/^set(library_modules/&\n  $word/" "$tree/operators/CMakeLists.txt"

# Only the library's other kernels may be missing.
differs=$(cd "$tree" && { diff -rq --exclude=build --exclude=.git \
  "$source_dir" . || true; } | grep -v "^Only in $source_dir/operators/eigen:" ||
  true)
if [ -n "$differs" ]; then
  printf 'not as in the tree:\n%s\n' "$differs" >&2
  exit 1
fi

# Two levels below the source, like every preset, for ccache.
build=$tree/build/guide
cmake -S "$tree" -B "$build" -G Ninja -DCMAKE_BUILD_TYPE=Release \
  -DSLUICE_BUILD_BENCHMARKS=OFF -DSLUICE_BUILD_EXAMPLES=OFF \
  -DSLUICE_CUDA=OFF "$@" >/dev/null
cmake --build "$build" --target sluice_operators_test sluice-kernels
"$build/tools/sluice-kernels" matmul | grep -c "EIGEN.*eigen" | grep -qx 2
test_program=$(find "$build" -name sluice_operators_test -type f)
"$test_program" --gtest_filter="Ops/OpHarness.*/matmul" --gtest_brief=1

# Without the module the other kernels remain.
rm "$(find "$build/lib" -name libsluice_eigen.so)"
"$build/tools/sluice-kernels" matmul >"$work/kernels.log"
if grep -q EIGEN "$work/kernels.log"; then
  echo "kernels of a module that is not there" >&2
  exit 1
fi
grep -q PLAIN "$work/kernels.log"
