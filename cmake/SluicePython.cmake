# Sets SLUICE_PYTHON if the Python package is to be built: requested, or
# possible. First looks at the environment build/venv of ./dev; `pip install`
# has its own interpreter.
set(SLUICE_PYTHON OFF)
if(SLUICE_BUILD_PYTHON STREQUAL "OFF" OR
    (SLUICE_BUILD_PYTHON STREQUAL "AUTO" AND
      (SLUICE_SANITIZE OR NOT PROJECT_IS_TOP_LEVEL)))
  return()
endif()

set(venv_python "${PROJECT_SOURCE_DIR}/build/venv/bin/python")
if(NOT Python_EXECUTABLE AND EXISTS "${venv_python}")
  set(Python_EXECUTABLE "${venv_python}")
endif()
find_package(Python 3.10 QUIET
  COMPONENTS Interpreter Development.Module
  OPTIONAL_COMPONENTS Development.SABIModule)
set(missing "Python with its headers")
if(Python_FOUND)
  execute_process(
    COMMAND "${Python_EXECUTABLE}" -m nanobind --cmake_dir
    OUTPUT_VARIABLE nanobind_ROOT OUTPUT_STRIP_TRAILING_WHITESPACE
    ERROR_QUIET)
  find_package(nanobind 3.1 CONFIG QUIET)
  set(missing "nanobind 3.1 for ${Python_EXECUTABLE}")
endif()
# The environment in which pip builds a wheel also has oneDNN's package.
if(SKBUILD AND nanobind_ROOT MATCHES "^(.*)/lib/python3[^/]*/site-packages/")
  list(APPEND CMAKE_PREFIX_PATH "${CMAKE_MATCH_1}")
endif()
if(nanobind_FOUND)
  set(SLUICE_PYTHON ON)
  message(STATUS "Sluice: Python package: for ${Python_EXECUTABLE}")
elseif(SLUICE_BUILD_PYTHON STREQUAL "AUTO")
  message(STATUS "Sluice: Python package: off (no ${missing})")
else()
  message(FATAL_ERROR "SLUICE_BUILD_PYTHON=${SLUICE_BUILD_PYTHON}: there is no "
    "${missing}")
endif()

# sluice_add_python_sources(FOLDER COMPONENT)
# Adds the files of FOLDER to the package sluice: links in the build tree, so that
# an edit needs no build, and copies in an installation.
function(sluice_add_python_sources sources component)
  set(package "${PROJECT_BINARY_DIR}/python/sluice")
  set(endings .py .pyi py.typed .html .css .js .txt)
  list(TRANSFORM endings PREPEND "*" OUTPUT_VARIABLE patterns)
  list(TRANSFORM patterns PREPEND "${sources}/" OUTPUT_VARIABLE globs)
  file(GLOB_RECURSE files CONFIGURE_DEPENDS RELATIVE "${sources}" ${globs})
  foreach(file IN LISTS files)
    cmake_path(GET file PARENT_PATH folder)
    file(MAKE_DIRECTORY "${package}/${folder}")
    file(CREATE_LINK "${sources}/${file}" "${package}/${file}" SYMBOLIC)
  endforeach()
  list(TRANSFORM patterns PREPEND "PATTERN;")
  install(DIRECTORY "${sources}/" DESTINATION sluice COMPONENT "${component}"
    FILES_MATCHING ${patterns} PATTERN __pycache__ EXCLUDE)
endfunction()
