# The SLUICE_ options (eight at most), the build type and the compiler flags
# that every target of this tree shares.

# The library is libsluice.so unless BUILD_SHARED_LIBS is OFF. Modules that a
# running program loads need the program's libsluice.so.
set(SLUICE_STATIC OFF)
if(DEFINED BUILD_SHARED_LIBS AND NOT BUILD_SHARED_LIBS)
  set(SLUICE_STATIC ON)
  foreach(name SLUICE_CUDA SLUICE_ONEDNN SLUICE_MPI SLUICE_NCCL
      SLUICE_BUILD_PYTHON SLUICE_BUILD_TESTS SLUICE_BUILD_BENCHMARKS)
    if(DEFINED ${name} AND NOT "${${name}}" MATCHES "^(AUTO|OFF|FALSE|0)$")
      message(FATAL_ERROR "${name}=${${name}} needs libsluice.so, and "
        "BUILD_SHARED_LIBS=OFF makes a static library: leave out one of them")
    endif()
    set(${name} OFF)
  endforeach()
  message(STATUS "Sluice: a static library, without what is loaded at run "
    "time: CUDA, EIGEN, oneDNN, MPI, NCCL, Python, libraries of kernels")
endif()

option(SLUICE_BUILD_TESTS "Build the tests" ${PROJECT_IS_TOP_LEVEL})
option(SLUICE_BUILD_EXAMPLES "Build the examples" ${PROJECT_IS_TOP_LEVEL})
option(SLUICE_BUILD_BENCHMARKS "Build the benchmarks" ${PROJECT_IS_TOP_LEVEL})
set(SLUICE_BUILD_PYTHON "AUTO" CACHE STRING
  "The Python package: ON, OFF, or AUTO where nanobind is found")
set_property(CACHE SLUICE_BUILD_PYTHON PROPERTY STRINGS AUTO ON OFF)
option(SLUICE_WERROR "Treat compiler warnings as errors" OFF)
set(SLUICE_SANITIZE "" CACHE STRING
  "Sanitizers, as for -fsanitize=, e.g. address,undefined or thread")
set(SLUICE_CUDA "AUTO" CACHE STRING "CUDA kernels: AUTO, ON, OFF or EMULATE")
set_property(CACHE SLUICE_CUDA PROPERTY STRINGS AUTO ON OFF EMULATE)

# Resolves SLUICE_CUDA: SLUICE_CUDA_MODE is OFF, ON (nvcc) or EMULATE (the same
# .cu files, compiled by the host compiler).
find_program(SLUICE_NVCC nvcc HINTS ENV CUDA_PATH PATHS /usr/local/cuda/bin)
mark_as_advanced(SLUICE_NVCC)
set(SLUICE_CUDA_MODE "${SLUICE_CUDA}")
if(SLUICE_CUDA STREQUAL "AUTO")
  if(SLUICE_NVCC)
    set(SLUICE_CUDA_MODE ON)
  else()
    set(SLUICE_CUDA_MODE OFF)
  endif()
elseif(NOT SLUICE_CUDA MATCHES "^(ON|OFF|EMULATE)$")
  message(FATAL_ERROR "SLUICE_CUDA=${SLUICE_CUDA}: expected AUTO, ON, OFF or "
    "EMULATE")
endif()
if(SLUICE_CUDA_MODE STREQUAL "ON" AND NOT SLUICE_NVCC)
  message(FATAL_ERROR "SLUICE_CUDA=ON: no nvcc on PATH, in CUDA_PATH or in "
    "/usr/local/cuda/bin; install a CUDA toolkit, or use SLUICE_CUDA=EMULATE, "
    "OFF or AUTO")
endif()
if(SLUICE_CUDA_MODE STREQUAL "ON")
  message(STATUS "Sluice: CUDA kernels: by ${SLUICE_NVCC}")
elseif(SLUICE_CUDA_MODE STREQUAL "EMULATE")
  message(STATUS "Sluice: CUDA kernels: emulated on the CPU")
else()
  message(STATUS "Sluice: CUDA kernels: off")
endif()

if(NOT CMAKE_BUILD_TYPE AND NOT CMAKE_CONFIGURATION_TYPES)
  set(CMAKE_BUILD_TYPE Release CACHE STRING "" FORCE)
endif()
if(PROJECT_IS_TOP_LEVEL)
  # One binary runs on every x86-64: there is no -march here, and kernels choose
  # their instruction set at run time.
  set(CMAKE_CXX_FLAGS_RELEASE "-O2 -DNDEBUG")
