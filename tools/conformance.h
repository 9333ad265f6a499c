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

  // The name of the check under way is kept in `current`, memory of kNameBytes
  // that another process can read should this one crash.
  explicit Report(char* current) : current_(current) {}

  // Runs `check`, which returns "" or what is wrong; so is what it throws.
  void Check(const std::string& name,
             const std::function<std::string()>& check);
  void Skip(const std::string& name, const std::string& reason);
  // Something to know that is neither right nor wrong.
  void Note(const std::string& name, const std::string& text);

  int checks() const { return checks_; }
  int failures() const { return failures_; }

 private:
  char* current_;
  int checks_ = 0;
  int failures_ = 0;
};

// Device memory for the length of a scope. Raises when there is none.
class Block {
 public:
  Block(platform::PluginDevice& device, size_t bytes);
  ~Block() { device_.Free(data_, bytes_); }
  Block(const Block&) = delete;
  Block& operator=(const Block&) = delete;
  char* data() const { return static_cast<char*>(data_); }

 private:
  platform::PluginDevice& device_;
  size_t bytes_;
  void* data_;
};

// `count` bytes that differ from those of every other seed.
std::vector<char> Pattern(size_t count, unsigned seed);

// What the device holds at `from`, waited for.
std::vector<char> ReadBack(platform::PluginDeviceContext& context,
                           const char* from,
                           size_t count);

// A kernel of a plug-in or of a library.
struct CheckedKernel {
  std::string op;
  platform::DType dtype = platform::DType::kFloat32;
  std::string variant;
  platform::PlaceKey place;
};

// The checks of one device, by subject. Those of CheckKernels compare with
// other kernels on the CPU where the op has them; a kernel for an op that there
// is not is a failure.
void CheckMemory(Report& report, platform::PluginDevice& device);
void CheckCopies(Report& report, platform::PluginDevice& device);
void CheckQueues(Report& report, platform::PluginDevice& device);
void CheckEvents(Report& report, platform::PluginDevice& device);
void CheckTwoDevices(Report& report,
                     platform::PluginDevice& first,
                     platform::PluginDevice& second);
void CheckKernels(Report& report, const std::vector<CheckedKernel>& kernels);

}  // namespace sluice::conformance
