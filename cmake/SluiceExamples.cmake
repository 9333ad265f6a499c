# The examples that the laboratory tries kernels with (laboratory/op_example.h):
# those that the ops are tested with. A program writes them from the cases in
# tests/operators. It starts SLUICE_TEST_PYTHON: if none is given, the package's
# Python, that of build/venv or the system's, the first that has NumPy.
set(candidates "${SLUICE_TEST_PYTHON}")
if(NOT SLUICE_TEST_PYTHON)
  find_package(Python3 QUIET COMPONENTS Interpreter)
  set(candidates "${Python_EXECUTABLE}"
    "${PROJECT_SOURCE_DIR}/build/venv/bin/python" "${Python3_EXECUTABLE}")
endif()
set(SLUICE_HAS_EXAMPLES OFF)
set(why "no Python with NumPy")
foreach(python IN LISTS candidates)
  set(status 1)
  if(python)
    execute_process(COMMAND "${python}" -c "import numpy"
      RESULT_VARIABLE status OUTPUT_QUIET ERROR_QUIET)
  endif()
  if(status EQUAL 0)
    set(SLUICE_TEST_PYTHON "${python}")
    set(SLUICE_HAS_EXAMPLES ON)
    break()
  endif()
endforeach()

# The cases of all ops as objects, without GoogleTest. The list of those in
# Python is part of them.
set(tests "${PROJECT_SOURCE_DIR}/tests/operators")
set(cases "${tests}/cases")
file(GLOB SLUICE_CASE_FILES CONFIGURE_DEPENDS "${cases}/*.py")
if(NOT SLUICE_CASE_FILES)
  set(SLUICE_HAS_EXAMPLES OFF)
  set(why "no tests/operators")
elseif(SLUICE_SANITIZE MATCHES "thread")
  set(SLUICE_HAS_EXAMPLES OFF)
  set(why "no test of many threads needs them")
endif()
if(NOT SLUICE_HAS_EXAMPLES)
  message(STATUS "Sluice: examples for checks of kernels: off (${why})")
endif()
if(SLUICE_CASE_FILES AND SLUICE_TEST_PYTHON)
  set(list "${PROJECT_BINARY_DIR}/generated/op_cases.txt")
  file(MAKE_DIRECTORY "${PROJECT_BINARY_DIR}/generated")
  add_custom_command(OUTPUT "${list}"
    COMMAND "${SLUICE_TEST_PYTHON}" -B "${cases}" --list > "${list}"
    DEPENDS ${SLUICE_CASE_FILES} VERBATIM)
  file(GLOB sources CONFIGURE_DEPENDS "${tests}/*/*_case.cc")
  add_library(sluice_op_cases OBJECT EXCLUDE_FROM_ALL
    ${sources} "${cases}/python_cases.cc")
  sluice_add_text(sluice_op_cases OpCaseLines "${list}")
  target_link_libraries(sluice_op_cases PRIVATE
    sluice_build_flags sluice nlohmann_json::nlohmann_json)
  target_include_directories(sluice_op_cases PRIVATE
    "${PROJECT_SOURCE_DIR}" "${SLUICE_INCLUDE_ROOT}/laboratory")
  sluice_compile_together(sluice_op_cases "")
endif()

# sluice_add_examples(TARGET)
# Adds sluice::BuiltinExampleLines to TARGET, with the examples of
# build/generated/examples.jsonl, or none if they cannot be made.
function(sluice_add_examples target)
  set(folder "${PROJECT_BINARY_DIR}/generated")
  if(NOT SLUICE_HAS_EXAMPLES)
    file(CONFIGURE OUTPUT "${folder}/no_examples.jsonl" CONTENT "# None.\n")
    sluice_add_text(${target} BuiltinExampleLines "${folder}/no_examples.jsonl")
    return()
  endif()
  # It links no laboratory, which has the examples.
  add_executable(sluice_write_examples
    "${PROJECT_SOURCE_DIR}/tests/operators/cases/write_examples.cc"
    "${PROJECT_SOURCE_DIR}/laboratory/op_example_json.cc"
    $<TARGET_OBJECTS:sluice_op_cases>)
  target_link_libraries(sluice_write_examples PRIVATE
    sluice_build_flags sluice nlohmann_json::nlohmann_json)
  target_include_directories(sluice_write_examples PRIVATE
    "${PROJECT_SOURCE_DIR}" "${SLUICE_INCLUDE_ROOT}/laboratory")
  sluice_compile_together(sluice_write_examples "")
  # Most changes of the library leave the facts, and thus the examples, as they
  # are. Formulas of rows say which numbers are an example's.
  add_custom_command(OUTPUT "${folder}/example_facts.txt"
    COMMAND sluice_write_examples --facts "${folder}/example_facts.txt"
    DEPENDS sluice VERBATIM)
  file(GLOB_RECURSE rows CONFIGURE_DEPENDS
    "${PROJECT_SOURCE_DIR}/operators/*_rows.inc")
  list(APPEND rows "${PROJECT_SOURCE_DIR}/laboratory/op_example_json.cc"
    "${PROJECT_SOURCE_DIR}/tests/operators/cases/write_examples.cc")
  add_custom_command(OUTPUT "${folder}/examples.jsonl"
    COMMAND sluice_write_examples "${folder}/examples.jsonl"
    DEPENDS "${folder}/example_facts.txt" $<TARGET_OBJECTS:sluice_op_cases>
      ${rows} ${SLUICE_CASE_FILES} VERBATIM)
  sluice_add_text(${target} BuiltinExampleLines "${folder}/examples.jsonl")
endfunction()
