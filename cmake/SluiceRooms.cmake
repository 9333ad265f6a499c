# A room is a source folder with its own include root, build/include/<room>, in
# which sluice/<room> is a link to the folder. A room is compiled with its own
# root and those of the rooms that it may use, so an include of a higher room
# does not compile.

set(SLUICE_INCLUDE_ROOT "${PROJECT_BINARY_DIR}/include")

# sluice_add_room(NAME [APART] [USES room...] [FOLDERS folder...] [PATH path])
# Compiles every .cc of the current folder and of its FOLDERS into the object
# library sluice_NAME. PATH is the folder below sluice/ when it is not NAME. A
# room APART is not in libsluice.so.
function(sluice_add_room name)
  cmake_parse_arguments(arg "APART" "PATH" "USES;FOLDERS" ${ARGN})
  if(NOT arg_PATH)
    set(arg_PATH "${name}")
  endif()
  set(link "${SLUICE_INCLUDE_ROOT}/${name}/sluice/${arg_PATH}")
  cmake_path(GET link PARENT_PATH parent)
  file(MAKE_DIRECTORY "${parent}")
  file(CREATE_LINK "${CMAKE_CURRENT_SOURCE_DIR}" "${link}" SYMBOLIC)

  file(GLOB sources CONFIGURE_DEPENDS "${CMAKE_CURRENT_SOURCE_DIR}/*.cc")
  file(GLOB headers CONFIGURE_DEPENDS "${link}/*.h")
  foreach(folder IN LISTS arg_FOLDERS)
    file(GLOB more CONFIGURE_DEPENDS
      "${CMAKE_CURRENT_SOURCE_DIR}/${folder}/*.cc")
    list(APPEND sources ${more})
    file(GLOB more CONFIGURE_DEPENDS "${link}/${folder}/*.h")
    list(APPEND headers ${more})
  endforeach()
  add_library(sluice_${name} OBJECT ${sources})
  target_link_libraries(sluice_${name} PRIVATE sluice_build_flags)
  if(SLUICE_SANITIZE MATCHES "thread" AND name MATCHES "^(operators|onnx)")
    target_compile_options(sluice_${name} PRIVATE -O0)
  else()
    target_link_libraries(sluice_${name} PRIVATE sluice_sanitized)
    sluice_use_precompiled(sluice_${name})
  endif()
  # It triples g++'s compile time for vectors in long inlined loops.
  if(SLUICE_SANITIZE MATCHES "address" AND name MATCHES "^operators")
    target_compile_options(sluice_${name} PRIVATE
      -fno-sanitize-address-use-after-scope)
    # Before 13.3 its frames for detect_stack_use_after_return are not aligned
    # for vectors of AVX-512 (GCC bug 110027).
    if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
      target_compile_options(sluice_${name} PRIVATE
        --param=asan-use-after-return=0)
    endif()
  endif()
  set_target_properties(sluice_${name} PROPERTIES LINKER_LANGUAGE CXX)
  set(roots "${SLUICE_INCLUDE_ROOT}/${name}")
  foreach(room IN LISTS arg_USES)
    list(APPEND roots "${SLUICE_INCLUDE_ROOT}/${room}")
  endforeach()
  target_include_directories(sluice_${name} PRIVATE ${roots})
  # Deferred, because the room's CMakeLists.txt may add sources.
  cmake_language(EVAL CODE
    "cmake_language(DEFER CALL sluice_compile_together sluice_${name} sluice/)")

  if(NOT arg_APART)
    set_property(GLOBAL APPEND PROPERTY SLUICE_ROOMS "${name}")
  endif()
  set_property(GLOBAL PROPERTY "SLUICE_ROOM_HEADERS_${name}" "${headers}")
endfunction()

# sluice_add_text(TARGET FUNCTION FILE)
# Adds `std::string_view sluice::FUNCTION()` to TARGET, which returns the text
# of FILE.
function(sluice_add_text target function file)
  set(source "${PROJECT_BINARY_DIR}/generated/${function}.cc")
  set(write_text "${PROJECT_SOURCE_DIR}/cmake/WriteText.cmake")
  add_custom_command(
    OUTPUT "${source}"
    COMMAND ${CMAKE_COMMAND} "-DINPUT=${file}" "-DOUTPUT=${source}"
      "-DFUNCTION=${function}" -P "${write_text}"
    DEPENDS "${file}" "${write_text}"
    VERBATIM)
  target_sources(${target} PRIVATE "${source}")
endfunction()

# sluice_subfolders(OUT [EXCEPT name...])
# Returns the names of the current source folder's subfolders, in order.
function(sluice_subfolders out)
  cmake_parse_arguments(arg "" "" "EXCEPT" ${ARGN})
  file(GLOB entries CONFIGURE_DEPENDS LIST_DIRECTORIES true
    RELATIVE "${CMAKE_CURRENT_SOURCE_DIR}" "${CMAKE_CURRENT_SOURCE_DIR}/*")
  set(folders "")
  foreach(entry IN LISTS entries)
    if(IS_DIRECTORY "${CMAKE_CURRENT_SOURCE_DIR}/${entry}"
        AND NOT entry IN_LIST arg_EXCEPT)
      list(APPEND folders "${entry}")
    endif()
  endforeach()
  set(${out} ${folders} PARENT_SCOPE)
endfunction()

# sluice_build_before_install(COMPONENT TARGET file...)
# `cmake --install` builds TARGET first if one of the files, which it makes, is
# missing, e.g. after a demo. Call it before the rules that install them.
function(sluice_build_before_install component target)
  find_program(SLUICE_FLOCK flock)  # ./dev holds this lock while it builds
  mark_as_advanced(SLUICE_FLOCK)
  set(lock "")
  if(SLUICE_FLOCK)
    set(lock "\"${SLUICE_FLOCK}\" \"${CMAKE_BINARY_DIR}/building\"")
  endif()
  install(CODE "
    set(files [[${ARGN}]])
    foreach(file IN LISTS files)
      if(NOT EXISTS \"\${file}\")
        message(STATUS \"Building ${target}: there is no \${file}\")
        execute_process(COMMAND ${lock} \"${CMAKE_COMMAND}\"
          --build \"${CMAKE_BINARY_DIR}\" --target ${target}
          COMMAND_ERROR_IS_FATAL ANY)
        break()
      endif()
    endforeach()"
    COMPONENT ${component})
endfunction()

# sluice_add_bundled_plugin(NAME SOURCES source...)
# Adds a device plug-in that is built, installed and found with the library.
function(sluice_add_bundled_plugin name)
  sluice_add_device_plugin(${name} ${ARGN})
  target_link_libraries(${name} PRIVATE sluice_build_flags sluice_sanitized)
  set_target_properties(${name} PROPERTIES
    LIBRARY_OUTPUT_DIRECTORY "${CMAKE_LIBRARY_OUTPUT_DIRECTORY}/sluice_plugins")
  set_property(GLOBAL APPEND PROPERTY SLUICE_PLUGINS "${name}")
endfunction()
