// Imports one ONNX node, with any inputs and attributes, perhaps in a subgraph.
// An input determines the choices that build the node.
#include "tests/fuzz/random_model.h"
#include "tests/fuzz/target.h"
#include "tests/fuzz/try_model.h"

int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  sluice::fuzz::Choices choices({reinterpret_cast<const char*>(data), size});
  ::onnx::ModelProto model = sluice::fuzz::RandomModel(&choices, 1);
  if (choices.Once(6)) sluice::fuzz::NestNodes(&choices, &model);
  sluice::fuzz::TryModel(model.SerializeAsString());
  return 0;
}

namespace sluice::fuzz {

std::string MakeInput(std::string_view random, const std::string& /*seed*/) {
  return std::string(random);
}

}  // namespace sluice::fuzz
