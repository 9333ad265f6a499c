# sluice_add_tests(NAME source... [LIBRARIES library...]
#                  [OWN_PROCESSES | SHARED_PROCESSES] [UNSANITIZED pattern...])
# One GoogleTest program. Each test is a test of ctest, in a process of its own;
# those whose name begins with "Slow" carry the label `slow`, which `./dev test`
# leaves out. With SHARED_PROCESSES, and under the address sanitizer, where
# processes start slowly, unless OWN_PROCESSES is given, the other tests share
# four processes. Tests that match UNSANITIZED are left out there.
include(GoogleTest)

# Compile and link options of test sources.
function(sluice_use_test_options target)
  target_link_libraries(${target} PRIVATE
    sluice_build_flags sluice_testing
    Eigen3::Eigen nlohmann_json::nlohmann_json)
  # The precompiled headers use -fPIC; for programs CMake would use -fPIE.
  set_target_properties(${target} PROPERTIES POSITION_INDEPENDENT_CODE OFF)
  target_compile_options(${target} PRIVATE -fPIC)
  if(NOT target STREQUAL "sluice_precompiled_tests")
    target_precompile_headers(${target} REUSE_FROM sluice_precompiled_tests)
    # Deferred, because the CMakeLists.txt may add definitions. Folders of tests
    # have helpers of the same names.
    cmake_language(EVAL CODE "cmake_language(DEFER CALL
      sluice_compile_together ${target} \"\" FOLDERS_APART)")
  endif()
  # -O1 compiles faster and causes fewer false warnings of g++ about templates.
  # Some tests allocate impossible sizes on purpose, and some expect an
  # allocation to fail, which must not be optimised away.
  target_compile_options(${target} PRIVATE -O1
    "$<$<COMPILE_LANG_AND_ID:CXX,GNU>:-Wno-alloc-size-larger-than;-fno-allocation-dce>")
endfunction()

function(sluice_add_tests name)
  cmake_parse_arguments(arg "OWN_PROCESSES;SHARED_PROCESSES" ""
    "LIBRARIES;UNSANITIZED" ${ARGN})
  add_executable(${name} ${arg_UNPARSED_ARGUMENTS})
  sluice_use_test_options(${name})
  target_link_libraries(${name} PRIVATE ${arg_LIBRARIES})
  # The harness runs all existing kernels; `./dev build cuda` checks nvcc.
  if(SLUICE_CUDA_MODE STREQUAL "EMULATE")
    add_dependencies(${name} sluice_cuda)
  endif()
  set(common
    DISCOVERY_MODE PRE_TEST
    DISCOVERY_TIMEOUT 60
    WORKING_DIRECTORY "${PROJECT_SOURCE_DIR}")
  set(unsanitized "")
  if(SLUICE_SANITIZE MATCHES "address")
    list(JOIN arg_UNSANITIZED ":" unsanitized)
    set(arg_SHARED_PROCESSES ON)
  endif()
  if(arg_SHARED_PROCESSES AND NOT arg_OWN_PROCESSES)
    foreach(shard RANGE 3)
      add_test(NAME ${name}.${shard}
        COMMAND ${name} "--gtest_filter=-*.Slow*:${unsanitized}" --gtest_brief=1
        WORKING_DIRECTORY "${PROJECT_SOURCE_DIR}")
      set_tests_properties(${name}.${shard} PROPERTIES
        LABELS "quick" TIMEOUT 1200 COST 100  # ctest begins with these
        ENVIRONMENT "GTEST_TOTAL_SHARDS=4;GTEST_SHARD_INDEX=${shard}")
    endforeach()
  else()
    gtest_discover_tests(${name} ${common}
      TEST_FILTER "-*.Slow*"
      TEST_LIST ${name}_quick
      PROPERTIES LABELS "quick" TIMEOUT 120)
  endif()
  gtest_discover_tests(${name} ${common}
    TEST_FILTER "*.Slow*"
    TEST_LIST ${name}_slow
    PROPERTIES LABELS "slow" TIMEOUT 900)
endfunction()

# sluice_define_plugin_path(MACRO PLUGIN folder...)
# Defines MACRO as the path of PLUGIN for test sources, in the folders of
# tests/, that mention it. Other sources contain no build paths, so all presets
# share their objects through ccache.
function(sluice_define_plugin_path macro plugin)
  foreach(folder IN LISTS ARGN)
    set(program "sluice_${folder}_test")
    set(users "")
    file(GLOB_RECURSE sources CONFIGURE_DEPENDS
      "${PROJECT_SOURCE_DIR}/tests/${folder}/*_test.cc")
    foreach(source IN LISTS sources)
      file(STRINGS "${source}" mentions REGEX "${macro}|plugin_cases.h")
      if(mentions)
        list(APPEND users "${source}")
      endif()
    endforeach()
    set_property(SOURCE ${users} TARGET_DIRECTORY ${program}
      APPEND PROPERTY COMPILE_DEFINITIONS
      "${macro}=\"$<TARGET_FILE:${plugin}>\"")
    add_dependencies(${program} ${plugin})
  endforeach()
endfunction()
