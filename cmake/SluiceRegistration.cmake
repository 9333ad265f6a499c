# Finds the REGISTER_* macros of operator sources and writes the one function
# that calls what they define. Nothing registers itself before main, the linker
# drops nothing, and a macro whose source is not linked is a link error.
# Installed with Sluice, because sluice_add_operator_library() uses it.

# sluice_operator_sources(OUT DIRECTORY folder OPERATORS word... [CUDA OUT])
# Returns the sources of the words: <word>_op.cc, <word>_kernel*.cc, which may be
# missing if the former has a kernel, and with CUDA their <word>_kernel*.cu in a
# separate list. Fails if a word lacks them, or if the folder has such a file
# without a word.
function(sluice_operator_sources out)
  cmake_parse_arguments(arg "" "DIRECTORY;CUDA" "OPERATORS" ${ARGN})
  file(GLOB present CONFIGURE_DEPENDS
    "${arg_DIRECTORY}/*_op.cc" "${arg_DIRECTORY}/*_kernel*.cc")
  set(found "")
  set(found_cuda "")
  foreach(word IN LISTS arg_OPERATORS)
    if(NOT word MATCHES "^[a-z][a-z0-9_]*$")
      message(FATAL_ERROR "\"${word}\" is not an operator word: expected "
        "lower-case letters, digits and underscores")
    endif()
    set(op_file "${arg_DIRECTORY}/${word}_op.cc")
    set(kernel_files ${present})
    list(FILTER kernel_files INCLUDE REGEX "/${word}_kernel[^/]*[.]cc$")
    set(kernels "${kernel_files}")
    if(EXISTS "${op_file}" AND NOT kernels)
      file(STRINGS "${op_file}" kernels REGEX "^REGISTER_OP_")
    endif()
    if(NOT EXISTS "${op_file}" OR NOT kernels)
      message(FATAL_ERROR "operator \"${word}\" needs ${word}_op.cc and, unless "
        "it registers a kernel, ${word}_kernel.cc (or ${word}_kernel_*.cc) in "
        "${arg_DIRECTORY}")
    endif()
    list(APPEND found "${op_file}" ${kernel_files})
    file(GLOB cuda_files CONFIGURE_DEPENDS
      "${arg_DIRECTORY}/${word}_kernel*.cu")
    list(APPEND found_cuda ${cuda_files})
  endforeach()
  file(GLOB uncovered CONFIGURE_DEPENDS "${arg_DIRECTORY}/*_kernel*.cu")
  list(APPEND uncovered ${present})
  list(REMOVE_ITEM uncovered ${found} ${found_cuda})
  if(uncovered)
    list(JOIN uncovered "\n  " uncovered)
    message(FATAL_ERROR "no operator word covers\n  ${uncovered}\n"
      "add the word to the list of operators, or remove the file")
  endif()
  set(${out} ${found} PARENT_SCOPE)
  if(arg_CUDA)
    set(${arg_CUDA} ${found_cuda} PARENT_SCOPE)
  endif()
endfunction()

# sluice_scan_registrations(OUT source...)
# Returns the functions that the sources' REGISTER_* macros define, in order, and
# in OUT_sources the source of each. The macros may span lines; comments are
# ignored.
function(sluice_scan_registrations out)
  set(symbols "")
  set(sources "")
  foreach(source IN LISTS ARGN)
    set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS "${source}")
    file(READ "${source}" text)
    # Brackets and semicolons would break CMake's lists.
    string(REGEX REPLACE "[][;]" " " text "${text}")
    # Comments, and texts in quotes, in which those have no meaning.
    string(REGEX REPLACE
      "//[^\n]*|/[*]([^*]|[*]+[^*/])*[*]+/|'[\\]?\"'|\"([^\"\\\n]|[\\].)*\""
      " " text "${text}")
    string(REGEX REPLACE "[ \t\r\n]+" " " text "${text}")

    set(word "([A-Za-z0-9_]+)")
    set(comma " ?, ?")
    string(REGEX MATCHALL
      "REGISTER_(OPERATOR|PASS|TABLE|OP_CPU_KERNEL|OP_CUDA_KERNEL|OP_KERNEL) ?[(][^()]*"
      calls "${text}")
    foreach(call IN LISTS calls)
      list(APPEND sources "${source}")
      if(call MATCHES "^REGISTER_OPERATOR ?[(] ?${word}${comma}")
        list(APPEND symbols "SluiceRegisterOperator_${CMAKE_MATCH_1}")
      elseif(call MATCHES "^REGISTER_PASS ?[(] ?${word}${comma}")
        list(APPEND symbols "SluiceRegisterPass_${CMAKE_MATCH_1}")
      elseif(call MATCHES "^REGISTER_TABLE ?[(] ?${word}${comma}")
        list(APPEND symbols "SluiceRegisterTable_${CMAKE_MATCH_1}")
      elseif(call MATCHES
          "^REGISTER_OP_(CPU|CUDA)_KERNEL ?[(] ?${word}${comma}")
        list(APPEND symbols
          "SluiceRegisterKernel_${CMAKE_MATCH_2}_${CMAKE_MATCH_1}Place_PLAIN_plain")
      elseif(call MATCHES
          "^REGISTER_OP_KERNEL ?[(] ?${word}${comma}${word}${comma}${word}${comma}${word}${comma}")
        list(APPEND symbols
          "SluiceRegisterKernel_${CMAKE_MATCH_1}_${CMAKE_MATCH_3}_${CMAKE_MATCH_2}_${CMAKE_MATCH_4}")
      else()
        message(FATAL_ERROR "${source}: cannot read \"${call}\": expected "
          "REGISTER_OPERATOR(op, Schema), REGISTER_OP_CPU_KERNEL(op, "
          "Kernel...) or REGISTER_OP_KERNEL(op, LIBRARY, PlaceType, variant, "
          "Traits, Kernel...)")
      endif()
    endforeach()
  endforeach()
  set(seen "")
  foreach(symbol source IN ZIP_LISTS symbols sources)
    list(FIND seen "${symbol}" first)
    if(NOT first EQUAL -1)
      list(GET sources ${first} first)
      string(REGEX MATCH "^SluiceRegister([A-Za-z]+)_(.*)$" _ "${symbol}")
      message(FATAL_ERROR "${source}: ${CMAKE_MATCH_1} ${CMAKE_MATCH_2} is "
        "registered already, in ${first}")
    endif()
    list(APPEND seen "${symbol}")
  endforeach()
  set(${out} ${symbols} PARENT_SCOPE)
  set(${out}_sources ${sources} PARENT_SCOPE)
