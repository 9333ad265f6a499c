// A product that oneDNN must compute. With an argument oneDNN is missing:
// another kernel must compute, and requiring oneDNN must fail with that text.
#include <iostream>
#include <string>
#include <vector>

#include "sluice/sluice.h"

namespace {

bool Contains(const std::string& text, const char* part) {
  if (text.find(part) != std::string::npos) return true;
  std::cerr << "expected \"" << part << "\" in\n" << text << '\n';
  return false;
}

bool ComputesProduct(const std::string& hints, const char* explanation) {
  const sluice::KernelHintGuard guard(hints);
  sluice::Program program;
  auto x = program.Data("x", sluice::DType::kFloat32, {-1, 2});
  auto y = sluice::ops::Matmul(x, x, {.transpose_y = true});
  sluice::Executor executor;
  const auto fed = sluice::Tensor::FromVector<float>({1, 2}, {3, 4});
  const auto result = executor.Run(program, {{"x", fed}}, {y});
  return result[0].ToVector<float>() == std::vector<float>{25} &&
         Contains(executor.Explain(program, {.all = true}), explanation);
}

}  // namespace

int main(int argc, char** argv) {
  const std::string only_onednn =
      "require library=ONEDNN; allow library=ONEDNN";
  if (argc == 1) return ComputesProduct(only_onednn, "ONEDNN") ? 0 : 1;

  if (!ComputesProduct("allow library=ONEDNN", argv[1])) return 1;
  try {
    ComputesProduct(only_onednn, "");
  } catch (const sluice::Error& error) {
    return Contains(error.what(), argv[1]) ? 0 : 1;
  }
  std::cerr << "the hint was not obeyed\n";
  return 1;
}
