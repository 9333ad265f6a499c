# MPI, whose ranks are the optional module libsluice_mpi.so. It uses Open MPI's
# C interface; a module works only with the MPI that it was built with. Sets
# SLUICE_MPI_FOUND.

set(SLUICE_MPI "AUTO" CACHE STRING "collectives by MPI: AUTO, ON or OFF")
set_property(CACHE SLUICE_MPI PROPERTY STRINGS AUTO ON OFF)

set(SLUICE_MPI_FOUND FALSE)
if(SLUICE_MPI STREQUAL "OFF")
  message(STATUS "Sluice: collectives by MPI: off")
elseif(NOT SLUICE_MPI MATCHES "^(AUTO|ON)$")
  message(FATAL_ERROR "SLUICE_MPI=${SLUICE_MPI}: expected AUTO, ON or OFF")
else()
  enable_language(C)
  find_package(MPI COMPONENTS C QUIET)
  if(MPI_C_FOUND)
    set(SLUICE_MPI_FOUND TRUE)
    message(STATUS "Sluice: collectives by MPI: on (${MPI_C_LIBRARIES})")
  elseif(SLUICE_MPI STREQUAL "ON")
    message(FATAL_ERROR "SLUICE_MPI=ON: no MPI was found; install "
      "libopenmpi-dev and openmpi-bin")
  else()
    message(STATUS "Sluice: collectives by MPI: off: none was found (install "
      "libopenmpi-dev and openmpi-bin)")
  endif()
endif()
