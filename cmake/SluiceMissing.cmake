# sluice_report_missing(NAMES PACKAGES)
# Fails if NAMES, a list, is not empty, with the line that installs PACKAGES, a
# list, on Debian.
function(sluice_report_missing names packages)
  if(NOT names)
    return()
  endif()
  list(JOIN names ", " names)
  list(JOIN packages " " packages)
  message(FATAL_ERROR "Sluice needs, and cannot find: ${names}. On Debian 12 "
    "and 13, and Ubuntu 24.04 and newer, as root:\n"
    "  apt-get install ${packages}\n"
    "Elsewhere install the same; CMAKE_PREFIX_PATH names more folders to "
    "search.")
endfunction()

# Without a compiler CMake would stop before the libraries are looked for.
if(NOT CMAKE_CXX_COMPILER AND NOT CMAKE_TOOLCHAIN_FILE
    AND NOT DEFINED ENV{CXX})
  find_program(SLUICE_ANY_COMPILER NAMES c++ g++ clang++)
  mark_as_advanced(SLUICE_ANY_COMPILER)
  if(NOT SLUICE_ANY_COMPILER)
    sluice_report_missing("a C++20 compiler, and then libraries"
      "g++;libboost-dev;libboost-context-dev;libeigen3-dev;libfmt-dev;\
libhwy-dev;nlohmann-json3-dev;libcli11-dev;protobuf-compiler;libprotobuf-dev;\
python3-dev")
  endif()
endif()
