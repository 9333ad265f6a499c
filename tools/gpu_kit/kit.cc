#include "tools/gpu_kit/kit.h"

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <ctime>
#include <filesystem>
#include <fstream>
#include <stdexcept>
#include <thread>

#include <fmt/format.h>
#include <stdlib.h>

namespace sluice::gpu_kit {
namespace {

constexpr const char* kStatusNames[] = {"passed", "failed", "left out"};

const char* NameOf(Status status) {
  return kStatusNames[static_cast<int>(status)];
}

Json ToJson(const Item& item) {
  Json json = {{"name", item.name},
               {"status", NameOf(item.status)},
               {"seconds", item.seconds}};
  if (!item.detail.empty()) json["detail"] = item.detail;
  if (item.status == Status::kFailed && !item.command.empty()) {
    json["command"] = item.command;
  }
  if (!item.figures.is_null()) json["figures"] = item.figures;
  return json;
}

// Compilers and programs print what is no UTF-8; JSON must not hold it.
std::string Dump(const Json& json) {
  return json.dump(1, ' ', false, Json::error_handler_t::replace) + "\n";
}

// As a shell takes it for one word.
std::string Quoted(const std::string& word) {
  constexpr std::string_view kPlain =
      "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789"
      "-_=+.,:/@%";
  if (!word.empty() && word.find_first_not_of(kPlain) == std::string::npos) {
    return word;
  }
  std::string quoted = "'";
  for (const char c : word) {
    quoted += c == '\'' ? "'\\''" : std::string(1, c);
  }
  return quoted + "'";
}

// What a run writes.
constexpr const char* kResults[] = {"gpu_kit.json", "gpu_kit.log", "cuda.json",
                                    "table1.json", "worst_kernels.md"};

// gpu_kit.json of an earlier run becomes gpu_kit.json.1, and so on.
void NumberEarlierResults(const std::string& folder) {
  namespace fs = std::filesystem;
  std::error_code ignored;
  const auto taken = [&](int number) {
    for (const char* name : kResults) {
      const fs::path file = fs::path(folder) / name;
      if (fs::exists(file.string() + "." + std::to_string(number), ignored)) {
        return true;
      }
    }
    return false;
  };
  int number = 1;
  while (taken(number)) {
    ++number;
  }
  for (const char* name : kResults) {
    const fs::path file = fs::path(folder) / name;
    fs::rename(file, file.string() + "." + std::to_string(number), ignored);
  }
}

std::string Now() {
  const std::time_t now = std::time(nullptr);
  std::tm utc = {};
  gmtime_r(&now, &utc);
  char text[32];
  std::strftime(text, sizeof(text), "%Y-%m-%dT%H:%M:%SZ", &utc);
  return text;
}

}  // namespace

std::string LastLines(const std::string& text, size_t at_most) {
  if (text.size() <= at_most) return text;
  const size_t line = text.find('\n', text.size() - at_most);
  return "...\n" + text.substr(line == std::string::npos ? text.size() - at_most
                                                         : line + 1);
}

Kit::Kit(Options options)
    : options_(std::move(options)), begin_(std::chrono::steady_clock::now()) {
  NumberEarlierResults(options_.output);
  about_["started"] = Now();
  about_["limit_seconds"] = options_.seconds;
  about_["jobs"] = options_.jobs;
  const std::string path = OutputPath("gpu_kit.log");
  log_ = std::fopen(path.c_str(), "w");
  if (log_ == nullptr) {
    throw std::runtime_error(
        fmt::format("{} cannot be written ({}): give a folder for the results "
                    "with --output FOLDER",
                    path, std::strerror(errno)));
  }
  scratch_ = OutputPath("scratch_XXXXXX");
  if (mkdtemp(scratch_.data()) == nullptr) {
    throw std::runtime_error(scratch_ + " cannot be made");
  }
}

Kit::~Kit() {
  std::fclose(log_);
  std::error_code ignored;
  std::filesystem::remove_all(scratch_, ignored);
}

std::string Kit::Path(const std::string& name) const {
  return options_.folder + "/" + name;
}

std::string Kit::OutputPath(const std::string& name) const {
  return options_.output + "/" + name;
}

std::string Kit::ScratchPath(const std::string& name) const {
  return scratch_ + "/" + name;
}

std::string Kit::ModeProgram(const std::string& name) const {
  return Path(mode_ + "/bin/" + name);
}

void Kit::Print(const std::string& text) {
  const std::lock_guard lock(mutex_);
  std::printf("%s\n", text.c_str());
  std::fflush(stdout);
  std::fprintf(log_, "%s\n", text.c_str());
  std::fflush(log_);
}

std::string Kit::ShellCommand(const std::vector<std::string>& command,
                              const std::string& mode) const {
  std::string line =
      Quoted(Path("run.sh")) + " --exec " + (mode.empty() ? mode_ : mode);
  for (const std::string& word : command) {
    line += " " + Quoted(word);
  }
  return line;
}

ProcessResult Kit::Run(const std::vector<std::string>& command,
                       double seconds,
                       const std::string& mode,
                       const Environment& more) {
  Environment environment = more;
  environment["LD_LIBRARY_PATH"] =
      Path((mode.empty() ? mode_ : mode) + "/lib") + ":" + Path("lib");
  if (!options_.libraries.empty()) {
    environment["LD_LIBRARY_PATH"] += ":" + options_.libraries;
  }
  environment["PYTHONPATH"] = Path("python");
  environment["PYTHONDONTWRITEBYTECODE"] = "1";
  const double limit = std::min(seconds, SecondsLeft());
  ProcessResult result;
  if (limit > 0) {
    result = RunProcess(command, environment, limit);
  } else {
    result.not_started = "no time left of the part";
  }
  result.command = ShellCommand(command, mode);
  const std::lock_guard lock(mutex_);
  std::fprintf(log_, "\n$ %s\n%s[%s, %.1f s]\n", result.command.c_str(),
               result.output.c_str(), result.Ending().c_str(), result.seconds);
  std::fflush(log_);
  return result;
}

double Kit::Elapsed() const {
  const std::chrono::duration<double> passed =
      std::chrono::steady_clock::now() - begin_;
  return passed.count();
}

double Kit::SecondsLeft() const {
  return part_ends_ - Elapsed();
}

void Kit::AddItem(Item item) {
  const std::string line =
      item.status == Status::kPassed
          ? ""
          : fmt::format(
                "  {}: {}{}", NameOf(item.status), item.name,
                item.detail.empty() ? "" : ": " + LastLines(item.detail, 600));
  if (!line.empty()) Print(line);
  const std::lock_guard lock(mutex_);
  items_.push_back(std::move(item));
}

void Kit::RunPart(int number,
                  const std::string& name,
                  double seconds,
                  const std::function<void()>& body) {
  const double begin = Elapsed();
  part_ends_ = std::min(options_.seconds, begin + seconds);
  Print(fmt::format("part {}: {}", number, name));
  items_.clear();
  if (SecondsLeft() <= 0) {
    AddItem({"everything", Status::kFailed, 0,
             fmt::format("no time left of the {:.0f} s for all parts (--limit)",
                         options_.seconds)});
  } else {
    try {
      body();
    } catch (const std::exception& error) {
      AddItem({"the part itself", Status::kFailed, 0, error.what()});
    }
  }
  int counts[3] = {};
  Json items = Json::array();
  for (const Item& item : items_) {
    ++counts[static_cast<int>(item.status)];
    items.push_back(ToJson(item));
  }
  failures_ += counts[1];
  const double took = Elapsed() - begin;
  Print(fmt::format("  {} passed, {} failed, {} left out in {:.1f} s",
                    counts[0], counts[1], counts[2], took));
  parts_.push_back({{"part", number},
                    {"name", name},
                    {"mode", mode_},
                    {"seconds", took},
                    {"limit_seconds", seconds},
                    {"passed", counts[0]},
                    {"failed", counts[1]},
                    {"left_out", counts[2]},
                    {"items", std::move(items)}});
  WriteJson();
}

void Kit::Parallel(const std::string& what,
                   size_t count,
                   const std::function<void(size_t)>& work) {
  std::atomic<size_t> next = 0;
  std::atomic<size_t> left = 0;
  std::atomic<size_t> done = 0;
  std::atomic<double> said = Elapsed();
  const auto worker = [&] {
    for (size_t i = next++; i < count; i = next++) {
      if (SecondsLeft() <= 0) {
        ++left;
        continue;
      }
      try {
        work(i);
      } catch (const std::exception& error) {
        AddItem({what, Status::kFailed, 0, error.what()});
      }
      ++done;
      double last = said;
      if (Elapsed() - last > 10 &&
          said.compare_exchange_strong(last, Elapsed())) {
        Print(fmt::format("  {}: {} of {}", what, done.load(), count));
      }
    }
  };
  std::vector<std::thread> threads;
  for (int i = 0; i < options_.jobs; ++i) {
    threads.emplace_back(worker);
  }
  for (std::thread& thread : threads) {
    thread.join();
  }
  if (left == 0) return;
  AddItem({what, Status::kFailed, 0,
           fmt::format("the time of the part is over: {} of {} were not run",
                       left.load(), count)});
}

// After every part, so that a run that is stopped leaves what it has.
void Kit::WriteJson() const {
  const std::string path = OutputPath("gpu_kit.json");
  std::ofstream file(path + ".new");
  file << Dump({{"kit", about_},
                {"mode", mode_},
                {"finished", finished_},
                {"failures", failures_},
                {"parts", parts_}});
  file.close();
  if (!file || std::rename((path + ".new").c_str(), path.c_str()) != 0 ||
      std::ferror(log_) != 0) {
    throw std::runtime_error(path +
                             " or gpu_kit.log cannot be written: is the "
                             "disk full?");
  }
}

int Kit::Finish() {
  finished_ = true;
  WriteJson();
  const std::string device = on_gpu() ? "on " + about_.value("gpu", "a GPU")
                                      : "ON THE EMULATION: no GPU was used";
  Print(fmt::format("{} failed, {}; {} and {}", failures_, device,
                    OutputPath("gpu_kit.json"), OutputPath("gpu_kit.log")));
  return failures_;
}

}  // namespace sluice::gpu_kit
