# sluice_add_kernel_library(NAME SOURCES source...)
# Kernels of your own for ops that exist, in a shared library libNAME.so, from
# files with REGISTER_OP_KERNEL lines: .cc, and .cu where Sluice has CUDA (they
# are compiled by nvcc, or for the emulation, as Sluice's own). Programs load it:
#
#   sluice::LoadKernelLibrary("libNAME.so");      sl.load_kernel_library(...)
#   SLUICE_KERNEL_PATH=folder/libNAME.so program
#
# A macro, because CUDA can only be enabled in a file's scope.
macro(sluice_add_kernel_library)
  _sluice_enable_cuda(${ARGN})
  _sluice_add_kernel_library(${ARGN})
endmacro()

# Enables CUDA if nvcc compiles a .cu file.
macro(_sluice_enable_cuda)
  set(_sluice_cuda_sources ${ARGN})
  list(FILTER _sluice_cuda_sources INCLUDE REGEX "[.]cu$")
  if(_sluice_cuda_sources AND SLUICE_CUDA_MODE STREQUAL "ON" AND
      NOT CMAKE_CUDA_COMPILER_LOADED)
    if(NOT CMAKE_CUDA_COMPILER AND NOT DEFINED ENV{CUDACXX})
      find_program(SLUICE_NVCC nvcc HINTS ENV CUDA_PATH
        PATHS /usr/local/cuda/bin REQUIRED)
      set(CMAKE_CUDA_COMPILER "${SLUICE_NVCC}")
    endif()
    if(DEFINED ENV{CUDAARCHS})
      set(CMAKE_CUDA_ARCHITECTURES "$ENV{CUDAARCHS}")
    elseif(NOT DEFINED CMAKE_CUDA_ARCHITECTURES)
      set(CMAKE_CUDA_ARCHITECTURES "${SLUICE_CUDA_ARCHITECTURES}")
    endif()
    enable_language(CUDA)
    if(NOT CMAKE_CUDA20_STANDARD_COMPILE_OPTION)  # for nvcc 13 with CMake 3.25
      set(CMAKE_CUDA20_STANDARD_COMPILE_OPTION -std=c++20)
      set(CMAKE_CUDA20_EXTENSION_COMPILE_OPTION -std=c++20)
    endif()
    find_package(CUDAToolkit REQUIRED)
  endif()
endmacro()

# Fails in `call` if there is no libsluice.so to link.
function(_sluice_need_shared call)
  if(SLUICE_STATIC)
    message(FATAL_ERROR "${call}: this Sluice is the static libsluice.a; what "
      "programs load needs libsluice.so (build it with BUILD_SHARED_LIBS=ON)")
  endif()
endfunction()

function(_sluice_add_kernel_library name)
  cmake_parse_arguments(arg "" "" "SOURCES" ${ARGN})
  if(NOT name MATCHES "^[A-Za-z][A-Za-z0-9_]*$" OR NOT arg_SOURCES OR
      arg_UNPARSED_ARGUMENTS)
    message(FATAL_ERROR "sluice_add_kernel_library(${name}): expected a name "
      "that C++ allows, and SOURCES")
  endif()
  _sluice_need_shared("sluice_add_kernel_library(${name})")
  list(TRANSFORM arg_SOURCES PREPEND "${CMAKE_CURRENT_SOURCE_DIR}/"
    REGEX "^[^/]" OUTPUT_VARIABLE sources)
  set(init "${CMAKE_CURRENT_BINARY_DIR}/${name}_generated/add_${name}.cc")
  sluice_write_library_entry("${init}" ${name} ${sources})
  if(NOT symbols)
    message(FATAL_ERROR "sluice_add_kernel_library(${name}): no source has a "
      "REGISTER_OP_KERNEL line")
  endif()
  add_library(${name} MODULE ${sources} "${init}" "${versions_source}")
  target_link_libraries(${name} PRIVATE sluice::sluice)
  target_include_directories(${name} SYSTEM BEFORE PRIVATE ${SLUICE_FMT})
  # Without a build type kernels would be some 20 times as slow.
  target_compile_options(${name} PRIVATE
    "$<$<AND:$<CONFIG:>,$<COMPILE_LANGUAGE:CXX>>:-O2;-DNDEBUG>")
  sluice_compile_cuda_kernels(${name} ${sources})
  set_target_properties(${name} PROPERTIES
    PREFIX "lib"
    LINKER_LANGUAGE CXX
    CXX_VISIBILITY_PRESET hidden
    VISIBILITY_INLINES_HIDDEN ON)
  target_link_options(${name} PRIVATE -Wl,-Bsymbolic-functions)
