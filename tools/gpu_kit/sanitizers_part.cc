// Part 3: every CUDA kernel once under each tool of compute-sanitizer.
#include <algorithm>
#include <set>
#include <sstream>

#include "tools/gpu_kit/kernel_list.h"
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

// What the tool printed, and the ops that the program came to the end of.
struct Report {
  std::string text;
  std::set<std::string> done;
};

Report ReadReport(const std::string& output) {
  Report report;
  std::istringstream lines(output);
  for (std::string line; std::getline(lines, line);) {
    if (line.starts_with("=========")) report.text += line + "\n";
    const Json json = Json::parse(line, nullptr, false);
    if (json.is_object() && json.contains("op")) {
      report.done.insert(json["op"].get<std::string>());
      if (json.contains("errors")) report.text += line + "\n";
    }
  }
  return report;
}

// Runs `ops` in one process, since starting it takes seconds; after an op that
// ends the process the rest goes into another.
void RunTool(Kit& kit,
             const std::string& sanitizer,
             const std::string& tool,
             Ops ops) {
  const std::string program = kit.Path("bin/sluice_kernel_outputs");
  while (!ops.empty() && kit.SecondsLeft() > 0) {
    const std::string list = fmt::format("{}", fmt::join(ops, ","));
    const ProcessResult result =
        kit.Run({sanitizer, "--tool", tool, "--error-exitcode", "9",
                 "--print-limit", "5", program, "--largest", "--ops", list},
                150);
    const Report report = ReadReport(result.output);
    const auto left = std::stable_partition(
        ops.begin(), ops.end(),
        [&](const std::string& op) { return report.done.count(op) != 0; });
    // The process ended in the first op without a result.
    const auto tried = left == ops.end() ? left : left + 1;
    // "ERROR SUMMARY: 0 errors", "RACECHECK SUMMARY: 0 hazards displayed".
    const bool clean = result.ok() && left == ops.end() &&
                       report.text.find(" SUMMARY: 0 ") != std::string::npos;
    kit.AddItem({fmt::format("{}/{}", tool, fmt::join(ops.begin(), tried, ",")),
                 clean ? Status::kPassed : Status::kFailed,
                 result.seconds,
                 clean ? ""
                       : result.Ending() + "\n" +
                             LastLines(report.text.empty() ? result.output
                                                           : report.text),
                 {},
                 result.command});
    ops.erase(ops.begin(), tried);
  }
  if (ops.empty()) return;
  kit.AddItem({fmt::format("{}/{}", tool, fmt::join(ops, ",")), Status::kFailed,
               0, "the time of the part is over"});
}

}  // namespace

void RunSanitizers(Kit& kit) {
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
  const Ops ops = OpsWithKernels(kit, kit.mode());
  constexpr size_t kShards = 4;
  kit.Parallel("compute-sanitizer", std::size(kTools) * kShards, [&](size_t i) {
    Ops chosen;
    for (size_t op = i / std::size(kTools); op < ops.size(); op += kShards) {
      chosen.push_back(ops[op]);
    }
    RunTool(kit, sanitizer, kTools[i % std::size(kTools)], chosen);
  });
}

}  // namespace sluice::gpu_kit
