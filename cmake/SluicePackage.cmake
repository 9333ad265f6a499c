# The Debian package of the C++ side, sluice_VERSION_ARCHITECTURE.deb:
#
#   cmake --preset deb && cmake --build --preset deb
#   cpack --config build/deb/CPackConfig.cmake
#
# or ./dev package deb.
#
# Built on Debian 12 it is for 12 and 13 (design/build.md).
set(CPACK_GENERATOR DEB)
set(CPACK_PACKAGE_NAME sluice)
set(CPACK_PACKAGE_VENDOR "The Sluice authors")
set(CPACK_PACKAGE_CONTACT "The Sluice authors <sluice@localhost>")
set(CPACK_PACKAGE_DESCRIPTION "Library, headers and tools for programs in C++20:
find_package(sluice), or g++ main.cc $(pkg-config --cflags --libs sluice).
For every operator it explains which kernel computes it, and why.")
set(CPACK_PACKAGE_DIRECTORY "${CMAKE_BINARY_DIR}")
set(CPACK_PACKAGING_INSTALL_PREFIX /usr)
set(CPACK_INSTALL_CMAKE_PROJECTS "${CMAKE_BINARY_DIR};sluice;cpp;/")

set(CPACK_DEBIAN_FILE_NAME DEB-DEFAULT)
set(CPACK_DEBIAN_COMPRESSION_TYPE xz)
set(CPACK_DEBIAN_PACKAGE_SECTION libdevel)
# The libraries that its files name. Packed relocations are no symbol of glibc.
set(CPACK_DEBIAN_PACKAGE_SHLIBDEPS ON)
set(CPACK_DEBIAN_PACKAGE_DEPENDS "libc6 (>= 2.36)")
set(CPACK_DEBIAN_PACKAGE_RECOMMENDS "g++ (>= 4:12) | clang, pkg-config")
set(CPACK_DEBIAN_PACKAGE_SUGGESTS "cmake (>= 3.25)")

# Debian's name for the page about licences.
install(FILES "${PROJECT_SOURCE_DIR}/cmake/copyright"
  DESTINATION "${CMAKE_INSTALL_DOCDIR}")

# What was built must not depend on the machine. The examples of ops, for checks
# of kernels, are there where a Python with NumPy was.
set(expected core cuda eigen lab nccl onednn onnx re2 examples)
set(built ${components})
list(REMOVE_ITEM built python)
if(SLUICE_HAS_EXAMPLES)
  list(APPEND built examples)
endif()
if(NOT built STREQUAL expected OR NOT CMAKE_INSTALL_PREFIX STREQUAL "/usr")
  list(JOIN built ", " built)
  list(JOIN expected ", " expected)
  set(CPACK_PROJECT_CONFIG_FILE "${PROJECT_BINARY_DIR}/no_package.cmake")
  file(CONFIGURE OUTPUT "${CPACK_PROJECT_CONFIG_FILE}" @ONLY CONTENT [=[
message(FATAL_ERROR "cpack: @CMAKE_BINARY_DIR@ is for @CMAKE_INSTALL_PREFIX@ "
  "and has @built@. A package is for /usr and has @expected@ (by a Python with "
  "NumPy): cmake --preset deb && cmake --build --preset deb")
]=])
endif()
include(CPack)