endfunction()

# sluice_registration_calls(NAME [LATE] source...)
# Sets in the caller: symbols, what sluice_scan_registrations returns;
# declarations, of these functions; calls, the lines that call them for
# `registry`; versions_source, a source to compile with them. It has the versions
# of their kernels: a hash of the registering source and of the operators' files
# that it includes, which is computed when one of them has changed. The family of
# ops is the folder of the source below operators/, or "". With LATE, operators
# and kernels are registered when somebody asks for them.
function(sluice_registration_calls name)
  cmake_parse_arguments(arg "LATE" "" "" ${ARGN})
  sluice_scan_registrations(symbols ${arg_UNPARSED_ARGUMENTS})
  set(files ${symbols_sources})
  list(REMOVE_DUPLICATES files)
  set(versions "SluiceKernelVersions_${name}")
  set(declarations "extern const char* const ${versions}[];\n")
  set(calls "")
  foreach(symbol source IN ZIP_LISTS symbols symbols_sources)
    list(FIND files "${source}" index)
    string(APPEND declarations
      "void ${symbol}(::sluice::Registry&);\n")
    set(family "")
    if(source MATCHES "^.*/operators/([^/]+)/")
      set(family "${CMAKE_MATCH_1}")
    endif()
    if(arg_LATE AND symbol MATCHES "^SluiceRegisterKernel_(.+)_[A-Za-z]+Place_")
      string(APPEND calls "  registry.AddKernelsLater(\"${CMAKE_MATCH_1}\", "
        "${versions}[${index}], &${symbol});\n")
    elseif(arg_LATE AND symbol MATCHES "^SluiceRegisterOperator_(.+)$")
      string(APPEND calls "  registry.AddOperatorLater(\"${CMAKE_MATCH_1}\", "
        "${versions}[${index}], \"${family}\", &${symbol});\n")
    elseif(arg_LATE AND symbol MATCHES "^SluiceRegisterTable_")
      string(APPEND calls "  ::sluice::AddTableLater(registry, "
        "${versions}[${index}], \"${family}\", &${symbol});\n")
    else()
      string(APPEND calls "  registry.AddFrom(${versions}[${index}], "
        "\"${family}\", &${symbol});\n")
    endif()
  endforeach()

  set(script "${CMAKE_CURRENT_FUNCTION_LIST_DIR}/WriteKernelVersions.cmake")
  set(folder "${CMAKE_CURRENT_BINARY_DIR}/versions")
  set(output "${folder}/${name}.cc")
  list(JOIN files "\n" lines)
  file(CONFIGURE OUTPUT "${folder}/${name}.txt" CONTENT "${lines}\n" @ONLY)
  set(root "")
  set(included "")
  if(EXISTS "${PROJECT_SOURCE_DIR}/framework/op/op_registry.h")
    set(root "${PROJECT_SOURCE_DIR}")
    file(GLOB_RECURSE included CONFIGURE_DEPENDS
      "${root}/operators/*.h" "${root}/operators/*.cc" "${root}/operators/*.cu"
      "${root}/operators/*.cuh" "${root}/operators/*.inc")
  endif()
  add_custom_command(
    OUTPUT "${output}"
    COMMAND ${CMAKE_COMMAND} "-DNAME=${versions}" "-DROOT=${root}"
      "-DSOURCES=${folder}/${name}.txt" "-DOUTPUT=${output}"
      -P "${script}"
    DEPENDS ${files} ${included} "${folder}/${name}.txt" "${script}"
    VERBATIM)
  set(symbols ${symbols} PARENT_SCOPE)
  set(declarations "${declarations}" PARENT_SCOPE)
  set(calls "${calls}" PARENT_SCOPE)
  set(versions_source "${output}" PARENT_SCOPE)
