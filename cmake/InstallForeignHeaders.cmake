# Run by the installation, after COMPILER, FOLDERS (include folders of fmt and
# Boost) and INCLUDEDIR (ours) were set: installs the headers of others that those
# of Sluice include, so that users need no more packages. fmt/core.h goes below
# INCLUDEDIR/sluice_fmt, as kernels must be compiled with the library's fmt, and
# what boost::variant takes below INCLUDEDIR/sluice_boost.
list(TRANSFORM FOLDERS PREPEND "-I")
set(files "")
# Boost takes other headers without run-time types, and those also with clang.
foreach(option IN ITEMS -frtti -fno-rtti)
  execute_process(
    COMMAND "${COMPILER}" -std=c++20 ${option} ${FOLDERS}
      -include fmt/core.h -include boost/variant.hpp -M -x c++ /dev/null
    OUTPUT_VARIABLE list COMMAND_ERROR_IS_FATAL ANY)
  string(REGEX MATCHALL "[^ \n]+/(boost|fmt)/[^ \n]+" list "${list}")
  list(APPEND files ${list})
endforeach()
set(compilers "${files}")
list(FILTER compilers INCLUDE REGEX "/boost/config/compiler/")
list(TRANSFORM compilers REPLACE "[^/]+$" "gcc.hpp" OUTPUT_VARIABLE gcc)
list(TRANSFORM compilers REPLACE "[^/]+$" "clang.hpp" OUTPUT_VARIABLE clang)
list(APPEND files ${gcc} ${clang})
list(REMOVE_DUPLICATES files)
foreach(file IN LISTS files)
  string(REGEX REPLACE "^.*/((boost|fmt)(/.*)?)/[^/]+$" "sluice_\\2/\\1" folder
    "${file}")
  file(INSTALL DESTINATION "${CMAKE_INSTALL_PREFIX}/${INCLUDEDIR}/${folder}"
    TYPE FILE MESSAGE_NEVER FILES "${file}")
endforeach()
