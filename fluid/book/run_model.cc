// Runs a trained chapter without Python: run_model FOLDER OUTPUT...
//
// FOLDER has model.program, model.safetensors and for each input NAME.npy, for
// offsets of sequences also NAME@LOD.npy. Prints the number of elements of each
// output and then these, one a line; rows after the last sequence are padding.
#include <algorithm>
#include <exception>
#include <filesystem>
#include <iostream>
#include <string>

#include "sluice/nn.h"
#include "sluice/sluice.h"

namespace {

sluice::Feeds ReadInputs(const std::filesystem::path& folder) {
  sluice::Feeds inputs;
  for (const auto& file : std::filesystem::directory_iterator(folder)) {
    const std::string name = file.path().stem().string();
    if (file.path().extension() != ".npy" || name.ends_with("@LOD")) continue;
    sluice::Feeds fed = {{name, sluice::nn::ReadNpy(file.path().string())}};
    const auto offsets = folder / (name + "@LOD.npy");
    if (std::filesystem::exists(offsets)) {
      fed = sluice::PackSequences(
          name, sluice::UnpackSequences(fed[0].second,
                                        sluice::nn::ReadNpy(offsets.string())));
    }
    inputs.insert(inputs.end(), fed.begin(), fed.end());
  }
  return inputs;
}

template <typename T>
void Print(const sluice::Tensor& output) {
  std::cout << output.numel() << "\n";
  for (const T each : output.ToVector<T>()) {
    std::cout << each << "\n";
  }
}

}  // namespace

int main(int count, char** arguments) try {
  const std::filesystem::path folder = count > 1 ? arguments[1] : ".";
  const auto program = sluice::LoadProgram((folder / "model.program").string());
  std::cout.precision(9);  // tells any two numbers of float32 apart
  sluice::Executor executor;
  sluice::LoadParameters((folder / "model.safetensors").string(), program,
                         executor.scope());
  for (const sluice::Tensor& output :
       executor.Run(program, ReadInputs(folder),
                    {arguments + std::min(count, 2), arguments + count})) {
    output.dtype() == sluice::DType::kInt64 ? Print<int64_t>(output)
                                            : Print<float>(output);
  }
} catch (const std::exception& error) {
  std::cerr << "run_model: " << error.what() << "\n";
  return 1;
}
