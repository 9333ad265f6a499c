# sluice_add_device_plugin(NAME SOURCES source...)
# Adds a device plug-in for the device type NAME: the module libsluice_NAME.so,
# which exports only SluicePluginInit. It can include Sluice's headers, of which
# it needs only "sluice/platform/device_plugin.h", and links none of Sluice's
# libraries. Sluice finds it in a folder of SLUICE_PLUGIN_PATH, or in
# sluice_plugins beside libsluice.so. Sluice itself uses this function, too.
set(SLUICE_PLUGIN_EXPORTS "${CMAKE_CURRENT_LIST_DIR}/device_plugin.map")

function(sluice_add_device_plugin name)
  cmake_parse_arguments(arg "" "" "SOURCES" ${ARGN})
  if(NOT arg_SOURCES)
    message(FATAL_ERROR "sluice_add_device_plugin(${name}): no SOURCES")
  endif()
  add_library(${name} MODULE ${arg_SOURCES})
  set_target_properties(${name} PROPERTIES
    PREFIX "lib"
    OUTPUT_NAME "sluice_${name}"
    C_VISIBILITY_PRESET hidden
    CXX_VISIBILITY_PRESET hidden
    VISIBILITY_INLINES_HIDDEN ON
    LINK_DEPENDS "${SLUICE_PLUGIN_EXPORTS}")
  target_include_directories(${name} PRIVATE
    $<TARGET_PROPERTY:sluice::sluice,INTERFACE_INCLUDE_DIRECTORIES>)
  target_link_options(${name} PRIVATE
    "-Wl,--version-script=${SLUICE_PLUGIN_EXPORTS}")
endfunction()