endfunction()

# sluice_write_registration(FILE FUNCTION namespace::Name SOURCES source...
#                           [DIRECTORY folder MODULES name...])
# Writes FILE, which defines `void namespace::Name(Registry&)`. Sets
# versions_source in the caller (sluice_registration_calls).
# The module libsluice_<name>.so has the kernels of library <NAME> in
# <folder>/<name>/**/*.cc: it is loaded for the ops that they are for.
function(sluice_write_registration file)
  cmake_parse_arguments(arg "" "FUNCTION;DIRECTORY" "SOURCES;MODULES" ${ARGN})
  string(REGEX REPLACE "::[A-Za-z0-9_]+$" "" namespace "${arg_FUNCTION}")
  string(REGEX REPLACE "^.*::" "" name "${arg_FUNCTION}")
  sluice_registration_calls("${name}" LATE ${arg_SOURCES})
  set(versions_source "${versions_source}" PARENT_SCOPE)
  foreach(module IN LISTS arg_MODULES)
    string(TOUPPER "${module}" library)
    file(GLOB_RECURSE sources CONFIGURE_DEPENDS
      "${arg_DIRECTORY}/${module}/*.cc")
    sluice_scan_registrations(symbols ${sources})
    set(ops "")
    foreach(symbol IN LISTS symbols)
      if(symbol MATCHES
          "^SluiceRegisterKernel_(.+)_[A-Za-z]+Place_${library}_")
        list(APPEND ops "\"${CMAKE_MATCH_1}\"")
      elseif(symbol MATCHES "^SluiceRegisterKernel_")
        message(FATAL_ERROR "${arg_DIRECTORY}/${module} registers ${symbol}: "
          "expected kernels of library ${library} only")
      endif()
    endforeach()
    list(REMOVE_DUPLICATES ops)
    list(JOIN ops ", " ops)
    string(APPEND calls
      "  registry.AddModule({\"${library}\", \"${module}\", {${ops}}});\n")
  endforeach()
  file(CONFIGURE OUTPUT "${file}" @ONLY CONTENT [=[
// Written by CMake from the REGISTER_* macros; do not edit.
#include "sluice/framework/op/late_tables.h"
#include "sluice/framework/op/registry.h"

extern "C" {
@declarations@}

namespace @namespace@ {
void @name@(::sluice::Registry& registry);
void @name@([[maybe_unused]] ::sluice::Registry& registry) {
@calls@}
}  // namespace @namespace@
]=])
endfunction()

# sluice_add_module(NAME SOURCES source...)
# Adds the optional module libsluice_NAME.so beside libsluice.so, target
# sluice_NAME. platform/plugin/kernel_module.h loads it and calls its
# SluiceInitModule, which registers what the sources' REGISTER_* macros define.
# With EXTRA_INIT, one of them has `extern "C" void SluiceStartModule()`, which
# is called first.
function(sluice_add_module name)
  cmake_parse_arguments(arg "EXTRA_INIT" "" "SOURCES" ${ARGN})
  sluice_registration_calls("${name}" LATE ${arg_SOURCES})
  if(arg_EXTRA_INIT)
    string(APPEND declarations "void SluiceStartModule();\n")
    string(PREPEND calls "  SluiceStartModule();\n")
  endif()
  set(generated "${PROJECT_BINARY_DIR}/generated/init_${name}.cc")
  file(CONFIGURE OUTPUT "${generated}" @ONLY CONTENT [=[
// Written by CMake from the REGISTER_* macros; do not edit.
#include "sluice/framework/op/late_tables.h"
#include "sluice/framework/op/registry.h"

extern "C" {
@declarations@
__attribute__((visibility("default"))) void SluiceInitModule();
void SluiceInitModule() {
  [[maybe_unused]] auto& registry = ::sluice::Registry::Global();
@calls@}
}
]=])
  add_library(sluice_${name} MODULE
    ${arg_SOURCES} "${generated}" "${versions_source}")
  set_target_properties(sluice_${name} PROPERTIES
    PREFIX "lib" OUTPUT_NAME "sluice_${name}" LINKER_LANGUAGE CXX
    INSTALL_RPATH "$ORIGIN")
  target_link_libraries(sluice_${name} PRIVATE
    sluice_build_flags sluice_sanitized sluice)
  set_property(GLOBAL APPEND PROPERTY SLUICE_MODULES "sluice_${name}")
endfunction()
