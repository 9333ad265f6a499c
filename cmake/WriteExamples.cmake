# cmake -DINPUT=FILE -DOUTPUT=FILE -P WriteExamples.cmake
# Writes a source with the lines of INPUT, the library's examples for kernels.
file(READ "${INPUT}" lines)
file(WRITE "${OUTPUT}"
"// Written by CMake from ${INPUT}; do not edit.
#include \"sluice/laboratory/op_example.h\"

namespace sluice::framework {

std::string_view BuiltinExampleLines() {
  return R\"LINES(
${lines})LINES\";
}

}  // namespace sluice::framework
")