endfunction()

# sluice_write_library_entry(FILE NAME source...)
# Writes FILE, the entry of the library NAME of these sources for
# LoadKernelLibrary: the note about the headers that it was built with, and the
# function that adds all to a registry. sluice.compile_kernels writes the same
# (python/sluice/kernel_sources.py). Sets symbols and
# versions_source in the caller (sluice_registration_calls).
function(sluice_write_library_entry file name)
  set(sources ${ARGN})
  sluice_registration_calls(${name} ${sources})
  set(symbols ${symbols} PARENT_SCOPE)
  set(versions_source "${versions_source}" PARENT_SCOPE)
  list(FILTER sources INCLUDE REGEX "[.]cu$")
  set(cuda OFF)
  if(sources)
    set(cuda "${SLUICE_CUDA_MODE}")
  endif()
  file(CONFIGURE OUTPUT "${file}" @ONLY CONTENT [=[
// Written by CMake from the REGISTER_* macros; do not edit.
#include "sluice/framework/op/kernel_stamp.h"
#include "sluice/framework/op/registry.h"

SLUICE_KERNEL_LIBRARY("@cuda@");

extern "C" {
@declarations@
// Hidden, so that each library calls its own.
__attribute__((visibility("hidden")))
void SluiceAddAll(::sluice::Registry&);
void SluiceAddAll(::sluice::Registry& registry) {
@calls@}

SLUICE_API void SluiceAddKernelLibrary(::sluice::Registry&);
void SluiceAddKernelLibrary(::sluice::Registry& registry) {
  SluiceAddAll(registry);
}
}
]=])
endfunction()

# sluice_compile_cuda_kernels(TARGET source...)
# Compiles the .cu files among the sources like Sluice's own kernels.
function(sluice_compile_cuda_kernels target)
  set(sources ${ARGN})
  list(FILTER sources INCLUDE REGEX "[.]cu$")
  if(NOT sources)
    return()
  endif()
  if(SLUICE_CUDA_MODE STREQUAL "OFF")
    list(JOIN sources ", " sources)
    message(FATAL_ERROR "${target}: ${sources}: this Sluice was built without "
      "CUDA (SLUICE_CUDA=OFF; ON and EMULATE have it)")
  endif()
  target_link_libraries(${target} PRIVATE sluice::sluice_cuda_kernels)
  if(SLUICE_CUDA_MODE STREQUAL "EMULATE")
    set_source_files_properties(${sources} PROPERTIES
      LANGUAGE CXX COMPILE_OPTIONS -Wno-unknown-pragmas)
  else()
    target_link_libraries(${target} PRIVATE CUDA::cudart CUDA::cublas)
    set_target_properties(${target} PROPERTIES
      CUDA_STANDARD 20
      CUDA_RUNTIME_LIBRARY Shared
      CUDA_VISIBILITY_PRESET hidden)
    # fmt 9 assumes that nvcc does not support constexpr.
    target_compile_options(${target} PRIVATE
      "$<$<COMPILE_LANGUAGE:CUDA>:--extended-lambda;--expt-relaxed-constexpr;--fmad=false;-DFMT_USE_CONSTEXPR=1>")
  endif()
endfunction()
