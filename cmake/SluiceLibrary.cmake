# libsluice.so contains all rooms, because the registries must exist once in a
# process. Tests, tools and users link only this library. With
# BUILD_SHARED_LIBS=OFF it is libsluice.a, whose registries are the program's.
# The linker drops nothing: RegisterBuiltins calls all registrations.

get_property(rooms GLOBAL PROPERTY SLUICE_ROOMS)
set(library_type SHARED)
if(SLUICE_STATIC)
  set(library_type STATIC)
endif()
add_library(sluice ${library_type})
set_target_properties(sluice PROPERTIES
  LINKER_LANGUAGE CXX
  VERSION "${PROJECT_VERSION}"
  SOVERSION "${PROJECT_VERSION_MAJOR}")
target_compile_features(sluice PUBLIC cxx_std_20)
target_link_libraries(sluice
  PUBLIC $<BUILD_INTERFACE:Boost::headers> Threads::Threads
  PRIVATE $<BUILD_INTERFACE:sluice_build_flags>
    protobuf::libprotobuf-lite ${CMAKE_DL_LIBS})
# Installed headers find fmt and Boost in these folders where the machine has
# none (cmake/InstallForeignHeaders.cmake).
foreach(folder sluice_fmt sluice_boost)
  set(folder "$<INSTALL_PREFIX>/${CMAKE_INSTALL_INCLUDEDIR}/${folder}")
  target_compile_options(sluice INTERFACE
    "$<INSTALL_INTERFACE:$<$<COMPILE_LANGUAGE:CUDA>:-Xcompiler=>-idirafter${folder}>")
endforeach()
target_link_options(sluice PRIVATE
  -Wl,--no-undefined -Wl,--as-needed -Wl,--exclude-libs,ALL
  -Wl,-Bsymbolic-functions)
# 8 bytes a relocation become 8 bytes for up to 63; needs binutils 2.38.
include(CheckLinkerFlag)
check_linker_flag(CXX -Wl,-z,pack-relative-relocs SLUICE_PACKS_RELOCATIONS)
if(SLUICE_PACKS_RELOCATIONS)
  target_link_options(sluice PRIVATE -Wl,-z,pack-relative-relocs)
endif()

foreach(room IN LISTS rooms)
  target_link_libraries(sluice PRIVATE "$<BUILD_INTERFACE:sluice_${room}>")
  get_property(headers GLOBAL PROPERTY "SLUICE_ROOM_HEADERS_${room}")
  target_sources(sluice PUBLIC FILE_SET "${room}" TYPE HEADERS
    BASE_DIRS "${SLUICE_INCLUDE_ROOT}/${room}" FILES ${headers})
endforeach()
file(GLOB headers CONFIGURE_DEPENDS
  "${PROJECT_SOURCE_DIR}/include/sluice/*.h")
target_sources(sluice PUBLIC FILE_SET sluice TYPE HEADERS
  BASE_DIRS "${PROJECT_SOURCE_DIR}/include" FILES ${headers})
# The stamp that kernel libraries record when they are built.
target_sources(sluice PUBLIC FILE_SET stamp TYPE HEADERS
  BASE_DIRS "${SLUICE_INCLUDE_ROOT}/stamp"
  FILES "${SLUICE_INCLUDE_ROOT}/stamp/sluice/build_stamp.h")
add_dependencies(sluice sluice_build_stamp)

# Users of the library find the plug-ins beside it.
get_property(plugins GLOBAL PROPERTY SLUICE_PLUGINS)
if(plugins)
  add_dependencies(sluice ${plugins})
endif()

# The library's records, at the path where it finds them in a build tree.
file(MAKE_DIRECTORY "${CMAKE_LIBRARY_OUTPUT_DIRECTORY}")
file(CREATE_LINK "${PROJECT_SOURCE_DIR}/records"
  "${CMAKE_LIBRARY_OUTPUT_DIRECTORY}/sluice_records" SYMBOLIC)
