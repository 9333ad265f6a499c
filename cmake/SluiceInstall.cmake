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
set(file_sets FILE_SET sluice)
foreach(room IN LISTS rooms)
  list(APPEND file_sets FILE_SET "${room}")
endforeach()
install(TARGETS sluice EXPORT sluice-targets
  LIBRARY DESTINATION "${CMAKE_INSTALL_LIBDIR}"
  ${file_sets}
  INCLUDES DESTINATION "${CMAKE_INSTALL_INCLUDEDIR}")

get_property(tools GLOBAL PROPERTY SLUICE_TOOLS)
install(TARGETS ${tools} EXPORT sluice-targets)
install(FILES "${SLUICE_INCLUDE_ROOT}/generated/sluice/ops.h"
  DESTINATION "${CMAKE_INSTALL_INCLUDEDIR}/sluice")
get_property(modules GLOBAL PROPERTY SLUICE_MODULES)
if(modules)
  install(TARGETS ${modules} LIBRARY DESTINATION "${CMAKE_INSTALL_LIBDIR}")
endif()
get_property(plugins GLOBAL PROPERTY SLUICE_PLUGINS)
install(TARGETS ${plugins}
  LIBRARY DESTINATION "${CMAKE_INSTALL_LIBDIR}/sluice_plugins")

install(DIRECTORY "${PROJECT_SOURCE_DIR}/records/"
  DESTINATION "${CMAKE_INSTALL_DATADIR}/sluice/records"
  FILES_MATCHING PATTERN "*.jsonl")

install(EXPORT sluice-targets NAMESPACE sluice:: DESTINATION "${package_dir}")
configure_package_config_file(
  "${PROJECT_SOURCE_DIR}/cmake/sluice-config.cmake.in"
  "${PROJECT_BINARY_DIR}/sluice-config.cmake"
  INSTALL_DESTINATION "${package_dir}")
write_basic_package_version_file(
  "${PROJECT_BINARY_DIR}/sluice-config-version.cmake"
  COMPATIBILITY SameMinorVersion)
install(FILES
  "${PROJECT_BINARY_DIR}/sluice-config.cmake"
  "${PROJECT_BINARY_DIR}/sluice-config-version.cmake"
  "${PROJECT_SOURCE_DIR}/cmake/SluiceRegistration.cmake"
  "${PROJECT_SOURCE_DIR}/cmake/SluiceOperatorLibrary.cmake"
  "${PROJECT_SOURCE_DIR}/cmake/SluiceDevicePlugin.cmake"
  "${PROJECT_SOURCE_DIR}/cmake/device_plugin.map"
  DESTINATION "${package_dir}")