endif()

# sluice_compile_together decides which sources are compiled together.
set(SLUICE_UNITY_BUILD "${CMAKE_UNITY_BUILD}")
set(CMAKE_UNITY_BUILD OFF)

set(CMAKE_CXX_STANDARD 20)
set(CMAKE_CXX_STANDARD_REQUIRED ON)
set(CMAKE_CXX_EXTENSIONS OFF)
set(CMAKE_POSITION_INDEPENDENT_CODE ON)
set(CMAKE_CXX_VISIBILITY_PRESET hidden)
set(CMAKE_VISIBILITY_INLINES_HIDDEN ON)
set(CMAKE_EXPORT_COMPILE_COMMANDS ON)
# A changed library of the tree does not require programs to be linked again.
set(CMAKE_LINK_DEPENDS_NO_SHARED ON)

# The build tree has the layout of the installation, so that libsluice.so finds
# its plug-ins beside itself in both.
set(CMAKE_LIBRARY_OUTPUT_DIRECTORY "${PROJECT_BINARY_DIR}/lib")

# What is installed without the name of another component.
set(CMAKE_INSTALL_DEFAULT_COMPONENT_NAME cpp)
# A release is installed without its symbol table.
install(CODE [[
  if(CMAKE_INSTALL_CONFIG_NAME STREQUAL "Release")
    set(CMAKE_INSTALL_DO_STRIP TRUE)
  endif()
]] ALL_COMPONENTS)

add_library(sluice_build_flags INTERFACE)
set(warnings -Wall -Wextra $<$<BOOL:${SLUICE_WERROR}>:-Werror>)
target_compile_options(sluice_build_flags INTERFACE
  "$<$<COMPILE_LANGUAGE:CXX>:${warnings}>"
  "$<$<COMPILE_LANGUAGE:CXX>:-fno-semantic-interposition;-ffunction-sections;-fdata-sections>")
# GCC 12 and 14 warn that std::string() + "text" writes out of bounds (GCC bug
# 105651). clang, which lint and the preset `clang` use, does not.
if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
  target_compile_options(sluice_build_flags INTERFACE
    "$<$<COMPILE_LANGUAGE:CXX>:-Wno-array-bounds;-Wno-restrict;-Wno-stringop-overflow>")
endif()
target_link_options(sluice_build_flags INTERFACE -Wl,--gc-sections)

# Options for the sanitized targets: the library, its plug-ins and its tools.
# Tests are compiled like a release, so that ccache has their objects; operators
# and ONNX, for which the thread sanitizer is useless, without optimization,
# which takes a third of the time; all link the sanitizer's runtime.
add_library(sluice_sanitized INTERFACE)
# With it g++ vectorizes plain loops.
set(SLUICE_VECTORIZE -O3)
if(SLUICE_SANITIZE)
  set(SLUICE_VECTORIZE "")
  set(sanitize -O1 -g1 -fsanitize=${SLUICE_SANITIZE} -fno-omit-frame-pointer)
  if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
    # GCC 14 takes the sanitizers' code for accesses out of bounds.
    list(APPEND sanitize -Wno-array-bounds -Wno-stringop-overflow
      -Wno-stringop-overread -Wno-maybe-uninitialized)
  endif()
  if(SLUICE_SANITIZE MATCHES "undefined")
    # The address sanitizer itself finds null pointers.
    list(APPEND sanitize -fno-sanitize-recover=undefined
      -fno-sanitize=null,vptr,object-size)
  endif()
  target_compile_options(sluice_sanitized INTERFACE ${sanitize})
  target_link_options(sluice_build_flags INTERFACE
    -fsanitize=${SLUICE_SANITIZE})
endif()

find_program(SLUICE_CCACHE ccache)
mark_as_advanced(SLUICE_CCACHE)
if(SLUICE_CCACHE AND NOT CMAKE_CXX_COMPILER_LAUNCHER)
  # The base directory lets different build folders share results. With the
  # compiler's list of headers (CCACHE_DEPEND), new sources are not preprocessed
  # first. The sloppiness and the inode cache are for precompiled headers.
  set(CMAKE_CXX_COMPILER_LAUNCHER
    env "CCACHE_BASEDIR=${PROJECT_SOURCE_DIR}" CCACHE_DEPEND=1
    CCACHE_INODECACHE=1 CCACHE_SLOPPINESS=pch_defines,time_macros
    "${SLUICE_CCACHE}")
endif()
