# The installation: the library, its headers below include/sluice/<room>, the
# tools, the bundled plug-ins and the package for find_package(sluice). All of it
# is the component `cpp`; the Python package is `python` and `fluid`.
include(CMakePackageConfigHelpers)

set(package_dir "${CMAKE_INSTALL_LIBDIR}/cmake/sluice")

get_property(rooms GLOBAL PROPERTY SLUICE_ROOMS)
get_property(tools GLOBAL PROPERTY SLUICE_TOOLS)
get_property(modules GLOBAL PROPERTY SLUICE_MODULES)
get_property(plugins GLOBAL PROPERTY SLUICE_PLUGINS)
set(targets sluice sluice_lab ${tools} ${modules} ${plugins})
if(TARGET sluice_cuda_kernels)
  list(APPEND targets sluice_cuda_kernels)
endif()
list(REMOVE_DUPLICATES targets)
set(ops_header "${SLUICE_INCLUDE_ROOT}/generated/sluice/ops.h")
add_custom_target(sluice_installed)
add_dependencies(sluice_installed sluice_ops_header ${targets})
list(TRANSFORM targets REPLACE "(.+)" "$<TARGET_FILE:\\1>" OUTPUT_VARIABLE files)
sluice_build_before_install(cpp sluice_installed ${files} "${ops_header}")

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
  install(FILES "${ops_header}"
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

# sluice_install_foreign_headers(FOLDER argument...)
# Installs below FOLDER those of fmt and Boost that ours include. The arguments go
# to install().
function(sluice_install_foreign_headers include)
  set(folders "")
  foreach(target IN ITEMS Boost::headers fmt::fmt)
    list(APPEND folders
      "$<TARGET_PROPERTY:${target},INTERFACE_INCLUDE_DIRECTORIES>")
  endforeach()
  install(CODE "
    set(COMPILER [[${CMAKE_CXX_COMPILER}]])
    set(FOLDERS [[${folders}]])
    set(INCLUDEDIR [[${include}]])" ${ARGN})
  install(SCRIPT "${PROJECT_SOURCE_DIR}/cmake/InstallForeignHeaders.cmake"
    ${ARGN})
endfunction()

install(TARGETS ${tools} EXPORT sluice-targets)
sluice_install_written_headers("${CMAKE_INSTALL_INCLUDEDIR}")
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
install(TARGETS ${plugins}
  LIBRARY DESTINATION "${CMAKE_INSTALL_LIBDIR}/sluice_plugins")

sluice_install_foreign_headers("${CMAKE_INSTALL_INCLUDEDIR}")

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

# For builds without CMake. The prefix is found from the file, so that it can be
# moved; pkg-config knows that a compiler searches /usr itself. The static library
# needs the libraries that the shared one has already linked.
set(pkgconfig_prefix /usr)
if(NOT CMAKE_INSTALL_PREFIX STREQUAL "/usr")
  file(RELATIVE_PATH pkgconfig_prefix
    "/${CMAKE_INSTALL_LIBDIR}/pkgconfig" "/")
  string(PREPEND pkgconfig_prefix "\${pcfiledir}/")
endif()
set(pkgconfig_libraries "")
if(SLUICE_STATIC)
  set(pkgconfig_libraries "-lprotobuf-lite -ldl -pthread")
endif()
foreach(name sluice sluice_lab)
  configure_file("${PROJECT_SOURCE_DIR}/cmake/${name}.pc.in"
    "${PROJECT_BINARY_DIR}/${name}.pc" @ONLY)
  install(FILES "${PROJECT_BINARY_DIR}/${name}.pc"
    DESTINATION "${CMAKE_INSTALL_LIBDIR}/pkgconfig")
endforeach()
configure_file("${PROJECT_SOURCE_DIR}/cmake/sluice-uninstalled.pc.in"
  "${PROJECT_BINARY_DIR}/sluice-uninstalled.pc" @ONLY)

file(GLOB pages CONFIGURE_DEPENDS "${PROJECT_SOURCE_DIR}/*.md")
install(FILES "${PROJECT_SOURCE_DIR}/LICENSE" ${pages}
  DESTINATION "${CMAKE_INSTALL_DOCDIR}")
install(DIRECTORY "${PROJECT_SOURCE_DIR}/licenses"
  DESTINATION "${CMAKE_INSTALL_DOCDIR}" OPTIONAL)
install(DIRECTORY "${PROJECT_SOURCE_DIR}/docs" "${PROJECT_SOURCE_DIR}/design"
  DESTINATION "${CMAKE_INSTALL_DOCDIR}"
  FILES_MATCHING PATTERN "*.md" PATTERN "*.svg")
