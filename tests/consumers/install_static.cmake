# Configures the static library and installs it, which builds what is installed.
function(run)
  execute_process(COMMAND ${ARGN} COMMAND_ERROR_IS_FATAL ANY)
endfunction()

run("${CMAKE_COMMAND}" -S "${SOURCE}" -B "${BUILD}" -G "${GENERATOR}"
  "-DCMAKE_CXX_COMPILER=${COMPILER}" -DCMAKE_BUILD_TYPE=Release
  -DCMAKE_UNITY_BUILD=ON -DSLUICE_WERROR=ON -DBUILD_SHARED_LIBS=OFF
  -DSLUICE_BUILD_EXAMPLES=OFF "-DPython_EXECUTABLE=${PYTHON}")
run("${CMAKE_COMMAND}" --install "${BUILD}" --prefix "${PREFIX}")
