# Builds a project that contains Sluice, in both ways, and runs its programs. The
# folder of Sluice's objects is the same, so they are compiled once; without
# optimization, that takes a third of the time.
function(run)
  execute_process(COMMAND ${ARGN} COMMAND_ERROR_IS_FATAL ANY)
endfunction()

foreach(by FetchContent add_subdirectory)
  run("${CMAKE_COMMAND}" -S "${SOURCE}/tests/consumers/subproject" -B "${BUILD}"
    -G "${GENERATOR}" "-DBY=${by}" "-DSLUICE_SOURCE=${SOURCE}"
    "-DCMAKE_CXX_COMPILER=${COMPILER}" -DCMAKE_BUILD_TYPE=Plain
    -DCMAKE_UNITY_BUILD=ON -DSLUICE_CUDA=OFF -DSLUICE_ONEDNN=OFF
    -DSLUICE_MPI=OFF -DSLUICE_OPENBLAS_LIBRARY=OFF
    -DSLUICE_RE2_LIBRARY=OFF)
  run("${CMAKE_COMMAND}" --build "${BUILD}")
  run("${BUILD}/helper" ON)
  run("${BUILD}/main" ON)
  run("${BUILD}/lab" "${BUILD}/libfast_relu.so")
endforeach()
