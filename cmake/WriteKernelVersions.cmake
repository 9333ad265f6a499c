# cmake -DNAME=name -DSOURCES=FILE -DROOT=FOLDER -DOUTPUT=FILE
#       -P WriteKernelVersions.cmake
# Writes OUTPUT, which defines the array NAME with a version for each source that
# the lines of SOURCES name: a hash of the source and of the files that it
# includes, directly or not. Those are files beside the including one, files of
# "sluice/operators" in the tree ROOT ("": none), and x.cc of each such x.h.

cmake_minimum_required(VERSION 3.25)

# sluice_included(OUT FILE): the existing files that FILE includes.
function(sluice_included out file)
  file(STRINGS "${file}" lines REGEX "^#include \"")
  cmake_path(GET file PARENT_PATH folder)
  set(found "")
  foreach(line IN LISTS lines)
    string(REGEX REPLACE "^#include \"(sluice/)?([^\"]*)\".*" "\\2" path "${line}")
    foreach(candidate IN ITEMS "${folder}/${path}" "${ROOT}/${path}")
      if(EXISTS "${candidate}" AND
          (NOT line MATCHES "\"sluice/" OR line MATCHES "\"sluice/operators/"))
        list(APPEND found "${candidate}")
        string(REGEX REPLACE "[.]h$" ".cc" body "${candidate}")
        if(EXISTS "${body}")
          list(APPEND found "${body}")
        endif()
        break()
      endif()
    endforeach()
  endforeach()
  set(${out} ${found} PARENT_SCOPE)
endfunction()

file(STRINGS "${SOURCES}" sources)
set(lines "")
foreach(source IN LISTS sources)
  set(files "${source}")
  set(next 0)
  list(LENGTH files count)
  while(next LESS count)
    list(GET files ${next} file)
    string(SHA1 key "${file}")
    if(NOT DEFINED included_${key})
      sluice_included(included_${key} "${file}")
      file(SHA1 "${file}" hash_${key})
    endif()
    list(APPEND files ${included_${key}})
    list(REMOVE_DUPLICATES files)
    list(LENGTH files count)
    math(EXPR next "${next} + 1")
  endwhile()
  set(hashes "")
  foreach(file IN LISTS files)
    string(SHA1 key "${file}")
    list(APPEND hashes "${hash_${key}}")
  endforeach()
  list(SORT hashes)
  string(SHA1 version "${hashes}")
  string(SUBSTRING "${version}" 0 12 version)
  cmake_path(GET source FILENAME name)
  string(APPEND lines "    \"${version}\",  // ${name}\n")
endforeach()
file(CONFIGURE OUTPUT "${OUTPUT}" @ONLY CONTENT
"// Written by CMake; do not edit.
extern \"C\" {
extern const char* const @NAME@[];
const char* const @NAME@[] = {
@lines@    nullptr};
}
")
