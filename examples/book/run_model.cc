// Runs a trained chapter without Python:
//
//   run_model FOLDER OUTPUT...
//
// FOLDER has model.program, model.safetensors and for each input NAME.npy; of
// sequences NAME.npy has the rows and NAME@LOD.npy the offsets. Prints how many
// elements each output has, and then the elements, one a line. Rows after those
// of the sequences are padding.
#include <algorithm>
#include <cstdio>
#include <exception>
#include <filesystem>
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
          name, sluice::UnpackSequences(
                    fed[0].second, sluice::nn::ReadNpy(offsets.string())));
    }
    inputs.insert(inputs.end(), fed.begin(), fed.end());
  }
  return inputs;
}

}  // namespace

int main(int count, char** arguments) try {
  const std::filesystem::path folder = count > 1 ? arguments[1] : ".";
  const sluice::Program program =
      sluice::LoadProgram((folder / "model.program").string());
  sluice::Executor executor;
  sluice::LoadParameters((folder / "model.safetensors").string(), program,
                         executor.scope());
  for (const sluice::Tensor& output :
       executor.Run(program, ReadInputs(folder),
                    {arguments + std::min(count, 2), arguments + count})) {
    std::printf("%lld\n", static_cast<long long>(output.numel()));
    if (output.dtype() == sluice::DType::kInt64) {
      for (const int64_t i : output.ToVector<int64_t>()) std::printf("%ld\n", i);
    } else {  // nine digits tell any two numbers of float32 apart
      for (const float x : output.ToVector<float>()) std::printf("%.9g\n", x);
    }
  }
} catch (const std::exception& error) {
  std::fprintf(stderr, "run_model: %s\n", error.what());
  return 1;
}
