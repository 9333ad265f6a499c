#!/usr/bin/env bash
# Makes the Debian package and uses what it contains.
#   check_package.sh SOURCE BUILD WORK_DIR CXX GENERATOR
set -euo pipefail
source=$1 build=$2 work=$3 cxx=$4 generator=$5
here=$(cd "$(dirname "$0")" && pwd)
rm -rf "$work" && mkdir -p "$work" && cd "$work"
fail() { echo "$*" >&2 && exit 1; }

cmake -S "$source" --preset deb -B "$build" -G "$generator" \
  -DCMAKE_CXX_COMPILER="$cxx"
cpack --config "$build/CPackConfig.cmake" -B "$work"
package=$(echo sluice_*.deb)
dpkg-deb -x "$package" root
libraries=$work/root/usr/lib/$("$cxx" -print-multiarch)

depends=$(dpkg-deb -f "$package" Depends)
echo "$package: $(stat -c %s "$package") bytes; $depends"
[ "$(stat -c %s "$package")" -le 22000000 ] || fail "over 22 MB"
for name in libc6 libgomp1 libprotobuf-lite32 libstdc++6; do
  [[ $depends == *$name* ]] || fail "does not depend on $name"
done
[[ ! $depends =~ boost|fmt|dnnl|re2|mpi|blas|python ]] || fail "depends on too much"

for file in libsluice.so.0 libsluice_lab.so libsluice_cuda.so libsluice_onnxruntime.so \
  sluice/libdnnl.so.3 sluice/libre2.so.9 sluice_plugins/libsluice_fpga.so pkgconfig/sluice_lab.pc; do
  [ -e "$libraries/$file" ] || fail "has no $file"
done
for file in copyright LICENSE THIRD_PARTY_NOTICES.md licenses/Boost licenses/fmt; do
  [ -e "root/usr/share/doc/sluice/$file" ] || fail "has no $file"
done
[ -z "$(find root -name '*.py' -o \( -name 'libdnnl*' -o -name 'libre2*' \) \
  ! -path '*/sluice/*')" ] ||
  fail "has files of the Python package, or libraries where others find them"
LD_LIBRARY_PATH=$libraries root/usr/bin/sluice-kernels >kernels
for library in ONEDNN RE2; do
  grep -q " $library " kernels || fail "cannot load $library"
done
! readelf -d "$libraries"/lib*.so root/usr/bin/* | grep "PATH.*$source" ||
  fail "looks for libraries in the build folder"

PKG_CONFIG_SYSROOT_DIR=$work/root "$here/compile_alone.sh" "$work/root/usr" \
  "$work/alone" "$cxx" "$generator"
