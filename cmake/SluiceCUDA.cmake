# libsluice_cuda.so is the module with the CUDA devices and kernels: the .cu
# files of the operators, compiled by nvcc (SLUICE_CUDA_MODE is ON) or by the
# host compiler with the emulated CUDA of platform/cuda_emulation (EMULATE).

# Kernels must not spill registers, or use more local memory than the slow paths
# of sin and cos; arrays belong in registers or shared memory.
function(sluice_hold_device_code_to_budget target)
  find_package(Python3 COMPONENTS Interpreter)
  if(NOT Python3_FOUND)
    target_compile_options(${target} PRIVATE
      "$<$<COMPILE_LANGUAGE:CUDA>:SHELL:-Xptxas -warn-spills,-Werror>")
    return()
  endif()
  target_compile_options(${target} PRIVATE
    "$<$<COMPILE_LANGUAGE:CUDA>:SHELL:-Xptxas -v>")
  set(launcher "${Python3_EXECUTABLE}"
    "${PROJECT_SOURCE_DIR}/tools/check_device_code.py")
  if(SLUICE_CCACHE)
    list(APPEND launcher "${SLUICE_CCACHE}")
  endif()
  set_target_properties(${target} PROPERTIES
    CUDA_COMPILER_LAUNCHER "${launcher}")
endfunction()

# sluice_use_cuda(TARGET)
# Gives the .cu files of a target, listed with paths of the calling folder,
# access to CUDA or its emulation. Emulated code need not be fast: -O1 reduces
# the compile time by a third.
function(sluice_use_cuda target)
  get_target_property(sources ${target} SOURCES)
  list(FILTER sources INCLUDE REGEX "[.]cu$")
  if(SLUICE_CUDA_MODE STREQUAL "EMULATE")
    if(sources)
      set_source_files_properties(${sources} PROPERTIES LANGUAGE CXX)
      target_compile_options(${target} PRIVATE -Wno-unknown-pragmas -O1)
    endif()
    target_link_libraries(${target} PRIVATE sluice_cudart)
  else()
    target_include_directories(${target} PRIVATE
      "${PROJECT_SOURCE_DIR}/platform/cuda/native")
    target_link_libraries(${target} PRIVATE CUDA::cudart CUDA::cublas)
    set_target_properties(${target} PROPERTIES
      CUDA_STANDARD 20
      CUDA_RUNTIME_LIBRARY Shared
      CUDA_VISIBILITY_PRESET hidden)
    # fmt 9 assumes that nvcc does not support constexpr.
    target_compile_options(${target} PRIVATE
      "$<$<COMPILE_LANGUAGE:CUDA>:--extended-lambda;--expt-relaxed-constexpr;--fmad=false;-DFMT_USE_CONSTEXPR=1>")
    if(SLUICE_WERROR)
      sluice_hold_device_code_to_budget(${target})
    endif()
  endif()
endfunction()

# sluice_name_architectures(TARGET)
# Defines the architectures of TARGET, which has architecture.cu, for the error
# message about other GPUs.
function(sluice_name_architectures target)
  list(TRANSFORM CMAKE_CUDA_ARCHITECTURES PREPEND "sm_" OUTPUT_VARIABLE names)
  list(JOIN names ", " names)
  set_property(SOURCE "${PROJECT_SOURCE_DIR}/platform/cuda/architecture.cu"
    TARGET_DIRECTORY ${target}
    APPEND PROPERTY COMPILE_DEFINITIONS SLUICE_CUDA_ARCHITECTURES="${names}")
endfunction()

if(NOT SLUICE_CUDA_MODE STREQUAL "OFF")
  file(GLOB cuda_sources CONFIGURE_DEPENDS
    "${PROJECT_SOURCE_DIR}/platform/cuda/*.cc"
    "${PROJECT_SOURCE_DIR}/platform/cuda/*.cu"
    "${PROJECT_SOURCE_DIR}/operators/*/*.cu"
    "${PROJECT_SOURCE_DIR}/operators/math/*/*.cu")
  # Sources of a library module belong to that module.
  get_property(library_modules GLOBAL PROPERTY SLUICE_LIBRARY_MODULES)
  foreach(module IN LISTS library_modules)
    list(FILTER cuda_sources EXCLUDE REGEX "/operators/${module}/")
  endforeach()
  sluice_add_module(cuda EXTRA_INIT SOURCES ${cuda_sources})
  sluice_use_cuda(sluice_cuda)
  sluice_name_architectures(sluice_cuda)
  target_link_libraries(sluice_cuda PRIVATE Eigen3::Eigen)
  if(SLUICE_CUDA_MODE STREQUAL "EMULATE")
    sluice_precompile(sluice_cuda)  # they use -O1, unlike the rooms
    sluice_compile_together(sluice_cuda sluice/)
  endif()
endif()

# sluice_cuda_kernels provides what CUDA kernels in other libraries need: the
# headers, and the functions that Launch calls on the host.
if(NOT SLUICE_CUDA_MODE STREQUAL "OFF")
  add_library(sluice_cuda_kernels STATIC
    platform/cuda/cuda_check.cc platform/cuda/kernel_name.cc)
  add_library(sluice::sluice_cuda_kernels ALIAS sluice_cuda_kernels)
  target_link_libraries(sluice_cuda_kernels PUBLIC sluice)
  target_link_libraries(sluice_cuda_kernels PRIVATE
    $<BUILD_INTERFACE:sluice_build_flags>)
  if(SLUICE_CUDA_MODE STREQUAL "EMULATE")
    target_link_libraries(sluice_cuda_kernels PUBLIC sluice_cuda_emulation)
  else()
    target_include_directories(sluice_cuda_kernels PUBLIC
      "$<BUILD_INTERFACE:${PROJECT_SOURCE_DIR}/platform/cuda/native>"
      "$<INSTALL_INTERFACE:${CMAKE_INSTALL_INCLUDEDIR}/sluice_cuda>")
    target_include_directories(sluice_cuda_kernels PRIVATE
      ${CUDAToolkit_INCLUDE_DIRS})
  endif()
endif()
