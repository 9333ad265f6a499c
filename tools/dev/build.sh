# Configures and compiles. Sourced by ./dev, in the folder of the checkout.

# Megabytes of memory for one compiler, and of disk for a build folder.
compiler_megabytes=900
declare -A build_megabytes=([release]=1500 [dev]=3000 [tsan]=1500 [cuda]=1500
  [clang]=1500 [arm64]=1500)

# Megabytes of memory still available, on the machine and in the container.
available_megabytes() {
  local available limit used
  available=$(awk '/^MemAvailable:/ {print int($2 / 1024)}' /proc/meminfo)
  limit=$(cat /sys/fs/cgroup/memory.max 2>/dev/null || echo max)
  if [ "$limit" != max ]; then
    used=$(cat /sys/fs/cgroup/memory.current)
    limit=$(((limit - used) / 1048576))
    [ "$limit" -lt "$available" ] && available=$limit
  fi
  echo "$available"
}

# Sets `jobs`, the number of parallel compiler jobs: JOBS, or all processors, or
# the number that the memory allows.
choose_jobs() {
  local available fit
  jobs=${JOBS:-$(nproc)}
  export CTEST_PARALLEL_LEVEL=${CTEST_PARALLEL_LEVEL:-$jobs}
  [ -n "${JOBS:-}" ] && return 0
  available=$(available_megabytes)
  fit=$((available / compiler_megabytes))
  [ $fit -ge 1 ] || fit=1
  [ $fit -lt "$jobs" ] || return 0
  jobs=$fit
  echo "./dev: $available MB of memory are free and a compiler may take" \
    "$compiler_megabytes: $jobs at a time (set JOBS to change that)" >&2
}

# need_disk FOLDER MEGABYTES: exits if a new FOLDER lacks disk space.
need_disk() {
  [ -e "$1/.ninja_log" ] && return 0
  local free
  free=$(df -Pm . | awk 'NR == 2 {print $4}')
  [ "$free" -ge "$2" ] && return 0
  echo "./dev: $1 takes about $2 MB, and $(pwd) has $free MB free: make room" \
    "there, e.g. remove other folders of build/" >&2
  exit 1
}

# Reads ninja's output. On a terminal one line counts the steps, at least every
# 4 s, and vanishes at the end; elsewhere a line follows each tenth of a long
# build, or 4 s of a short one. Messages of compilers pass, those of CMake and
# ninja about themselves do not.
show_progress() {
  local line beginning='' status step='' done=0 all=0 shown=0 start=$SECONDS
  local width noise clear=''
  width=$({ stty size </dev/tty | cut -d' ' -f2; } 2>/dev/null || echo 80)
  noise='^(-- |ninja: no work to do|Preset .* variables:|  [A-Z_]+="|$)'
  [ -t 1 ] && clear=$'\r\e[K'
  while true; do
    status=0
    IFS= read -r -t 4 line || status=$?
    line=$beginning$line beginning=''
    if [ $status -gt 128 ]; then
      beginning=$line  # of a line whose end has not come in 4 s
    elif [ $status -ne 0 ]; then
      break
    elif [[ $line =~ ^\[([0-9]+)/([0-9]+)\] ]]; then
      done=${BASH_REMATCH[1]} all=${BASH_REMATCH[2]} step=": ${line#* }"
    else
      [[ $line =~ $noise ]] || printf '%s%s\n' "$clear" "$line"
      continue
    fi
    line="$done of ${all/#0/?} steps after $((SECONDS - start)) s"
    if [ -n "$clear" ]; then
      line+=$step
      printf '%s%s' "$clear" "${line:0:width-1}"
    elif [ "$all" -lt 20 ]; then
      [ $status -eq 0 ] || echo "  $line"
    elif [ $((10 * done / all)) -gt $shown ]; then
      shown=$((10 * done / all))
      printf '  %3d %%, %s\n' ${shown}0 "$line"
    fi
  done
  printf '%s' "$clear"
}

# configure PRESET [OPTION...]: runs CMake unless it has run with the same
# options since the last installation. ninja runs it again if CMake files
# change.
configure() {
  local preset=$1 folder=build/$1 wanted="$PWD: ${*:2} ${CUDAARCHS:-}" cache home
  cache=$folder/CMakeCache.txt
  [ "$(cat "$folder/configured" 2>/dev/null)" = "$wanted" ] &&
    [ ! build/installed -nt "$folder/configured" ] && return 0
  local fresh=()
  home=$(sed -n 's/^CMAKE_HOME_DIRECTORY:INTERNAL=//p' "$cache" 2>/dev/null ||
    true)
  if [ -n "$home" ] && [ "$home" != "$PWD" ]; then
    echo "./dev: $folder was made for $home: it is made anew" >&2
    fresh=(--fresh)
  fi
  mkdir -p build/log
  cmake --preset "$preset" "${fresh[@]}" "${@:2}" -Wno-dev \
    --log-level=WARNING >build/log/cmake.log
  echo "$wanted" >"$folder/configured"
}

# build PRESET [--no-tests] [TARGET...]: with --no-tests a new folder is
# configured without tests and benchmarks, and their packages are not installed.
build() {
  local preset=$1 options=() tests=ON
  shift
  if [ "${1:-}" = --no-tests ]; then
    shift
    if ! grep -qs 'SLUICE_BUILD_TESTS:BOOL=ON' "build/$preset/CMakeCache.txt"
    then tests=OFF; fi
  fi
  need "${build_packages[@]}" "${guide_packages[@]}"
  if [ $tests = ON ]; then
    need "${test_packages[@]}"
    [ "$preset" = arm64 ] ||
      want "training on several processes" "${mpi_packages[@]}"
  fi
  case $preset in
    clang) need clang libomp-dev ;;
    arm64) need "${arm64_packages[@]}" ;;
  esac
  python_environment $([ $tests = OFF ] || echo report test)
  case $preset in
    deb | dev | tsan | arm64) ;;
    *) options+=(${DEMAND:+-DSLUICE_BUILD_PYTHON=ON}) ;;
  esac
  need_onnx
  case $preset in
    tsan | arm64) ;;
    *)
      need_onednn
      options+=(${DEMAND:+-DSLUICE_ONEDNN=ON})
      ;;
  esac
  if [ "$preset" = cuda ]; then
    need_nccl
    options+=(${DEMAND:+-DSLUICE_NCCL=ON})
  fi
  case $preset in
    deb | dev | tsan | arm64) ;;
    *) options+=(-DSLUICE_BUILD_BENCHMARKS=$tests) ;;
  esac
  options+=(-DSLUICE_BUILD_TESTS=$tests)
  choose_jobs
  need_disk "build/$preset" "${build_megabytes[$preset]:-1500}"
  wait_for_other_build "build/$preset"
  configure "$preset" "${options[@]}"
  compile "$preset" "$@"
  exec {building}>&-
}

# wait_for_other_build FOLDER: two ninjas in one folder corrupt each other's
# files. Sets `building`, a lock that child processes of a build also hold.
wait_for_other_build() {
  mkdir -p "$1"
  exec {building}>"$1/building"
  flock -n "$building" && return 0
  echo "./dev: another build is running in $1: waiting for it" >&2
  flock "$building"
}

# compile PRESET [TARGET...]
compile() {
  NINJA_STATUS='[%f/%t] ' cmake --build --preset "$1" -j "$jobs" \
    ${2:+--target "${@:2}"} 2>&1 | show_progress
}
