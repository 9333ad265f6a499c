# cmake -DOUTPUT=file -DVERSION=x -DHEADERS=file -P WriteBuildStamp.cmake
# Writes the header with SLUICE_BUILD_STAMP: the version, and a hash of the
# headers that the file HEADERS lists, one a line. OUTPUT is written only if
# that changes.
file(STRINGS "${HEADERS}" headers)
set(hashes "")
foreach(header IN LISTS headers)
  file(SHA256 "${header}" hash)
  string(APPEND hashes "${hash}\n")
endforeach()
string(SHA256 hash "${hashes}")
string(SUBSTRING "${hash}" 0 12 hash)
file(CONFIGURE OUTPUT "${OUTPUT}" @ONLY CONTENT [=[
#pragma once

// Written by the build: this version of Sluice, and a hash of its headers.
#define SLUICE_BUILD_STAMP "version=@VERSION@ headers=@hash@"
]=])
