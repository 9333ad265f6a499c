# cmake -DINPUT=FILE -DOUTPUT=FILE -DFUNCTION=Name -P WriteText.cmake
# Writes a source with `std::string_view sluice::Name()`, which returns the
# text of INPUT.
file(READ "${INPUT}" lines)
file(WRITE "${OUTPUT}"
"// Written by CMake from ${INPUT}; do not edit.
#include <string_view>

namespace sluice {

std::string_view ${FUNCTION}();

std::string_view ${FUNCTION}() {
  return R\"LINES(
${lines})LINES\";
}

}  // namespace sluice
")
