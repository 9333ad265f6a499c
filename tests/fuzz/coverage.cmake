# -DCMAKE_PROJECT_INCLUDE=tests/fuzz/coverage.cmake counts the lines of onnx/
# that run (tests/fuzz/coverage.py).
function(sluice_count_lines)
  target_compile_options(sluice_onnx PRIVATE --coverage -O0)
  set_target_properties(sluice_onnx PROPERTIES DISABLE_PRECOMPILE_HEADERS ON)
  target_link_options(sluice PRIVATE --coverage)
endfunction()
cmake_language(DEFER CALL sluice_count_lines)
