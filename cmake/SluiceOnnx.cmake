# onnx.proto, from which the messages of ONNX models are compiled. It is in the
# PyPI package `onnx`: in build/onnx from ./dev, in the Python that the package
# is built for, or on the system. Sets SLUICE_ONNX_PROTO to its path, or to "",
# so that importing a model is an error that says so.
set(SLUICE_ONNX_PROTO "")
set(folders "${PROJECT_SOURCE_DIR}/build/onnx")
file(GLOB more
  "${PROJECT_SOURCE_DIR}/build/onnx/lib/python3*/site-packages"
  "${PROJECT_SOURCE_DIR}/build/venv/lib/python3*/site-packages")
list(APPEND folders ${more})
if(Python_EXECUTABLE)
  execute_process(
    COMMAND "${Python_EXECUTABLE}" -c
      "import sysconfig; print(sysconfig.get_path('platlib'))"
    OUTPUT_VARIABLE site_packages OUTPUT_STRIP_TRAILING_WHITESPACE
    ERROR_QUIET)
  list(APPEND folders "${site_packages}")
endif()
# The environment in which pip builds a wheel, as for oneDNN.
if(SKBUILD AND nanobind_ROOT MATCHES "^(.*/site-packages)/")
  list(APPEND folders "${CMAKE_MATCH_1}")
endif()
list(APPEND folders /usr/local/include /usr/include)
foreach(folder IN LISTS folders)
  # Older files lack fields that the importer reads.
  if(SLUICE_ONNX_PROTO STREQUAL "" AND EXISTS "${folder}/onnx/onnx.proto")
    file(STRINGS "${folder}/onnx/onnx.proto" newest
      REGEX "IR_VERSION_2025_11_06 = ")
    if(newest)
      set(SLUICE_ONNX_PROTO "${folder}/onnx/onnx.proto")
    endif()
  endif()
endforeach()
if(SLUICE_ONNX_PROTO)
  message(STATUS "Sluice: ONNX models: by ${SLUICE_ONNX_PROTO}")
else()
  message(STATUS "Sluice: ONNX models: off: no onnx/onnx.proto of onnx 1.23 "
    "(./dev setup installs it below build/onnx)")
endif()

# sluice_add_onnx_messages(TARGET): adds the messages as a source of TARGET,
# with the lite runtime, and the include folder of "sluice/onnx/onnx.pb.h".
set(SLUICE_ONNX_MESSAGES "${PROJECT_BINARY_DIR}/generated/onnx")
function(sluice_add_onnx_messages target)
  set_property(SOURCE "${SLUICE_ONNX_MESSAGES}/sluice/onnx/onnx.pb.cc"
    PROPERTY GENERATED TRUE)
  target_sources(${target} PRIVATE
    "${SLUICE_ONNX_MESSAGES}/sluice/onnx/onnx.pb.cc")
  add_dependencies(${target} sluice_onnx_messages)
  target_include_directories(${target} SYSTEM PRIVATE
    "${SLUICE_ONNX_MESSAGES}")
  target_link_libraries(${target} PRIVATE protobuf::libprotobuf-lite)
endfunction()

if(SLUICE_ONNX_PROTO)
  set(out "${SLUICE_ONNX_MESSAGES}/sluice/onnx")
  file(MAKE_DIRECTORY "${out}")
  cmake_path(GET SLUICE_ONNX_PROTO PARENT_PATH proto_folder)
  add_custom_command(
    OUTPUT "${out}/onnx.pb.cc" "${out}/onnx.pb.h"
    COMMAND protobuf::protoc "--proto_path=${proto_folder}"
      "--cpp_out=lite:${out}" "${SLUICE_ONNX_PROTO}"
    DEPENDS "${SLUICE_ONNX_PROTO}"
    VERBATIM)
  add_custom_target(sluice_onnx_messages
    DEPENDS "${out}/onnx.pb.cc" "${out}/onnx.pb.h")
endif()
