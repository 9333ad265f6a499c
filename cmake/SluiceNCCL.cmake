# NCCL, whose kernels are the optional module libsluice_nccl.so. With nvcc, uses
# NCCL of the system or CMAKE_PREFIX_PATH, else the package that ./dev installed
# in build/nccl. With the emulated CUDA, uses the emulation's NCCL. Sets
# SLUICE_NCCL_FOUND, and creates the target sluice_nccl_api.

set(SLUICE_NCCL "AUTO" CACHE STRING "collectives by NCCL: AUTO, ON or OFF")
set_property(CACHE SLUICE_NCCL PROPERTY STRINGS AUTO ON OFF)

set(SLUICE_NCCL_FOUND FALSE)
if(NOT SLUICE_NCCL MATCHES "^(AUTO|ON|OFF)$")
  message(FATAL_ERROR "SLUICE_NCCL=${SLUICE_NCCL}: expected AUTO, ON or OFF")
elseif(SLUICE_NCCL STREQUAL "OFF" OR SLUICE_CUDA_MODE STREQUAL "OFF")
  message(STATUS "Sluice: collectives by NCCL: off")
elseif(SLUICE_CUDA_MODE STREQUAL "EMULATE")
  set(SLUICE_NCCL_FOUND TRUE)
  add_library(sluice_nccl_api INTERFACE)
  target_link_libraries(sluice_nccl_api INTERFACE sluice_cudart)
  message(STATUS "Sluice: collectives by NCCL: emulated on the CPU")
else()
  file(GLOB packages
    "${PROJECT_SOURCE_DIR}/build/nccl/lib/python3*/site-packages/nvidia/nccl")
  # The wheel has only libnccl.so.2, no libnccl.so.
  find_path(SLUICE_NCCL_INCLUDE nccl.h HINTS ${packages} PATH_SUFFIXES include)
  find_library(SLUICE_NCCL_LIBRARY NAMES nccl libnccl.so.2 HINTS ${packages}
    PATH_SUFFIXES lib)
  mark_as_advanced(SLUICE_NCCL_INCLUDE SLUICE_NCCL_LIBRARY)
  if(SLUICE_NCCL_INCLUDE AND SLUICE_NCCL_LIBRARY)
    set(SLUICE_NCCL_FOUND TRUE)
    add_library(sluice_nccl_api INTERFACE)
    target_include_directories(sluice_nccl_api SYSTEM INTERFACE
      "${SLUICE_NCCL_INCLUDE}")
    target_link_libraries(sluice_nccl_api INTERFACE "${SLUICE_NCCL_LIBRARY}")
    message(STATUS
      "Sluice: collectives by NCCL: on (${SLUICE_NCCL_LIBRARY})")
  elseif(SLUICE_NCCL STREQUAL "ON")
    message(FATAL_ERROR "SLUICE_NCCL=ON: no NCCL was found; install "
      "libnccl-dev, or nvidia-nccl-cu13 from PyPI below build/nccl")
  else()
    message(STATUS "Sluice: collectives by NCCL: off: none was found "
      "(./dev build cuda installs it below build/nccl)")
  endif()
endif()
