# oneDNN, whose kernels are the optional module libsluice_onednn.so. Its API
# changed with 3.0, and the kernels need 3.1. Uses oneDNN of the system or
# CMAKE_PREFIX_PATH, else the packages that ./dev installed in build/onednn.
# Sets SLUICE_ONEDNN_FOUND.

set(SLUICE_ONEDNN "AUTO" CACHE STRING "oneDNN kernels: AUTO, ON or OFF")
set_property(CACHE SLUICE_ONEDNN PROPERTY STRINGS AUTO ON OFF)

# Creates the target DNNL::dnnl. Sets OUT to "", or to the reason for failure.
function(sluice_find_onednn out)
  set(reasons "")
  foreach(where "" "HINTS;${PROJECT_SOURCE_DIR}/build/onednn;NO_DEFAULT_PATH")
    unset(dnnl_DIR CACHE)
    find_package(dnnl 3.1 CONFIG QUIET GLOBAL ${where})
    if(dnnl_FOUND AND NOT DNNL_CPU_RUNTIME STREQUAL "OMP")
      string(CONCAT reason "${dnnl_DIR} has the CPU runtime "
        "${DNNL_CPU_RUNTIME}, Sluice shares its threads with OMP")
      list(APPEND reasons "${reason}")
      break()
    elseif(dnnl_FOUND)
      set(${out} "" PARENT_SCOPE)
      set(dnnl_VERSION "${dnnl_VERSION}" PARENT_SCOPE)
      return()
    endif()
    foreach(config version IN ZIP_LISTS
        dnnl_CONSIDERED_CONFIGS dnnl_CONSIDERED_VERSIONS)
      string(CONCAT reason "${config} is ${version}, the kernels are written "
        "for the API of 3.1 and newer")
      list(APPEND reasons "${reason}")
    endforeach()
  endforeach()
  if(NOT reasons)
    set(reasons "not found (./dev setup installs it below build/onednn)")
  endif()
  list(JOIN reasons "; " reasons)
  set(${out} "${reasons}" PARENT_SCOPE)
endfunction()

set(SLUICE_ONEDNN_FOUND FALSE)
if(SLUICE_SANITIZE MATCHES "thread")
  # The thread sanitizer supports neither libgomp nor generated code.
  message(STATUS "Sluice: oneDNN kernels: off under the thread sanitizer")
elseif(SLUICE_ONEDNN STREQUAL "OFF")
  message(STATUS "Sluice: oneDNN kernels: off")
elseif(NOT SLUICE_ONEDNN MATCHES "^(AUTO|ON)$")
  message(FATAL_ERROR "SLUICE_ONEDNN=${SLUICE_ONEDNN}: expected AUTO, ON or "
    "OFF")
else()
  sluice_find_onednn(problem)
  if(problem STREQUAL "")
    set(SLUICE_ONEDNN_FOUND TRUE)
    message(STATUS "Sluice: oneDNN kernels: on (${dnnl_VERSION}, ${dnnl_DIR})")
  elseif(SLUICE_ONEDNN STREQUAL "ON")
    message(FATAL_ERROR "SLUICE_ONEDNN=ON: ${problem}")
  else()
    message(STATUS "Sluice: oneDNN kernels: off: ${problem}")
  endif()
endif()
