# The components of Sluice and their targets, for its own build and
# find_package(sluice COMPONENTS ...):
#
#   core    the runtime, always built
#   cuda    CUDA devices and kernels, and what kernels of your own need
#   lab     the library that measures, tunes and compares, and sluice-lab
#   mpi     ranks that an MPI launcher started
#   onnx    LoadOnnx and SaveOnnx
#   python  the Python package
#
# and one for each library of kernels, such as eigen; those are in the global
# property SLUICE_LIBRARY_MODULES. The components that were built are in
# SLUICE_COMPONENTS.
function(_sluice_list_all_components out)
  get_property(modules GLOBAL PROPERTY SLUICE_LIBRARY_MODULES)
  set(all core cuda lab mpi onnx python ${modules})
  list(SORT all)
  set(${out} ${all} PARENT_SCOPE)
endfunction()

# sluice_list_components(OUT)
# Collects and prints the components of this build. Call it once, after all
# libraries exist.
function(sluice_list_components out)
  _sluice_list_all_components(all)
  set(built "")
  foreach(component IN LISTS all)
    if(component STREQUAL "core"
        OR (component STREQUAL "onnx" AND SLUICE_ONNX_PROTO)
        OR (component STREQUAL "python" AND SLUICE_PYTHON)
        OR (NOT component MATCHES "^(onnx|python)$"
          AND TARGET sluice_${component}))
      list(APPEND built ${component})
    endif()
  endforeach()
  set_property(GLOBAL PROPERTY SLUICE_COMPONENTS ${built})
  set(${out} ${built} PARENT_SCOPE)
  list(REMOVE_ITEM all ${built})
  list(JOIN built ", " built)
  list(JOIN all ", " all)
  if(all STREQUAL "")
    set(all nothing)
  endif()
  message(STATUS "Sluice: built with ${built}; without: ${all}")
endfunction()

# _sluice_near_component(OUT NAME)
# Returns ", did you mean onnx?" for a name that differs in case, in one letter,
# or by a prefix or suffix; else the list of all components.
function(_sluice_near_component out name)
  string(TOLOWER "${name}" name)
  _sluice_list_all_components(all)
  list(JOIN all ", " names)
  set(${out} " (there are ${names})" PARENT_SCOPE)
  foreach(known IN LISTS all)
    string(LENGTH "${known}" length)
    set(near "${known}")
    foreach(at RANGE 1 ${length})
      math(EXPR before "${at} - 1")
      string(SUBSTRING "${known}" 0 ${before} start)
      string(SUBSTRING "${known}" ${at} -1 end)
      string(APPEND near "|^${start}.?.?${end}$")
    endforeach()
    if(name MATCHES "${near}")
      set(${out} ", did you mean ${known}?" PARENT_SCOPE)
    endif()
  endforeach()
endfunction()

# sluice_component_problem(OUT COMPONENT)
# Returns why the component is missing; "" if it exists.
function(sluice_component_problem out component)
  set(needs_cuda "SLUICE_CUDA=ON or EMULATE, and libsluice.so")
  set(needs_mpi "SLUICE_MPI=ON, and libsluice.so")
  set(needs_nccl "SLUICE_NCCL=ON, CUDA, and libsluice.so")
  set(needs_onednn "SLUICE_ONEDNN=ON, and libsluice.so")
  set(needs_onnx "onnx/onnx.proto of the package onnx 1.23")
  set(needs_python "SLUICE_BUILD_PYTHON=ON, and libsluice.so")
  get_property(built GLOBAL PROPERTY SLUICE_COMPONENTS)
  list(JOIN built ", " names)
  _sluice_list_all_components(all)
  if(NOT DEFINED "needs_${component}")  # a library of kernels
    set("needs_${component}" "its library, and libsluice.so")
  endif()
  set(problem "")
  if(NOT component IN_LIST all)
    _sluice_near_component(near "${component}")
    set(problem "Sluice has no component \"${component}\"${near}; this one was \
built with ${names}")
  elseif(NOT component IN_LIST built)
    set(problem "this Sluice was built with ${names}; component \
\"${component}\" needs ${needs_${component}}")
  endif()
  set(${out} "${problem}" PARENT_SCOPE)
endfunction()

# sluice_map_components_to_targets(OUT component...)
# Returns the arguments for target_link_libraries.
function(sluice_map_components_to_targets out)
  set(targets sluice::sluice)
  foreach(component IN LISTS ARGN)
    sluice_component_problem(problem "${component}")
    if(problem)
      message(FATAL_ERROR "${problem}")
    endif()
    if(component STREQUAL "cuda")
      list(APPEND targets sluice::sluice_cuda_kernels)
    elseif(component STREQUAL "lab")
      list(APPEND targets sluice::sluice_lab)
    endif()
  endforeach()
  set(${out} ${targets} PARENT_SCOPE)
endfunction()

# sluice_add_executable(NAME source... [COMPONENTS component...])
# Adds a program that uses Sluice.
function(sluice_add_executable name)
  cmake_parse_arguments(arg "" "" "COMPONENTS" ${ARGN})
  if(NOT arg_UNPARSED_ARGUMENTS)
    message(FATAL_ERROR "sluice_add_executable(${name}): no sources")
  endif()
  sluice_map_components_to_targets(targets ${arg_COMPONENTS})
  add_executable(${name} ${arg_UNPARSED_ARGUMENTS})
  target_link_libraries(${name} PRIVATE ${targets})
endfunction()
