#pragma once

#include <cstddef>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "sluice/platform/dtype.h"
#include "sluice/platform/place_key.h"
#include "sluice/platform/plugin/plugin_device.h"
#include "sluice/platform/plugin/plugin_loader.h"

namespace sluice::conformance {

// Prints one line for each check and counts the failures. Used by one thread.
class Report {
 public:
  static constexpr size_t kNameBytes = 256;

  // `current` stores the name of the current check. It is kNameBytes of memory
  // that another process can read if this one crashes.
  explicit Report(char* current) : current_(current) {}

  // Runs `check`. It returns "" or the fault; an exception counts as a fault.
  void Check(const std::string& name,
             const std::function<std::string()>& check);
  void Skip(const std::string& name, const std::string& reason);
  // Prints information that is neither a success nor a failure.
  void Note(const std::string& name, const std::string& text);

  int checks() const { return checks_; }
  int failures() const { return failures_; }

 private:
  char* current_;
  int checks_ = 0;
  int failures_ = 0;
};

// Device memory with the lifetime of a scope. Raises if there is none.
class Block {
 public:
  Block(PluginDevice& device, size_t bytes);
  ~Block() { device_.Free(data_, bytes_); }
  Block(const Block&) = delete;
  Block& operator=(const Block&) = delete;
  char* data() const { return static_cast<char*>(data_); }

 private:
  PluginDevice& device_;
  size_t bytes_;
  void* data_;
};

// `count` bytes that differ from those of all other seeds.
std::vector<char> Pattern(size_t count, unsigned seed);

// Reads back the bytes at `from` on the device, and waits for them.
std::vector<char> ReadBack(PluginDeviceContext& context,
                           const char* from,
                           size_t count);

// A kernel of a plug-in or of a library.
struct CheckedKernel {
  std::string op;
  DType dtype = DType::kFloat32;
  std::string variant;
  PlaceKey place;
};

// The checks of one device, by subject. CheckKernels compares with other
// kernels of the op on the CPU, if any; a kernel for an unknown op is a
// failure.
void CheckMemory(Report& report, PluginDevice& device);
void CheckCopies(Report& report, PluginDevice& device);
void CheckQueues(Report& report, PluginDevice& device);
void CheckEvents(Report& report, PluginDevice& device);
void CheckTwoDevices(Report& report, PluginDevice& first, PluginDevice& second);
void CheckKernels(Report& report, const std::vector<CheckedKernel>& kernels);

}  // namespace sluice::conformance
