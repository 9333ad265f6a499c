#include "tools/gpu_kit/test_programs.h"

#include <algorithm>
#include <set>
#include <sstream>

#include <fmt/format.h>

namespace sluice::gpu_kit {
namespace {

constexpr std::string_view kRun = "[ RUN      ] ";
constexpr std::string_view kOk = "[       OK ] ";
constexpr std::string_view kFailed = "[  FAILED  ] ";
constexpr std::string_view kSkipped = "[  SKIPPED ] ";

// "Suite.Test" of "Suite.Test (12 ms)" or "Suite.Test, where GetParam() = ...".
bool EndsTest(std::string_view line,
              std::string_view mark,
              const std::string& test) {
  if (!line.starts_with(mark)) return false;
  line.remove_prefix(mark.size());
  return line == test || line.starts_with(test + " (") ||
         line.starts_with(test + ",");
}

double SecondsOf(const std::string& line) {
  const size_t begin = line.rfind('(');
  const size_t end = line.rfind(" ms)");
  if (begin == std::string::npos || end == std::string::npos) return 0;
  return std::strtod(line.substr(begin + 1, end).c_str(), nullptr) / 1000;
}

std::vector<std::string> Command(const TestProgram& program,
                                 const std::string& filter) {
  std::vector<std::string> command = {program.path, "--gtest_filter=" + filter,
                                      "--gtest_color=no"};
  command.insert(command.end(), program.options.begin(), program.options.end());
  return command;
}

// Of the tests, those that go into the next process.
size_t Batch(const TestProgram& program, size_t left) {
  return program.one_process_each ? std::min<size_t>(1, left) : left;
}

// After a failure GoogleTest was told to skip the rest, which it reports as
// skipped: those tests have yet to run.
void DropAfterFailure(std::vector<Item>* items) {
  const auto failed = std::find_if(
      items->begin(), items->end(),
      [](const Item& item) { return item.status == Status::kFailed; });
  if (failed != items->end()) items->erase(failed + 1, items->end());
}

}  // namespace

std::vector<Item> ParseTestOutput(const std::string& output) {
  std::vector<Item> items;
  std::istringstream lines(output);
  std::string test;
  std::string said;
  for (std::string line; std::getline(lines, line);) {
    if (line.starts_with(kRun)) {
      test = line.substr(kRun.size());
      said.clear();
      items.push_back({test, Status::kFailed, 0, ""});
      continue;
    }
    if (test.empty()) continue;
    const bool passed = EndsTest(line, kOk, test);
    const bool skipped = EndsTest(line, kSkipped, test);
    if (passed || skipped || EndsTest(line, kFailed, test)) {
      Item& item = items.back();
      item.status = passed    ? Status::kPassed
                    : skipped ? Status::kLeftOut
                              : Status::kFailed;
      item.seconds = SecondsOf(line);
      if (!passed) item.detail = LastLines(said);
      test.clear();
    } else {
      said += line + "\n";
      items.back().detail = LastLines(said);
    }
  }
  return items;
}

std::vector<std::string> ListTests(Kit& kit, const TestProgram& program) {
  std::vector<std::string> command = Command(program, program.filter);
  command.emplace_back("--gtest_list_tests");
  const ProcessResult result = kit.Run(command, 60);
  std::vector<std::string> tests;
  std::istringstream lines(result.output);
  std::string suite;
  for (std::string line; std::getline(lines, line);) {
    line = line.substr(0, line.find("  # "));
    if (line.ends_with('.') && !line.starts_with(' ')) {
      suite = line;
    } else if (line.starts_with("  ") && !suite.empty()) {
      const std::string test = suite + line.substr(2);
      if (test.find("DISABLED_") == std::string::npos) tests.push_back(test);
    }
  }
  if (!result.ok() || tests.empty()) {
    kit.AddItem({program.path + " " + program.filter,
                 Status::kFailed,
                 result.seconds,
                 fmt::format("it lists no tests ({}):\n{}", result.Ending(),
                             LastLines(result.output)),
                 {},
                 result.command});
    return {};
  }
  return tests;
}

void RunTestProgram(Kit& kit,
                    const TestProgram& program,
                    const std::string& prefix) {
  std::vector<std::string> left = ListTests(kit, program);
  while (!left.empty()) {
    if (kit.SecondsLeft() <= 0) {
      kit.AddItem({prefix + program.path, Status::kFailed, 0,
                   fmt::format("the time of the part is over, {} tests were "
                               "not run, {} the first of them",
                               left.size(), left.front())});
      return;
    }
    const size_t batch = Batch(program, left.size());
    std::vector<std::string> command = Command(
        program,
        fmt::format("{}", fmt::join(left.begin(), left.begin() + batch, ":")));
    command.emplace_back("--gtest_fail_fast");
    const ProcessResult result = kit.Run(command, program.seconds_each);
    std::vector<Item> items = ParseTestOutput(result.output);
    DropAfterFailure(&items);
    std::set<std::string> seen;
    for (Item& item : items) {
      seen.insert(item.name);
      if (item.status == Status::kFailed && &item == &items.back() &&
          (result.timed_out || result.signal != 0)) {
        item.detail = result.Ending() + "\n" + item.detail;
      }
      // A test that the GPU's absence skips would hide that it is gone.
      if (item.status == Status::kLeftOut && kit.on_gpu() &&
          item.detail.find("emulat") == std::string::npos) {
        item.status = Status::kFailed;
        item.detail = "skipped on a GPU: " + item.detail;
      }
      item.command = kit.ShellCommand(Command(program, item.name), kit.mode());
      item.name = prefix + item.name;
      kit.AddItem(item);
    }
    // A process that fails after its tests have passed, e.g. while it ends.
    const bool all_well = std::none_of(
        items.begin(), items.end(),
        [](const Item& item) { return item.status == Status::kFailed; });
    if (!result.ok() && all_well) {
      kit.AddItem({prefix + program.path, Status::kFailed, result.seconds,
                   fmt::format("{} although no test failed:\n{}",
                               result.Ending(), LastLines(result.output))});
    }
    const size_t before = left.size();
    std::erase_if(
        left, [&](const std::string& test) { return seen.count(test) != 0; });
    if (left.size() != before) continue;
    kit.AddItem(
        {prefix + program.path,
         Status::kFailed,
         result.seconds,
         fmt::format("{} tests were listed and did not run ({}): {}",
                     left.size(), result.Ending(), fmt::join(left, ", ")),
         {},
         result.command});
    return;
  }
}

}  // namespace sluice::gpu_kit
