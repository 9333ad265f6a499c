# sluice_add_device_plugin(NAME SOURCES source...)
# A device plug-in: a module that exports SluicePluginInit and nothing else
# and sees Sluice's one C header (`#include "sluice/platform/device_plugin.h"`),
# not its libraries. In Sluice's own tree and after find_package(sluice).
set(SLUICE_PLUGIN_EXPORTS "${CMAKE_CURRENT_LIST_DIR}/device_plugin.map")

function(sluice_add_device_plugin name)
  cmake_parse_arguments(arg "" "" "SOURCES" ${ARGN})
  if(NOT arg_SOURCES)
    message(FATAL_ERROR "sluice_add_device_plugin(${name}): no SOURCES")
  endif()
  add_library(${name} MODULE ${arg_SOURCES})
  set_target_properties(${name} PROPERTIES
    C_VISIBILITY_PRESET hidden
    CXX_VISIBILITY_PRESET hidden
    VISIBILITY_INLINES_HIDDEN ON
    LINK_DEPENDS "${SLUICE_PLUGIN_EXPORTS}")
  target_include_directories(${name} PRIVATE
    $<TARGET_PROPERTY:sluice::sluice,INTERFACE_INCLUDE_DIRECTORIES>)
  target_link_options(${name} PRIVATE
    "-Wl,--version-script=${SLUICE_PLUGIN_EXPORTS}")
endfunction()
