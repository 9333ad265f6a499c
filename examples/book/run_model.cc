// Runs a trained chapter without Python:
//
//   run_model FOLDER OUTPUT...
//
// FOLDER has model.program, model.safetensors and for each input NAME.npy; of
// sequences NAME.npy has the rows and NAME@LOD.npy the offsets. Prints of each
// output the number of elements and then those, one a line. Rows after those of
// the sequences are padding.
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
    const bool whole = output.dtype() == sluice::DType::kInt64;
    whole ? Print<int64_t>(output) : Print<float>(output);
  }
} catch (const std::exception& error) {
  std::cerr << "run_model: " << error.what() << "\n";
  return 1;
}
