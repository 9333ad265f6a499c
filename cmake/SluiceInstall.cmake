# The installation: the library, its headers below include/sluice/<room>, the
# tools, the bundled plug-ins and the package for find_package(sluice).
include(CMakePackageConfigHelpers)

set(package_dir "${CMAKE_INSTALL_LIBDIR}/cmake/sluice")

# A release is installed without its symbol table.
install(CODE [[
  if(CMAKE_INSTALL_CONFIG_NAME STREQUAL "Release")
    set(CMAKE_INSTALL_DO_STRIP TRUE)
  endif()
]])

get_property(rooms GLOBAL PROPERTY SLUICE_ROOMS)
set(file_sets FILE_SET sluice FILE_SET stamp)
foreach(room IN LISTS rooms)
  list(APPEND file_sets FILE_SET "${room}")
endforeach()
install(TARGETS sluice EXPORT sluice-targets
  LIBRARY DESTINATION "${CMAKE_INSTALL_LIBDIR}"
  ARCHIVE DESTINATION "${CMAKE_INSTALL_LIBDIR}"
  ${file_sets}
  INCLUDES DESTINATION "${CMAKE_INSTALL_INCLUDEDIR}")

install(TARGETS sluice_lab EXPORT sluice-targets
  LIBRARY DESTINATION "${CMAKE_INSTALL_LIBDIR}"
  ARCHIVE DESTINATION "${CMAKE_INSTALL_LIBDIR}"
  FILE_SET laboratory
  INCLUDES DESTINATION "${CMAKE_INSTALL_INCLUDEDIR}")

# sluice_install_written_headers(FOLDER argument...)
# Installs below FOLDER the headers that no target lists: sluice/ops.h, and those
# of CUDA kernels, or of the emulation. The arguments go to install().
function(sluice_install_written_headers include)
  install(FILES "${SLUICE_INCLUDE_ROOT}/generated/sluice/ops.h"
    DESTINATION "${include}/sluice" ${ARGN})
  if(SLUICE_CUDA_MODE STREQUAL "OFF")
    return()
  endif()
  set(platform "${PROJECT_SOURCE_DIR}/platform")
  set(cuda_headers "${platform}/cuda/native/")
  if(SLUICE_CUDA_MODE STREQUAL "EMULATE")
    set(cuda_headers "${platform}/cuda_emulation/include/")
    file(GLOB headers CONFIGURE_DEPENDS "${platform}/cuda_emulation/*.h")
    install(FILES ${headers}
      DESTINATION "${include}/sluice/platform/cuda_emulation" ${ARGN})
  endif()
  # Kernels of other libraries may include these headers, too.
  install(DIRECTORY "${cuda_headers}"
    DESTINATION "${include}/sluice_cuda" ${ARGN})
  file(GLOB headers CONFIGURE_DEPENDS "${platform}/cuda/*.h")
  install(FILES ${headers} DESTINATION "${include}/sluice/platform/cuda" ${ARGN})
  install(DIRECTORY "${PROJECT_SOURCE_DIR}/operators"
    DESTINATION "${include}/sluice" ${ARGN} FILES_MATCHING PATTERN "*.cuh")
endfunction()

get_property(tools GLOBAL PROPERTY SLUICE_TOOLS)
install(TARGETS ${tools} EXPORT sluice-targets)
sluice_install_written_headers("${CMAKE_INSTALL_INCLUDEDIR}")
get_property(modules GLOBAL PROPERTY SLUICE_MODULES)
list(REMOVE_ITEM modules sluice_lab)
if(NOT SLUICE_CUDA_MODE STREQUAL "OFF")
  set(cuda_targets sluice_cuda_kernels)
  if(SLUICE_CUDA_MODE STREQUAL "EMULATE")
    list(REMOVE_ITEM modules sluice_cuda_emulation)
    list(APPEND cuda_targets sluice_cuda_emulation)
  endif()
  install(TARGETS ${cuda_targets} EXPORT sluice-targets
    LIBRARY DESTINATION "${CMAKE_INSTALL_LIBDIR}"
    ARCHIVE DESTINATION "${CMAKE_INSTALL_LIBDIR}")
endif()
if(modules)
  install(TARGETS ${modules} LIBRARY DESTINATION "${CMAKE_INSTALL_LIBDIR}")
endif()
get_property(plugins GLOBAL PROPERTY SLUICE_PLUGINS)
install(TARGETS ${plugins}
  LIBRARY DESTINATION "${CMAKE_INSTALL_LIBDIR}/sluice_plugins")

install(DIRECTORY "${PROJECT_SOURCE_DIR}/records/"
  DESTINATION "${CMAKE_INSTALL_DATADIR}/sluice/records"
  FILES_MATCHING PATTERN "*.jsonl" PATTERN "costs-*.json")

install(EXPORT sluice-targets NAMESPACE sluice:: DESTINATION "${package_dir}")
configure_package_config_file(
  "${PROJECT_SOURCE_DIR}/cmake/sluice-config.cmake.in"
  "${PROJECT_BINARY_DIR}/sluice-config.cmake"
  INSTALL_DESTINATION "${package_dir}"
  PATH_VARS CMAKE_INSTALL_INCLUDEDIR)
write_basic_package_version_file(
  "${PROJECT_BINARY_DIR}/sluice-config-version.cmake"
  COMPATIBILITY SameMinorVersion)
install(FILES
  "${PROJECT_BINARY_DIR}/sluice-config.cmake"
  "${PROJECT_BINARY_DIR}/sluice-config-version.cmake"
  "${PROJECT_SOURCE_DIR}/cmake/SluiceComponents.cmake"
  "${PROJECT_SOURCE_DIR}/cmake/SluiceRegistration.cmake"
  "${PROJECT_SOURCE_DIR}/cmake/WriteKernelVersions.cmake"
  "${PROJECT_SOURCE_DIR}/cmake/SluiceKernelLibrary.cmake"
  "${PROJECT_SOURCE_DIR}/cmake/SluiceOperatorLibrary.cmake"
  "${PROJECT_SOURCE_DIR}/cmake/SluiceDevicePlugin.cmake"
  "${PROJECT_SOURCE_DIR}/cmake/device_plugin.map"
  DESTINATION "${package_dir}")

# For builds without CMake. The static library needs the libraries that the
# shared one has already linked.
file(RELATIVE_PATH pkgconfig_prefix
  "/${CMAKE_INSTALL_LIBDIR}/pkgconfig" "/")
set(pkgconfig_libraries "")
if(SLUICE_STATIC)
  set(pkgconfig_libraries "-lprotobuf-lite -ldl -pthread")
endif()
configure_file("${PROJECT_SOURCE_DIR}/cmake/sluice.pc.in"
  "${PROJECT_BINARY_DIR}/sluice.pc" @ONLY)
install(FILES "${PROJECT_BINARY_DIR}/sluice.pc"
  DESTINATION "${CMAKE_INSTALL_LIBDIR}/pkgconfig")

install(FILES "${PROJECT_SOURCE_DIR}/LICENSE" "${PROJECT_SOURCE_DIR}/README.md"
    "${PROJECT_SOURCE_DIR}/CHANGELOG.md" "${PROJECT_SOURCE_DIR}/CONTRIBUTING.md"
  DESTINATION "${CMAKE_INSTALL_DOCDIR}")
install(DIRECTORY "${PROJECT_SOURCE_DIR}/docs" "${PROJECT_SOURCE_DIR}/design"
  DESTINATION "${CMAKE_INSTALL_DOCDIR}"
  FILES_MATCHING PATTERN "*.md" PATTERN "*.svg")
