# Dependencies of Sluice; ./dev setup installs all. Nothing is downloaded here.
# All that are missing are one error.

find_package(Threads REQUIRED)
set(missing "")
set(missing_packages "")

# sluice_need(PACKAGES NAME argument...): find_package(NAME argument...). If that
# fails, notes NAME, and PACKAGES, a list of those of Debian.
macro(sluice_need packages name)
  find_package(${name} ${ARGN} QUIET)
  if(NOT ${name}_FOUND)
    string(REGEX MATCH "^[0-9.]+" wanted "${ARGN}")
    string(JOIN ", " considered ${${name}_CONSIDERED_VERSIONS})
    string(STRIP "${name} ${wanted}" wanted)
    if(considered AND NOT considered MATCHES "unknown")
      string(APPEND wanted " (${considered} does not fit)")
    endif()
    list(APPEND missing "${wanted}")
    list(APPEND missing_packages ${packages})
  endif()
endmacro()

set(Boost_USE_STATIC_LIBS ON)
if(SLUICE_CUDA_MODE STREQUAL "EMULATE")  # its threads are fibers
  sluice_need("libboost-dev;libboost-context-dev" Boost 1.74 CONFIG
    COMPONENTS context)
  if(Boost_FOUND AND NOT Boost_context_FOUND)  # Boost's own file allows that
    list(APPEND missing "Boost.Context 1.74")
    list(APPEND missing_packages libboost-context-dev)
  endif()
else()
  sluice_need(libboost-dev Boost 1.74 CONFIG)
endif()
sluice_need(libeigen3-dev Eigen3 3.4 CONFIG)
sluice_need(libfmt-dev fmt 9 CONFIG)
sluice_need(libhwy-dev hwy 1.0 CONFIG)
sluice_need(nlohmann-json3-dev nlohmann_json 3.11 CONFIG)
sluice_need(libcli11-dev CLI11 2.1 CONFIG)
sluice_need("protobuf-compiler;libprotobuf-dev" Protobuf)
if(SKBUILD)  # the Python of pip
  sluice_need(python3-dev Python 3.10 COMPONENTS Interpreter Development.Module)
endif()
sluice_report_missing("${missing}" "${missing_packages}")

# Kernels are compiled for SSE2, SSE4, AVX2 and AVX-512, and for NEON. The other
# instruction sets have nothing that kernels use, and compiling for each takes
# the same time again: SSSE3, and AVX-512 with byte products, bfloat16 and
# float16. There are no SVE kernels: the compiler does not know the size of its
# vectors, so they cannot be members or array elements, as in gemm and block
# sums. The sanitizers find the same errors in SSE4 as in the other sets.
set(disabled_targets HWY_SSSE3 HWY_AVX3_DL
  HWY_SVE HWY_SVE2 HWY_SVE_256 HWY_SVE2_128)
if(hwy_VERSION VERSION_GREATER_EQUAL 1.1)
  list(APPEND disabled_targets HWY_AVX3_ZEN4 HWY_AVX3_SPR)
endif()
if(SLUICE_SANITIZE)
  list(APPEND disabled_targets HWY_SSE4)
endif()
list(JOIN disabled_targets "|" disabled_targets)
# <hwy/foreach_target.h> includes the source again for each instruction set. Such
# a source is compiled alone, so it is the base file, whose name ccache makes
# relative to the working directory.
target_compile_definitions(hwy::hwy INTERFACE
  "HWY_DISABLED_TARGETS=(${disabled_targets})"
  HWY_TARGET_INCLUDE=__BASE_FILE__)
target_compile_options(hwy::hwy INTERFACE "SHELL:-iquote .")

if(SLUICE_CUDA_MODE STREQUAL "ON")
  set(CMAKE_CUDA_COMPILER "${SLUICE_NVCC}")
  if(DEFINED ENV{CUDAARCHS})
    set(CMAKE_CUDA_ARCHITECTURES "$ENV{CUDAARCHS}")
  elseif(NOT DEFINED CMAKE_CUDA_ARCHITECTURES)
    set(CMAKE_CUDA_ARCHITECTURES 90 CACHE STRING "GPUs that kernels are for")
  endif()
  enable_language(CUDA)
  if(NOT CMAKE_CUDA20_STANDARD_COMPILE_OPTION)  # for nvcc 13 with CMake 3.25
    set(CMAKE_CUDA20_STANDARD_COMPILE_OPTION -std=c++20)
    set(CMAKE_CUDA20_EXTENSION_COMPILE_OPTION -std=c++20)
  endif()
  find_package(CUDAToolkit REQUIRED)
endif()
