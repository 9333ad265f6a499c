#pragma once

#include <chrono>
#include <functional>
#include <mutex>
#include <string>
#include <vector>

#include "tools/gpu_kit/process.h"
#include <nlohmann/json.hpp>

// The GPU kit: a folder with the CUDA tests, examples and benchmarks of Sluice
// that needs no compiler and no network, and the program that runs them, part
// by part, on a GPU or on the emulation. design/gpu_kit.md describes it.
namespace sluice::gpu_kit {

using Json = nlohmann::ordered_json;

enum class Status { kPassed, kFailed, kLeftOut };

// One thing that a part tried.
struct Item {
  std::string name;
  Status status = Status::kPassed;
  double seconds = 0;
  // Why it failed or was left out: what its program printed, or how it ended.
  std::string detail = {};
  Json figures = {};  // null where it has none
  // To see it again from a shell; "" where there is no such command.
  std::string command = {};
};

// Where things are, which libraries are used, and what was written down.
// AddItem and Run may be called from several threads.
class Kit {
 public:
  struct Options {
    std::string folder;     // of the kit
    std::string libraries;  // folders with cuBLAS and the driver, or ""
    std::string output;     // a folder that exists and can be written
    std::string python;     // "": the first that has NumPy
    int jobs = 1;           // processes at once
    double seconds = 0;     // for everything together
  };

  // Opens the log in the output folder, where results of an earlier run get
  // numbers. Throws std::runtime_error where it cannot be written, naming
  // --output.
  explicit Kit(Options options);
  ~Kit();
  Kit(const Kit&) = delete;
  Kit& operator=(const Kit&) = delete;

  const Options& options() const { return options_; }
  std::string Path(const std::string& name) const;
  std::string OutputPath(const std::string& name) const;
  // In a folder that is gone in the end.
  std::string ScratchPath(const std::string& name) const;

  // "gpu" or "emulated": which libsluice_cuda.so programs find.
  const std::string& mode() const { return mode_; }
  void SetMode(const std::string& mode) { mode_ = mode; }
  bool on_gpu() const { return mode_ == "gpu"; }
  // The shell command that runs `command` with the libraries of `mode`.
  std::string ShellCommand(const std::vector<std::string>& command,
                           const std::string& mode) const;
  // A program that exists once for each mode.
  std::string ModeProgram(const std::string& name) const;

  // Runs a program with the libraries of `mode` ("": the kit's), for at most
  // `seconds` and what is left of the part. Output goes to the log.
  ProcessResult Run(const std::vector<std::string>& command,
                    double seconds,
                    const std::string& mode = "",
                    const Environment& more = {});

  // Runs `body` as a part. It reports by AddItem; its time ends after
  // `seconds`, or with the time of the whole kit.
  void RunPart(int number,
               const std::string& name,
               double seconds,
               const std::function<void()>& body);
  void AddItem(Item item);
  // What is left of the current part.
  double SecondsLeft() const;

  // Calls work(i) for i in [0, count), options().jobs at a time. What the part
  // has no time left for is one failed item, named `what`.
  void Parallel(const std::string& what,
                size_t count,
                const std::function<void(size_t)>& work);

  // Prints where the results are, and on what they were made; returns how many
  // items failed.
  int Finish();
  // Facts about the machine and the kit, by name, for the JSON file.
  Json& about() { return about_; }

  void Print(const std::string& text);

 private:
  double Elapsed() const;
  void WriteJson() const;

  Options options_;
  std::string mode_ = "emulated";
  std::chrono::steady_clock::time_point begin_;
  double part_ends_ = 0;  // seconds since begin_
  std::mutex mutex_;
  std::FILE* log_ = nullptr;
  Json about_ = Json::object();
  Json parts_ = Json::array();
  std::vector<Item> items_;  // of the current part
  int failures_ = 0;
  bool finished_ = false;
  std::string scratch_;
};

// The end of a long text, from a line's beginning.
std::string LastLines(const std::string& text, size_t at_most = 2000);

// The parts, in the order in which they run.
void DescribeMachine(Kit& kit);
void RunTests(Kit& kit);
void RunSanitizers(Kit& kit);
void RunEndurance(Kit& kit);
void RunTraining(Kit& kit);
void RunBenchmarks(Kit& kit);

}  // namespace sluice::gpu_kit
