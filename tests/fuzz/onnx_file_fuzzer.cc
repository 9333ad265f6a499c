// Imports files with the ONNX importer. An input is a file.
#include "tests/fuzz/random_model.h"
#include "tests/fuzz/target.h"
#include "tests/fuzz/try_model.h"

int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  sluice::fuzz::TryModel({reinterpret_cast<const char*>(data), size});
  return 0;
}

namespace sluice::fuzz {

// A model of some nodes, or `seed`, with some changes.
std::string MakeInput(std::string_view random, const std::string& seed) {
  Choices choices(random);
  ::onnx::ModelProto model;
  if (seed.empty() || !model.ParseFromString(seed)) {
    model = RandomModel(&choices, static_cast<int>(choices.Next(6)) + 1);
  }
  for (size_t changes = choices.Next(4); changes > 0; --changes) {
    ChangeModel(&choices, &model);
  }
  std::string bytes = model.SerializeAsString();
  if (choices.Once(8)) ChangeBytes(&choices, &bytes);
  return bytes;
}

}  // namespace sluice::fuzz
