# Finds the REGISTER_* macros of operator sources and writes the one function
# that calls what they define. Nothing registers itself before main, nothing
# is dropped by the linker, and a macro whose source is not linked is a link
# error. Installed with Sluice: sluice_add_operator_library() uses it too.

# sluice_operator_sources(OUT DIRECTORY folder OPERATORS word...)
# The sources of the words: <word>_op.cc and <word>_kernel*.cc, at least one of
# each. Fails when a word lacks them or when the folder has such a file that no
# word covers.
function(sluice_operator_sources out)
  cmake_parse_arguments(arg "" "DIRECTORY" "OPERATORS" ${ARGN})
  file(GLOB present CONFIGURE_DEPENDS
    "${arg_DIRECTORY}/*_op.cc" "${arg_DIRECTORY}/*_kernel*.cc")
  set(found "")
  foreach(word IN LISTS arg_OPERATORS)
    if(NOT word MATCHES "^[a-z][a-z0-9_]*$")
      message(FATAL_ERROR "\"${word}\" is not an operator word: expected "
        "lower-case letters, digits and underscores")
    endif()
    set(op_file "${arg_DIRECTORY}/${word}_op.cc")
    set(kernel_files ${present})
    list(FILTER kernel_files INCLUDE REGEX "/${word}_kernel[^/]*[.]cc$")
    if(NOT EXISTS "${op_file}" OR NOT kernel_files)
      message(FATAL_ERROR "operator \"${word}\" needs ${word}_op.cc and "
        "${word}_kernel.cc (or ${word}_kernel_*.cc) in ${arg_DIRECTORY}")
    endif()
    list(APPEND found "${op_file}" ${kernel_files})
  endforeach()
  set(uncovered ${present})
  list(REMOVE_ITEM uncovered ${found})
  if(uncovered)
    list(JOIN uncovered "\n  " uncovered)
    message(FATAL_ERROR "no operator word covers\n  ${uncovered}\n"
      "add the word to the list of operators, or remove the file")
  endif()
  set(${out} ${found} PARENT_SCOPE)
endfunction()

# sluice_scan_registrations(OUT source...)
# The functions that the sources' REGISTER_* macros define, in order. The
# macros may span lines; comments do not count.
function(sluice_scan_registrations out)
  set(symbols "")
  foreach(source IN LISTS ARGN)
    set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS "${source}")
    file(READ "${source}" text)
    # Brackets and semicolons would upset CMake's lists.
    string(REGEX REPLACE "[][;]" " " text "${text}")
    string(REGEX REPLACE "//[^\n]*" "" text "${text}")
    string(REGEX REPLACE "/[*]([^*]|[*]+[^*/])*[*]+/" " " text "${text}")
    string(REGEX REPLACE "[ \t\r\n]+" " " text "${text}")

    set(word "([A-Za-z0-9_]+)")
    set(comma " ?, ?")
    string(REGEX MATCHALL
      "REGISTER_(OPERATOR|OP_CPU_KERNEL|OP_CUDA_KERNEL|OP_KERNEL) ?[(][^()]*"
      calls "${text}")
    foreach(call IN LISTS calls)
      if(call MATCHES "^REGISTER_OPERATOR ?[(] ?${word}${comma}")
        list(APPEND symbols "SluiceRegisterOperator_${CMAKE_MATCH_1}")
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
  set(unique ${symbols})
  list(REMOVE_DUPLICATES unique)
  list(LENGTH symbols count)
  list(LENGTH unique unique_count)
  if(NOT count EQUAL unique_count)
    foreach(symbol IN LISTS unique)
      list(REMOVE_ITEM symbols "${symbol}")
    endforeach()
    message(FATAL_ERROR "registered twice: see the macros behind the names\n"
      "  ${symbols}")
  endif()
  set(${out} ${unique} PARENT_SCOPE)
endfunction()

# sluice_write_registration(FILE FUNCTION namespace::Name SOURCES source...
#                           [EXPORT])
# Writes FILE, which defines `void namespace::Name(framework::Registry&)`.
# EXPORT makes it visible outside its shared library.
function(sluice_write_registration file)
  cmake_parse_arguments(arg "EXPORT" "FUNCTION" "SOURCES" ${ARGN})
  sluice_scan_registrations(symbols ${arg_SOURCES})
  string(REGEX REPLACE "::[A-Za-z0-9_]+$" "" namespace "${arg_FUNCTION}")
  string(REGEX REPLACE "^.*::" "" name "${arg_FUNCTION}")
  set(attribute "")
  if(arg_EXPORT)
    set(attribute "__attribute__((visibility(\"default\"))) ")
  endif()
  set(declarations "")
  set(calls "")
  foreach(symbol IN LISTS symbols)
    string(APPEND declarations
      "void ${symbol}(::sluice::framework::Registry&);\n")
    string(APPEND calls "  ${symbol}(registry);\n")
  endforeach()
  file(CONFIGURE OUTPUT "${file}" @ONLY CONTENT [=[
// Written by CMake from the REGISTER_* macros; do not edit.
namespace sluice::framework {
class Registry;
}

extern "C" {
@declarations@}

namespace @namespace@ {
@attribute@void @name@(::sluice::framework::Registry& registry);
void @name@([[maybe_unused]] ::sluice::framework::Registry& registry) {
@calls@}
}  // namespace @namespace@
]=])
endfunction()
