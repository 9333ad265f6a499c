# sluice_add_operator_library(NAME OPERATORS word... [LINK library...])
# Operators of your own in a shared library, libNAME.so (target NAME_library),
# from <word>_op.cc, <word>_kernel*.cc (unless the former has the kernels) and,
# where Sluice has CUDA, <word>_kernel*.cu of the current folder. LINK: what
# these sources need, as target_link_libraries takes it. Programs link NAME and
# write
#
#   #include "NAME/ops.h"
#   RegisterOperators_NAME();              // once, before the first program
#   auto y = sluice::ops::MyOperator(x);   // the builders, as for built-in ops
#
# NAME/ops.h is written by sluice_generate_ops, which loads the library and
# asks it for its operators.
macro(sluice_add_operator_library)
  file(GLOB _sluice_cuda_sources "${CMAKE_CURRENT_SOURCE_DIR}/*_kernel*.cu")
  _sluice_enable_cuda(${_sluice_cuda_sources})
  _sluice_add_operator_library(${ARGN})
endmacro()

function(_sluice_add_operator_library name)
  cmake_parse_arguments(arg "" "" "OPERATORS;LINK" ${ARGN})
  if(NOT name MATCHES "^[A-Za-z][A-Za-z0-9_]*$" OR NOT arg_OPERATORS OR
      arg_UNPARSED_ARGUMENTS)
    message(FATAL_ERROR "sluice_add_operator_library(${name}): expected a "
      "name that C++ allows, OPERATORS and, if wanted, LINK")
  endif()
  _sluice_need_shared("sluice_add_operator_library(${name})")
  sluice_operator_sources(sources
    DIRECTORY "${CMAKE_CURRENT_SOURCE_DIR}"
    OPERATORS ${arg_OPERATORS}
    CUDA cuda_sources)
  if(cuda_sources AND SLUICE_CUDA_MODE STREQUAL "OFF")
    list(JOIN cuda_sources "\n  " names)
    message(STATUS "${name}: this Sluice was built without CUDA, left out are\n"
      "  ${names}")
  else()
    list(APPEND sources ${cuda_sources})
  endif()
  set(generated "${CMAKE_CURRENT_BINARY_DIR}/${name}_generated")
  file(CONFIGURE OUTPUT "${generated}/${name}/register.h" @ONLY CONTENT [=[
#pragma once

// Adds the operators and kernels of @name@ to the process. Calls after the
// first do nothing; thread-safe. Raises InvalidArgument when one of the names
// is taken.
extern "C" __attribute__((visibility("default")))
void RegisterOperators_@name@();
]=])
  file(CONFIGURE OUTPUT "${generated}/register_${name}.cc" @ONLY CONTENT [=[
// Written by CMake; do not edit.
#include "@name@/register.h"

#include "sluice/framework/op/registry.h"

extern "C" __attribute__((visibility("hidden")))
void SluiceAddAll(::sluice::Registry&);

void RegisterOperators_@name@() {
  [[maybe_unused]] static const bool registered = [] {
    SluiceAddAll(::sluice::Registry::Global());
    return true;
  }();
}
]=])
  set(entry "${generated}/add_${name}.cc")
  sluice_write_library_entry("${entry}" ${name} ${sources})

  add_library(${name}_library SHARED
    ${sources} "${generated}/register_${name}.cc" "${entry}"
    "${versions_source}")
  target_include_directories(${name}_library PRIVATE "${generated}")
  target_link_libraries(${name}_library
    PUBLIC sluice::sluice PRIVATE ${arg_LINK})
  target_include_directories(${name}_library SYSTEM BEFORE PRIVATE
    ${SLUICE_FMT})
  sluice_compile_cuda_kernels(${name}_library ${sources})
  set_target_properties(${name}_library PROPERTIES
    OUTPUT_NAME "${name}"
    LINKER_LANGUAGE CXX
    CXX_VISIBILITY_PRESET hidden
    VISIBILITY_INLINES_HIDDEN ON)

  set(header "${generated}/${name}/ops.h")
  add_custom_command(
    OUTPUT "${header}"
    COMMAND sluice::sluice_generate_ops
      --library "$<TARGET_FILE:${name}_library>"
      --function "RegisterOperators_${name}"
      --include "${name}/register.h"
      --output "${header}"
    DEPENDS "${name}_library"
    COMMENT "Writing the builders of ${name}"
    VERBATIM)
  add_custom_target(${name}_ops_header DEPENDS "${header}")

  # The users' target waits for the header, which waits for the library.
  add_library(${name} INTERFACE)
  target_link_libraries(${name} INTERFACE ${name}_library)
  target_include_directories(${name} INTERFACE "${generated}")
  add_dependencies(${name} ${name}_ops_header)
endfunction()
