// Runs the operators of this project, one between two of Sluice's own.
#include <iostream>
#include <string>
#include <vector>

#include "my_ops/ops.h"

#include "sluice/sluice.h"

// Whether the call is an error whose message has `words`.
template <typename Call>
bool Refuses(const std::string& words, const Call& call) {
  std::string message = "no error";
  try {
    call();
  } catch (const sluice::Error& error) {
    message = error.what();
  }
  std::cout << message << '\n';
  return message.find(words) != std::string::npos;
}

int main() {
  RegisterOperators_my_ops();
  RegisterOperators_my_ops();  // a second call does nothing

  sluice::Program program;
  auto x = program.Data("x", sluice::DType::kFloat32, {-1});
  auto doubled = sluice::ops::Scale(x, {.scale = 2.0});
  auto steep = sluice::ops::SteepRelu(doubled, {.slope = 0.25});
  auto y = sluice::ops::Scale(steep, {.bias = 1.0});

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
  const auto same = on_cuda.Run(program, {{"x", fed}}, {steep});
  const std::string explained = on_cuda.Explain(program);
  std::cout << explained;
  if (same[0].ToVector<float>() != std::vector<float>{-1, 0, 6} ||
      explained.find("no kernel at cuda:0") != std::string::npos) {
    std::cerr << "expected -1, 0, 6 from the CUDA kernel\n";
    return 1;
  }
#endif

  // The op of step 5.
  const auto rows = sluice::Tensor::FromVector<float>({2, 2}, {1, 2, 3, 4});
  const auto divide = [&rows](const std::vector<float>& by) {
    const auto size = static_cast<int64_t>(by.size());
    const auto divisor = sluice::Tensor::FromVector<float>({size}, by);
    return sluice::RunOp("divide_rows", {{"X", rows}, {"Divisor", divisor}})
        .at("Out")
        .ToVector<float>();
  };
  if (divide({1, 4}) != std::vector<float>{1, 0.5, 3, 1}) {
    std::cerr << "expected 1, 0.5, 3, 1\n";
    return 1;
  }

  // What schema, shape function and kernel say is checked, as for built-in
  // operators.
  const bool all_refused =
      Refuses("slope", [&] { sluice::ops::SteepRelu(x, {.slope = -1}); }) &&
      Refuses("must equal dim 0 of input Divisor",
              [&] {
                divide({1, 2, 3});
              }) &&
      Refuses("Divisor has a zero", [&] {
        divide({1, 0});
      });
  return all_refused ? 0 : 1;
}
