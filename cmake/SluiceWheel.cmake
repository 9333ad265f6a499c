# The wheel that pip builds: component `python`, everything in the folder of the
# package sluice. Besides the package itself (python/CMakeLists.txt):
#
#   *.so*           libsluice, its modules, and the libraries that a bare machine
#                   lacks: oneDNN, protobuf-lite and RE2
#   sluice_openmp/  libgomp, for machines without one
#   sluice_plugins/, sluice_records/
#   include/        the headers that kernels and ops of users include, with those
#                   of fmt and Boost; and libsluice_cuda_kernels.a, which CUDA
#                   ones link
if(NOT SKBUILD OR NOT SLUICE_PYTHON)
  return()
endif()
get_property(modules GLOBAL PROPERTY SLUICE_MODULES)
get_property(plugins GLOBAL PROPERTY SLUICE_PLUGINS)
get_property(rooms GLOBAL PROPERTY SLUICE_ROOMS)
set(include sluice/include)

set_target_properties(sluice PROPERTIES
  VERSION "${PROJECT_VERSION_MAJOR}" INSTALL_RPATH "$ORIGIN")
set(file_sets "")
foreach(name IN ITEMS sluice stamp ${rooms})
  list(APPEND file_sets
    FILE_SET "${name}" DESTINATION ${include} COMPONENT python)
endforeach()
install(TARGETS sluice LIBRARY DESTINATION sluice COMPONENT python
  NAMELINK_SKIP ${file_sets})
install(TARGETS ${plugins}
  LIBRARY DESTINATION sluice/sluice_plugins COMPONENT python)
install(DIRECTORY "${PROJECT_SOURCE_DIR}/records/"
  DESTINATION sluice/sluice_records COMPONENT python
  FILES_MATCHING PATTERN "*.jsonl" PATTERN "costs-*.json")
set_target_properties(${modules} PROPERTIES INSTALL_RPATH_USE_LINK_PATH FALSE)
install(TARGETS sluice_lab LIBRARY DESTINATION sluice COMPONENT python
  FILE_SET laboratory DESTINATION ${include} COMPONENT python)
list(REMOVE_ITEM modules sluice_lab)
if(modules)
  install(TARGETS ${modules} LIBRARY DESTINATION sluice COMPONENT python)
endif()

# Headers.
sluice_install_written_headers(${include} COMPONENT python)
sluice_install_foreign_headers(${include} COMPONENT python)
add_dependencies(sluice_python sluice_ops_header)
if(TARGET sluice_cuda_kernels)
  add_dependencies(sluice_python sluice_cuda_kernels)
  install(TARGETS sluice_cuda_kernels
    ARCHIVE DESTINATION sluice COMPONENT python)
endif()

# Libraries that a bare machine lacks, stripped. libgomp keeps its name, by which
# libsluice opens it; tools that rename it leave one thread to run.
execute_process(
  COMMAND "${CMAKE_CXX_COMPILER}" -print-file-name=libgomp.so.1
  OUTPUT_VARIABLE libgomp OUTPUT_STRIP_TRAILING_WHITESPACE ERROR_QUIET)
if(NOT EXISTS "${libgomp}")
  message(STATUS "Sluice: the wheel: without libgomp, which the compiler lacks")
  set(libgomp "")
endif()
set(scanned "$<TARGET_FILE:sluice>")
# Nothing links oneDNN (operators/onednn/late_functions.h).
set(onednn "")
if(TARGET sluice_onednn)
  set(onednn "$<TARGET_SONAME_FILE:DNNL::dnnl>")
  list(APPEND scanned "${onednn}")
endif()
if(TARGET sluice_re2)
  list(APPEND scanned "$<TARGET_FILE:sluice_re2>")
endif()
install(CODE "
  set(scanned \"${scanned}\")
  set(onednn \"${onednn}\")
  set(libgomp \"${libgomp}\")
  set(strip \"${CMAKE_STRIP}\")" COMPONENT python)
install(CODE [[
  file(GET_RUNTIME_DEPENDENCIES LIBRARIES ${scanned}
    RESOLVED_DEPENDENCIES_VAR libraries
    PRE_EXCLUDE_REGEXES "^ld-linux" "^libsluice" "^libgomp[.]"
      "^lib(c|m|dl|rt|pthread|stdc[+][+]|gcc_s)[.]so")
  foreach(library IN LISTS libraries libgomp onednn)
    cmake_path(GET library FILENAME name)
    set(folder "$ENV{DESTDIR}${CMAKE_INSTALL_PREFIX}/sluice")
    if(name MATCHES "^libgomp[.]")
      string(APPEND folder "/sluice_openmp")
    endif()
    file(REAL_PATH "${library}" file)
    file(MAKE_DIRECTORY "${folder}")
    file(COPY_FILE "${file}" "${folder}/${name}")
    execute_process(COMMAND "${strip}" --strip-unneeded "${folder}/${name}"
      COMMAND_ERROR_IS_FATAL ANY)
  endforeach()
]] COMPONENT python)
