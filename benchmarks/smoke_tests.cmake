# Tests smoke.bench_<name> run every benchmark with --smoke, without peers.
# Their output is in smoke/ of the build folder.
set(folder "${CMAKE_CURRENT_BINARY_DIR}/smoke")
file(MAKE_DIRECTORY "${folder}")
set(smoke_environment
  "TMPDIR=${folder}"
  "PYTHONPATH=${PROJECT_BINARY_DIR}/python"
  "PYTHONDONTWRITEBYTECODE=1"
  "SLUICE_RECORDS=off"
  "OMP_WAIT_POLICY=passive"
  "OMPI_ALLOW_RUN_AS_ROOT=1"
  "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1"
  "OMPI_MCA_btl_vader_single_copy_mechanism=none")

# add_smoke_test(NAME command...)
function(add_smoke_test name)
  add_test(NAME smoke.${name} COMMAND ${ARGN}
    WORKING_DIRECTORY "${folder}")
  set_tests_properties(smoke.${name} PROPERTIES
    LABELS "quick" TIMEOUT 120 ENVIRONMENT "${smoke_environment}")
endfunction()

foreach(name dispatch embedding lab manhattan onednn startup table1)
  if(TARGET bench_${name})
    add_smoke_test(bench_${name}
      bench_${name} --smoke --json "${folder}/${name}.json")
  endif()
endforeach()
add_test(NAME smoke.bench_names COMMAND "${PROJECT_SOURCE_DIR}/dev" bench)
set_tests_properties(smoke.bench_names PROPERTIES LABELS "quick" TIMEOUT 60
  PASS_REGULAR_EXPRESSION "the benchmarks are busy cuda .*table1 text train\n")
add_smoke_test(bench_regret
  bench_regret --smoke --csv "${folder}/regret.csv")
# It accepts only a new file.
add_smoke_test(bench_records
  sh -c [[rm -f "$1" && exec "$0" --smoke --output "$1"]]
  $<TARGET_FILE:bench_records> "${folder}/records.jsonl")
if(TARGET bench_onednn)
  # It always measures oneDNN, even if other tests run without it.
  set_tests_properties(smoke.bench_onednn PROPERTIES
    ENVIRONMENT_MODIFICATION "SLUICE_ENABLE_ONEDNN=unset:")
endif()
if(TARGET bench_allreduce)
  add_smoke_test(bench_allreduce
    "${MPIEXEC_EXECUTABLE}" ${MPIEXEC_NUMPROC_FLAG} 2 --oversubscribe
    $<TARGET_FILE:bench_allreduce> 0 1724320 --smoke)
  set_tests_properties(smoke.bench_allreduce PROPERTIES PROCESSORS 2)
endif()

# add_python_smoke_test(NAME option...): bench_NAME.py
function(add_python_smoke_test name)
  add_smoke_test(bench_${name} "${Python_EXECUTABLE}"
    "${CMAKE_CURRENT_SOURCE_DIR}/bench_${name}.py"
    --smoke --json "${folder}/${name}.json" ${ARGN})
endfunction()

if(NOT SLUICE_PYTHON)
  return()
endif()
# As ./dev bench NAME --peers runs the programs.
add_smoke_test(bench_report "${Python_EXECUTABLE}"
  "${CMAKE_CURRENT_SOURCE_DIR}/bench_report.py" $<TARGET_FILE:bench_embedding>
  --smoke --json "${folder}/report.json")
add_python_smoke_test(python_overhead)
add_python_smoke_test(fluid --threads 1)
add_python_smoke_test(saved_models --threads 1)
add_python_smoke_test(train)
if(SLUICE_ONNX_PROTO)
  add_python_smoke_test(busy --only-model squeezenet)
  add_python_smoke_test(models)
  add_python_smoke_test(elementwise)
  add_python_smoke_test(sweep)
  add_python_smoke_test(text)
endif()
if(SLUICE_CUDA_MODE STREQUAL "EMULATE")
  add_python_smoke_test(cuda --program $<TARGET_FILE:bench_cuda_kernels>)
endif()
if(TARGET bench_allreduce)
  add_python_smoke_test(distributed --program $<TARGET_FILE:bench_allreduce>)
  set_tests_properties(smoke.bench_distributed PROPERTIES PROCESSORS 2)
endif()
