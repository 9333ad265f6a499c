// Lists all kernels by op, place, dtype, library and variant.
#include <iostream>
#include <string>

#include <CLI/CLI.hpp>

#include "sluice/framework/choice/candidates.h"
#include "sluice/framework/op/kernel_library.h"
#include "sluice/framework/op/registry.h"
#include "sluice/platform/device.h"
#include "sluice/platform/error.h"
#include "sluice/platform/place_key.h"
#include "sluice/platform/plugin/plugin_loader.h"

namespace {

using sluice::Format;
using sluice::KernelDef;
using sluice::Registry;

constexpr const char* kRow = "{:<28} {:<8} {:<9} {:<8} {}\n";

void PrintKernels(const std::string& op) {
  sluice::LoadLibraries(op, {}, Registry::Global());
  const auto kernels = Registry::Global().Kernels(op);
  for (const KernelDef* kernel : kernels) {
    std::cout << Format(kRow, op, ToString(kernel->key.place),
                        ToString(kernel->key.dtype), kernel->key.library,
                        kernel->variant);
  }
  if (kernels.empty()) std::cout << Format("{:<28} no kernel\n", op);
}

}  // namespace

int main(int argc, char** argv) try {
  CLI::App app("Lists the kernels of Sluice.");
  std::string op;
  std::vector<std::string> devices;
  app.add_option("op", op, "Only this operator's");
  // One value for each option, so that a positional argument may follow.
  app.add_option("--device", devices,
                 "A device kind that must be there; may be repeated. All that "
                 "are there are listed anyway")
      ->allow_extra_args(false);
  std::vector<std::string> libraries;
  app.add_option("--library", libraries,
                 "A library of kernels or ops to load; may be repeated")
      ->allow_extra_args(false);
  CLI11_PARSE(app, argc, argv);

  for (const std::string& library : libraries) {
    sluice::LoadKernelLibrary(library);
  }
  for (const std::string& device : devices) {
    sluice::DeviceManager::Instance().Get({sluice::InternPlaceKind(device), 0});
  }
  sluice::LoadAllDevices();
  std::cout << Format(kRow, "op", "place", "dtype", "library", "variant");
  if (!op.empty()) {
    Registry::Global().Schema(op);
    PrintKernels(op);
    return 0;
  }
  for (const std::string& name : Registry::Global().OpNames()) {
    PrintKernels(name);
  }
  return 0;
} catch (const std::exception& error) {
  std::cerr << "sluice-kernels: " << error.what() << "\n";
  return 1;
}
