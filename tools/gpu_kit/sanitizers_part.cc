// Part 3: every CUDA kernel once under each tool of compute-sanitizer.
#include <sstream>

#include "tools/gpu_kit/kit.h"
#include <fmt/format.h>

namespace sluice::gpu_kit {
namespace {

constexpr const char* kTools[] = {"memcheck", "racecheck", "synccheck",
                                  "initcheck"};

// The program, where it is installed: on PATH or in the toolkit.
std::string FindSanitizer(Kit& kit) {
  for (const std::string path :
       {"compute-sanitizer", "/usr/local/cuda/bin/compute-sanitizer"}) {
    if (kit.Run({path, "--version"}, 30).ok()) return path;
  }
  return "";
}

std::vector<std::string> Ops(Kit& kit, const std::string& program) {
  std::vector<std::string> ops;
  std::istringstream lines(kit.Run({program, "--list"}, 60).output);
  for (std::string op; std::getline(lines, op);) {
    ops.push_back(op);
  }
  return ops;
}

// What the tool printed, without the program's own lines.
std::string ToolLines(const std::string& output) {
  std::string text;
  std::istringstream lines(output);
  for (std::string line; std::getline(lines, line);) {
    if (line.starts_with("=========")) text += line + "\n";
  }
  return text;
}

}  // namespace

void RunSanitizers(Kit& kit) {
  const std::string program = kit.Path("bin/sluice_kernel_outputs");
  if (!kit.on_gpu()) {
    kit.AddItem(
        {"compute-sanitizer", Status::kLeftOut, 0,
         "no GPU; the emulation looks for the same mistakes in part 2"});
    return;
  }
  const std::string sanitizer = FindSanitizer(kit);
  if (sanitizer.empty()) {
    kit.AddItem({"compute-sanitizer", Status::kLeftOut, 0,
                 "not installed: it comes with the CUDA toolkit (on PATH or in "
                 "/usr/local/cuda/bin)"});
    return;
  }
  // A process for some ops of each tool: starting it takes seconds.
  const std::vector<std::string> ops = Ops(kit, program);
  const size_t shards = 4;
  kit.Parallel("compute-sanitizer", std::size(kTools) * shards, [&](size_t i) {
    const char* tool = kTools[i % std::size(kTools)];
    std::vector<std::string> chosen;
    for (size_t op = i / std::size(kTools); op < ops.size(); op += shards) {
      chosen.push_back(ops[op]);
    }
    const std::string list = fmt::format("{}", fmt::join(chosen, ","));
    if (chosen.empty()) return;
    const ProcessResult result =
        kit.Run({sanitizer, "--tool", tool, "--error-exitcode", "9",
                 "--print-limit", "5", program, "--ops", list},
                150);
    kit.AddItem({fmt::format("{}/{}", tool, list),
                 result.ok() ? Status::kPassed : Status::kFailed,
                 result.seconds,
                 result.ok() ? ""
                             : result.Ending() + "\n" +
                                   LastLines(ToolLines(result.output) +
                                             LastLines(result.output, 500))});
  });
}

}  // namespace sluice::gpu_kit
