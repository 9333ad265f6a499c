# The GPU kit (design/cuda.md): the component gpu_kit of two builds, one with
# emulated CUDA and one by nvcc, installed into one folder:
#
#   bin/       programs common to both builds
#   lib/       the shared libraries that a bare machine lacks
#   python/    the Python package, for every Python from 3.11 on
#   gpu/       only in nvcc's build: libsluice with its modules,
#   emulated/  programs with CUDA code; and likewise for emulation
#
# The target gpu_kit builds the installed files. `./dev gpu_kit` calls both.
if(SLUICE_CUDA_MODE STREQUAL "OFF" OR NOT SLUICE_BUILD_TESTS OR
    NOT SLUICE_BUILD_BENCHMARKS OR NOT SLUICE_BUILD_EXAMPLES)
  return()
endif()

set(component COMPONENT gpu_kit EXCLUDE_FROM_ALL)
set(folder gpu)
if(SLUICE_CUDA_MODE STREQUAL "EMULATE")
  set(folder emulated)
endif()

get_property(plugins GLOBAL PROPERTY SLUICE_PLUGINS)
set(libraries sluice sluice_lab sluice_cuda)
if(TARGET sluice_cuda_emulation)
  list(APPEND libraries sluice_cuda_emulation)
endif()
set(programs
  sluice_cuda_test sluice_cuda_endurance_test bench_cuda_kernels)

install(TARGETS ${libraries} RUNTIME_DEPENDENCY_SET gpu_kit
  LIBRARY DESTINATION ${folder}/lib NAMELINK_SKIP ${component})
install(TARGETS ${plugins}
  LIBRARY DESTINATION ${folder}/lib/sluice_plugins ${component})
install(TARGETS ${programs} RUNTIME_DEPENDENCY_SET gpu_kit
  RUNTIME DESTINATION ${folder}/bin ${component})
set(built ${libraries} ${plugins} ${programs})

if(SLUICE_CUDA_MODE STREQUAL "EMULATE")
  set(programs
    sluice-gpu-probe sluice-conformance digits bench_table1
    sluice_operators_test sluice_framework_test sluice_examples_test
    sluice_laboratory_measure_test
    sluice_kernel_outputs)
  install(TARGETS ${programs} RUNTIME_DEPENDENCY_SET gpu_kit
    RUNTIME DESTINATION bin ${component})
  list(APPEND built ${programs})
  install(PROGRAMS tools/gpu_kit/run.sh DESTINATION . ${component})
  install(DIRECTORY tools/gpu_kit/ DESTINATION gpu_kit ${component}
    FILES_MATCHING PATTERN "*.py" PATTERN __pycache__ EXCLUDE)
  install(DIRECTORY examples/ DESTINATION examples ${component}
    FILES_MATCHING PATTERN "*.py" PATTERN "*.npy" PATTERN __pycache__ EXCLUDE)
  install(DIRECTORY tests/operators/cases/ DESTINATION cases ${component}
    FILES_MATCHING PATTERN "*.py" PATTERN __pycache__ EXCLUDE)
  install(DIRECTORY benchmarks/ DESTINATION benchmarks ${component}
    FILES_MATCHING PATTERN "*.py" PATTERN __pycache__ EXCLUDE
    PATTERN results EXCLUDE)
  if(TARGET sluice_core_any)
    install(TARGETS sluice_core_any sluice_lab_bindings_any
      RUNTIME_DEPENDENCY_SET gpu_kit
      LIBRARY DESTINATION python/sluice ${component})
    install(DIRECTORY python/sluice/ DESTINATION python/sluice ${component}
      FILES_MATCHING PATTERN "*.py" PATTERN "*.html" PATTERN "*.css"
      PATTERN "*.js" PATTERN __pycache__ EXCLUDE)
    list(APPEND built sluice_core_any sluice_lab_bindings_any)
  endif()
endif()

# Excludes libraries that every Linux has, and those that only GPU machines
# have: the driver, and cuBLAS with its 600 MB.
install(RUNTIME_DEPENDENCY_SET gpu_kit
  PRE_EXCLUDE_REGEXES
    "^ld-linux" "^lib(c|m|dl|rt|pthread|stdc[+][+]|gcc_s|z)[.]so"
    "^lib(cublas|cublasLt|cuda)[.]so" "^libnvidia" "^libsluice"
  POST_EXCLUDE_REGEXES "/libsluice[^/]*$"
  LIBRARY DESTINATION lib ${component})

add_custom_target(gpu_kit DEPENDS ${built})
