// main LIBRARY [PLACE]: loads the library, runs its kernel, and measures it
// beside all others.
#include <iostream>
#include <vector>

#include "sluice/lab.h"

int main(int argc, char** argv) try {
  for (const auto* kernel : sluice::LoadKernelLibrary(argv[1]).kernels) {
    std::cout << "loaded " << ToString(*kernel) << "\n";
  }
  sluice::Program program;
  auto x = program.Data("x", sluice::DType::kFloat32, {-1, 8});
  auto y = sluice::ops::Relu(x);
  const auto values =
      sluice::Tensor::FromVector<float>({1, 8}, {-1, 0, 1, 2, 3, 4, 5, 6});
  const sluice::Feeds feeds = {{"x", values}};

  sluice::Executor executor(sluice::ParsePlaceKey(argc > 2 ? argv[2] : "cpu"));
  {
    sluice::KernelHintGuard guard("relu: require variant=fast");
    const auto result = executor.Run(program, feeds, {y});
    std::cout << executor.Explain(program);
    if (result[0].ToVector<float>() !=
        std::vector<float>{0, 0, 1, 2, 3, 4, 5, 6}) {
      std::cerr << "the results are wrong\n";
      return 1;
    }
  }
  // Compares it with the op's reference, times it, and keeps the records.
  std::cout << ToString(sluice::Tune(executor, program, feeds, {y}, nullptr,
                                     {.budget_seconds = 2}));
  return 0;
} catch (const sluice::Error& error) {
  std::cerr << error.what() << "\n";
  return 1;
}
