#!/usr/bin/env bash
# Users of an installation on a machine without fmt and Boost: README's programs,
# by the compiler and pkg-config alone, and a library of kernels by CMake.
#   compile_alone.sh PREFIX WORK_DIR CXX GENERATOR
set -euo pipefail
prefix=$1 work=$2 cxx=$3 generator=$4
here=$(cd "$(dirname "$0")" && pwd)
rm -rf "$work" && mkdir -p "$work/include" && cd "$work"
export SLUICE_RECORDS=off
PKG_CONFIG_PATH=$(dirname "$(find "$prefix" -name sluice.pc)")
export PKG_CONFIG_PATH

# The compiler's own folders, with other links in place of /usr/include.
ln -s /usr/include/* include && rm -f include/boost include/fmt
flags=(-nostdinc -nostdinc++)
for folder in $("$cxx" -E -v -x c++ /dev/null 2>&1 |
  sed -n '/^#include </,/^End/s/^ //p'); do
  [ "$(realpath "$folder")" = /usr/include ] && folder=$work/include
  flags+=(-isystem "$folder")
done
for header in fmt/core.h boost/variant.hpp; do
  echo "#include <$header>" >missing.cc
  ! "$cxx" "${flags[@]}" -fsyntax-only missing.cc 2>/dev/null
done

# The first two programs of README; the second continues the first.
block() {
  awk -v wanted="$1" '/^```cpp$/ {++n; next} /^```$/ && n == wanted {exit}
    n == wanted' "$here/../../README.md"
}
block 1 >graph.cc
{ echo '#include "sluice/lab.h"' && block 1 | sed '$d' && block 2 && echo "}"; } \
  >compared.cc
run_path=-Wl,-rpath,$(pkg-config --variable=libdir sluice)
"$cxx" "${flags[@]}" graph.cc $(pkg-config --cflags --libs sluice) "$run_path" \
  -o graph
[ "$(./graph | head -2 | tr '\n' ' ')" = "1 0 " ]
"$cxx" "${flags[@]}" compared.cc $(pkg-config --cflags --libs sluice_lab) \
  "$run_path" -o compared
./compared | grep -q "^B: no hints "

cmake -S "$here/add_kernel" -B add_kernel -G "$generator" \
  -DCMAKE_PREFIX_PATH="$prefix" -DCMAKE_CXX_COMPILER="$cxx" \
  -DCMAKE_CXX_FLAGS="${flags[*]}" -DCMAKE_BUILD_TYPE=Release \
  -DCMAKE_DISABLE_FIND_PACKAGE_Boost=ON -DCMAKE_DISABLE_FIND_PACKAGE_fmt=ON
cmake --build add_kernel
add_kernel/main add_kernel/libfast_relu.so
