#include "tools/gpu_kit/python.h"

#include <fmt/format.h>

namespace sluice::gpu_kit {
namespace {

constexpr const char* kTry =
    "import sys, numpy, sluice; print(sys.version.split()[0], "
    "'NumPy', numpy.__version__)";

}  // namespace

std::string FindPython(Kit& kit) {
  std::vector<std::string> names = {"python3",    "python3.12", "python3.11",
                                    "python3.13", "python3.14", "python3.10"};
  if (!kit.options().python.empty()) names = {kit.options().python};
  std::string reasons;
  bool found = false;
  for (const std::string& name : names) {
    const ProcessResult result = kit.Run({name, "-c", kTry}, 60);
    if (result.ok()) {
      kit.AddItem({"python", Status::kPassed, result.seconds, "",
                   Json{{"command", name}, {"version", result.output}}});
      return name;
    }
    if (!result.not_started.empty()) continue;
    found = true;
    reasons += fmt::format("{}: {}", name, LastLines(result.output, 400));
  }
  // A package that cannot be imported is our mistake; no NumPy is not.
  const bool ours =
      reasons.find("sluice") != std::string::npos &&
      reasons.find("No module named 'numpy'") == std::string::npos;
  kit.AddItem({"python", ours ? Status::kFailed : Status::kLeftOut, 0,
               found ? "no Python that has NumPy (--python PATH):\n" + reasons
                     : "no python3 on this machine"});
  return "";
}

}  // namespace sluice::gpu_kit
