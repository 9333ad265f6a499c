// One node through the ONNX importer, with any inputs and attributes. An input
// is the choices that make the node.
#include "tests/fuzz/random_model.h"
#include "tests/fuzz/target.h"
#include "tests/fuzz/try_model.h"

int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  sluice::fuzz::Choices choices({reinterpret_cast<const char*>(data), size});
  sluice::fuzz::TryModel(
      sluice::fuzz::RandomModel(&choices, 1).SerializeAsString());
  return 0;
}

namespace sluice::fuzz {

std::string MakeInput(std::string_view random) {
  return std::string(random);
}

}  // namespace sluice::fuzz
