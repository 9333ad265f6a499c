// Runs the operator of this project between two of Sluice's own.
#include <iostream>
#include <string>
#include <vector>

#include "my_ops/ops.h"

#include "sluice/sluice.h"

int main() {
  RegisterOperators_my_ops();

  sluice::Program program;
  auto x = program.Data("x", sluice::DType::kFloat32, {-1});
  auto doubled = sluice::ops::Scale(x, {.scale = 2.0});
  auto activated = sluice::ops::SteepRelu(doubled, {.slope = 0.25});
  auto y = sluice::ops::Scale(activated, {.bias = 1.0});

  sluice::Executor executor;
  const auto fed = sluice::Tensor::FromVector<float>({3}, {-2, 0, 3});
  const auto result = executor.Run(program, {{"x", fed}}, {y});
  std::cout << executor.Explain(program);
  if (result[0].ToVector<float>() != std::vector<float>{0, 1, 7}) {
    std::cerr << "expected 0, 1, 7\n";
    return 1;
  }

#ifdef HAS_DEVICE
  // steep_relu_kernel.cu is a part of the library.
  sluice::Executor on_cuda(sluice::CUDAPlace{0});
  const auto same = on_cuda.Run(program, {{"x", fed}}, {activated});
  const std::string explained = on_cuda.Explain(program);
  std::cout << explained;
  if (same[0].ToVector<float>() != std::vector<float>{-1, 0, 6} ||
      explained.find("no kernel at cuda:0") != std::string::npos) {
    std::cerr << "expected -1, 0, 6 from the CUDA kernel\n";
    return 1;
  }
#endif

  // What the schema says is checked, as for built-in operators.
  try {
    sluice::ops::SteepRelu(x, {.slope = -1});
  } catch (const sluice::Error& error) {
    std::cout << error.what() << '\n';
    if (std::string(error.what()).find("slope") != std::string::npos) return 0;
  }
  std::cerr << "expected an error about slope\n";
  return 1;
}
