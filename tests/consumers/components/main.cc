// Computes with operators, kernels and passes that are in the program only
// because of their registration.
#include <iostream>
#include <string>
#include <string_view>

#include "sluice/framework/op/op_schema.h"
#include "sluice/framework/op/registry.h"
#include "sluice/sluice.h"

namespace {

int failures = 0;

void Check(bool condition, std::string_view what) {
  if (condition) return;
  std::cerr << "failed: " << what << "\n";
  ++failures;
}

// The error of loading a module that needs libsluice.so.
std::string ErrorOfLoading() {
  try {
    sluice::LoadKernelLibrary("libnone.so");
    return "";
  } catch (const sluice::Error& error) {
    return error.what();
  }
}

}  // namespace

int main(int argc, char** argv) {
  const bool shared = argc > 1 && std::string_view(argv[1]) == "ON";
  sluice::Program program;
  auto x = program.Data("x", sluice::DType::kFloat32, {-1, 3});
  auto y = program.Data("y", sluice::DType::kFloat32, {-1, 3});
  auto distance = sluice::ops::ManhattanDistance(x, y);
  sluice::Executor executor(sluice::CPUPlace{});
  const auto one = sluice::Tensor::FromVector<float>({1, 3}, {0, 1, 2});
  const auto other = sluice::Tensor::FromVector<float>({1, 3}, {4, 4, 4});
  const auto results =
      executor.Run(program, {{"x", one}, {"y", other}}, {distance});
  Check(results[0].ToVector<float>() == std::vector<float>{9}, "distance");

  const auto& registry = sluice::Registry::Global();
  Check(registry.OpNames().size() > 150, "all operators");
  Check(!registry.Passes().empty(), "passes");
  for (const std::string& op : registry.OpNames()) {
    if (registry.Schema(op).holds_blocks()) continue;
    Check(!registry.Kernels(op).empty(), "kernels of " + op);
  }
  const bool refused =
      ErrorOfLoading().find("this program has the static libsluice.a") !=
      std::string::npos;
  Check(refused != shared, "libraries are loaded by libsluice.so");
  return failures;
}
