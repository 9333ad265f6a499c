# The GPU kit (design/gpu_kit.md): the component gpu_kit of two builds, one with
# emulated CUDA and one by nvcc, installed into one folder:
#
#   bin/       programs that are the same for both
#   lib/       the shared libraries that a bare machine lacks
#   python/    the Python package, for every Python from 3.11 on
#   gpu/       what nvcc's build has of its own: libsluice with its modules,
#   emulated/  programs with CUDA code; and the same of the emulated build
#
# The target of that name builds what is installed. `./dev gpu_kit` calls both.
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
set(libraries sluice sluice_cuda)
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
    sluice-gpu-kit sluice-conformance digits bench_table1
    sluice_operators_test sluice_framework_test sluice_examples_test
    sluice_kernel_outputs)
  install(TARGETS ${programs} RUNTIME_DEPENDENCY_SET gpu_kit
    RUNTIME DESTINATION bin ${component})
  list(APPEND built ${programs})
  install(PROGRAMS tools/gpu_kit/run.sh DESTINATION . ${component})
  install(DIRECTORY examples/ DESTINATION examples ${component}
    FILES_MATCHING PATTERN "*.py" PATTERN "*.npy" PATTERN __pycache__ EXCLUDE)
  install(DIRECTORY benchmarks/ DESTINATION benchmarks ${component}
    FILES_MATCHING PATTERN "*.py" PATTERN __pycache__ EXCLUDE
    PATTERN results EXCLUDE)
  if(TARGET sluice_core_any)
    install(TARGETS sluice_core_any RUNTIME_DEPENDENCY_SET gpu_kit
      LIBRARY DESTINATION python/sluice ${component})
    install(DIRECTORY python/sluice/ DESTINATION python/sluice ${component}
      FILES_MATCHING PATTERN "*.py" PATTERN "*.html" PATTERN "*.css"
      PATTERN "*.js" PATTERN __pycache__ EXCLUDE)
    list(APPEND built sluice_core_any)
  endif()
endif()

# Not what every Linux has, and not what only a machine with a GPU can have:
# the driver, and cuBLAS with its 600 MB.
install(RUNTIME_DEPENDENCY_SET gpu_kit
  PRE_EXCLUDE_REGEXES
    "^ld-linux" "^lib(c|m|dl|rt|pthread|stdc[+][+]|gcc_s|z)[.]so"
    "^lib(cublas|cublasLt|cuda)[.]so" "^libnvidia" "^libsluice"
  POST_EXCLUDE_REGEXES "/libsluice[^/]*$"
  LIBRARY DESTINATION lib ${component})

add_custom_target(gpu_kit DEPENDS ${built})
