# Speeds up compilation: headers are precompiled once for all rooms, and sources
# are compiled together.

# sluice_precompile(TARGET header...)
# Precompiles these headers, like "gtest/gtest.h", and common headers of the
# standard library once for TARGET. Precompiled headers should rarely change,
# because every source depends on them. Sources still include what they use: the
# preset clang compiles each without precompiled headers.
function(sluice_precompile target)
  set(headers
    algorithm array atomic cmath cstdint cstring functional limits map memory
    mutex numeric optional set span string string_view tuple utility variant
    vector fmt/core.h ${ARGN})
  list(TRANSFORM headers REPLACE "(.+)" "<\\1>")
  target_precompile_headers(${target} PRIVATE ${headers})
endfunction()

# sluice_use_precompiled(TARGET)
# Gives TARGET, which must have the flags of the rooms, the precompiled headers
# of the target sluice_precompiled.
function(sluice_use_precompiled target)
  if(NOT TARGET sluice_precompiled)
    set(source "${PROJECT_BINARY_DIR}/generated/precompiled.cc")
    file(CONFIGURE OUTPUT "${source}" CONTENT "// Only headers.\n")
    add_library(sluice_precompiled OBJECT "${source}")
    target_link_libraries(sluice_precompiled PRIVATE
      sluice_build_flags sluice_sanitized)
    sluice_precompile(sluice_precompiled)
  endif()
  target_precompile_headers(${target} REUSE_FROM sluice_precompiled)
  # Deferred, because the CMakeLists.txt may set options of sources.
  cmake_language(EVAL CODE
    "cmake_language(DEFER CALL sluice_leave_out_of_precompiled ${target})")
endfunction()

# sluice_leave_out_of_precompiled(TARGET)
# Disables precompiled headers for sources with `#pragma GCC target`, which
# Highway uses, and for those with their own options. Within the pragma g++ uses
# the options of the precompiled headers for the source: it fused x * y + z in
# spite of -ffp-contract=off.
function(sluice_leave_out_of_precompiled target)
  get_target_property(sources ${target} SOURCES)
  foreach(source IN LISTS sources)
    get_source_file_property(options "${source}" COMPILE_OPTIONS)
    sluice_matches(vectors "${source}" "hwy/foreach_target.h")
    if(options OR vectors)
      set_source_files_properties("${source}" PROPERTIES
        SKIP_PRECOMPILE_HEADERS ON)
    endif()
  endforeach()
endfunction()

# sluice_matches(OUT SOURCE REGEX): whether a line of the file, if it exists,
# matches.
function(sluice_matches out source regex)
  cmake_path(ABSOLUTE_PATH source NORMALIZE)
  set(lines "")
  if(EXISTS "${source}" AND NOT IS_DIRECTORY "${source}")
    file(STRINGS "${source}" lines REGEX "${regex}" LIMIT_COUNT 1)
  endif()
  set(${out} "${lines}" PARENT_SCOPE)
endfunction()

# sluice_write_together(TARGET PREFIX NAME SOURCES)
# Writes a source that includes SOURCES, and appends it to the caller's `alone`.
function(sluice_write_together target prefix name sources)
  list(TRANSFORM sources REPLACE "(.+)" "#include \"${prefix}\\1\"\n")
  string(CONCAT text ${sources})
  set(file "${CMAKE_CURRENT_BINARY_DIR}/together/${target}/${name}.cc")
  file(CONFIGURE OUTPUT "${file}" CONTENT "${text}" @ONLY)
  set(alone ${alone} "${file}" PARENT_SCOPE)
endfunction()

# sluice_compile_together(TARGET PREFIX [FOLDERS_APART])
# If CMAKE_UNITY_BUILD is set, as in the presets, compiles up to eight sources
# of one folder together, and without FOLDERS_APART the last four or fewer of
# each folder likewise, since each alone would spend most of its time on the
# same headers and templates. Therefore, names in anonymous namespaces of a
# folder must be unique, those of small folders in their target. Sources with
# their own options, those that Highway includes once for each instruction set,
# and those with the rows of a table are compiled alone. PREFIX and the path
# below the project form the #include of a source. CMake's own unity builds have
# absolute paths, for which ccache would find nothing in another folder. Call it
# when the target has all its sources.
function(sluice_compile_together target prefix)
  if(NOT SLUICE_UNITY_BUILD)
    return()
  endif()
  get_target_property(sources ${target} SOURCES)
  set(suffix "[.]cc$")
  if(SLUICE_CUDA_MODE STREQUAL "EMULATE")
    set(suffix "[.](cc|cu)$")
  endif()
  set(alone "")
  set(folders "")
  foreach(source IN LISTS sources)
    if(source MATCHES "[$]<")
      list(APPEND alone "${source}")
      continue()
    endif()
    cmake_path(ABSOLUTE_PATH source NORMALIZE)
    cmake_path(RELATIVE_PATH source BASE_DIRECTORY "${PROJECT_SOURCE_DIR}"
      OUTPUT_VARIABLE path)
    sluice_matches(large "${source}" "hwy/foreach_target.h|_rows.inc\"")
    get_source_file_property(options "${source}" COMPILE_OPTIONS)
    get_source_file_property(definitions "${source}" COMPILE_DEFINITIONS)
    if(large OR options OR definitions OR NOT path MATCHES "${suffix}" OR
        path MATCHES "^[.][.]/|^build/|/generated/")
      list(APPEND alone "${source}")
      continue()
    endif()
    cmake_path(GET path PARENT_PATH folder)
    string(MAKE_C_IDENTIFIER "${folder}" folder)
    list(APPEND folders "${folder}")
    list(APPEND sources_${folder} "${path}")
  endforeach()
  list(REMOVE_DUPLICATES folders)
  set(rest "")
  set(few 4)
  if(ARGN STREQUAL "FOLDERS_APART")
    set(few 0)
  endif()
  foreach(folder IN LISTS folders)
    list(SORT sources_${folder})
    list(LENGTH sources_${folder} count)
    set(part 0)
    while(count GREATER few)
      list(SUBLIST sources_${folder} 0 8 together)
      sluice_write_together(${target} "${prefix}" ${folder}_${part} "${together}")
      list(REMOVE_ITEM sources_${folder} ${together})
      list(LENGTH sources_${folder} count)
      math(EXPR part "${part} + 1")
    endwhile()
    list(APPEND rest ${sources_${folder}})
  endforeach()
  set(part 0)
  while(rest)
    list(SUBLIST rest 0 8 together)
    sluice_write_together(${target} "${prefix}" rest_${part} "${together}")
    list(REMOVE_ITEM rest ${together})
    math(EXPR part "${part} + 1")
  endwhile()
  set_property(TARGET ${target} PROPERTY SOURCES ${alone})
  # It mistakes an included source for a header that others include, too.
  if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
    target_compile_options(${target} PRIVATE -Wno-subobject-linkage)
  endif()
endfunction()
