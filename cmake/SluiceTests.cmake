# sluice_add_tests(NAME source... [LIBRARIES library...])
# One GoogleTest program, one ctest entry for each test. Tests with "Slow" in
# their name carry the label `slow`, which `./dev test` leaves out.
include(GoogleTest)

function(sluice_add_tests name)
  cmake_parse_arguments(arg "" "" "LIBRARIES" ${ARGN})
  add_executable(${name} ${arg_UNPARSED_ARGUMENTS})
  target_link_libraries(${name} PRIVATE
    sluice_build_flags sluice_testing
    Eigen3::Eigen nlohmann_json::nlohmann_json ${arg_LIBRARIES})
  if(TARGET OpenMP::OpenMP_CXX)  # some tests open parallel regions themselves
    target_link_libraries(${name} PRIVATE OpenMP::OpenMP_CXX)
  endif()
  set(common
    DISCOVERY_MODE PRE_TEST
    DISCOVERY_TIMEOUT 60
    WORKING_DIRECTORY "${PROJECT_SOURCE_DIR}")
  gtest_discover_tests(${name} ${common}
    TEST_FILTER "-*Slow*"
    TEST_LIST ${name}_quick
    PROPERTIES LABELS "quick" TIMEOUT 120)
  gtest_discover_tests(${name} ${common}
    TEST_FILTER "*Slow*"
    TEST_LIST ${name}_slow
    PROPERTIES LABELS "slow" TIMEOUT 900)
endfunction()
