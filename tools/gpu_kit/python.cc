#include "tools/gpu_kit/python.h"

#include <fmt/format.h>

namespace sluice::gpu_kit {
namespace {

// Status 3: everything is there, and our package does not work.
constexpr const char* kTry = R"(
import sys
found = "%d.%d" % sys.version_info[:2]
if sys.version_info < (3, 11):
    sys.exit("Python " + found + " is too old: expected 3.11 or newer")
try:
    import numpy
except ImportError as error:
    sys.exit("Python " + found + ": " + str(error))
try:
    import sluice
except Exception as error:
    print("Python " + found + ": import sluice:", error)
    sys.exit(3)
print(found + ", NumPy", numpy.__version__)
)";

// "command not found" and its like come with many lines.
std::string LastLine(std::string text) {
  while (text.ends_with('\n')) {
    text.pop_back();
  }
  return text.substr(text.rfind('\n') + 1);
}

}  // namespace

std::string FindPython(Kit& kit) {
  const bool named = !kit.options().python.empty();
  std::vector<std::string> names = {"python3", "python3.12", "python3.11",
                                    "python3.13", "python3.14"};
  if (named) names = {kit.options().python};
  std::string reasons;
  bool broken = false;
  for (const std::string& name : names) {
    const ProcessResult result = kit.Run({name, "-c", kTry}, 60);
    if (result.ok()) {
      kit.AddItem(
          {"python", Status::kPassed, result.seconds, "",
           Json{{"command", name}, {"version", LastLine(result.output)}}});
      return name;
    }
    broken = broken || result.exit_status == 3;
    if (!named && !result.not_started.empty()) continue;
    reasons += fmt::format("\n    {}: {}", name,
                           result.not_started.empty() ? LastLine(result.output)
                                                      : result.not_started);
  }
  // What the user names has to work, and our package has to work anywhere.
  kit.AddItem(
      {"python", broken || named ? Status::kFailed : Status::kLeftOut, 0,
       reasons.empty()
           ? "no python3 on this machine"
           : "expected Python 3.11 or newer with NumPy (--python):" + reasons});
  return "";
}

}  // namespace sluice::gpu_kit
