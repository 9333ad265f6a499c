#include <charconv>
#include <cstdlib>
#include <string_view>

#include "sluice/platform/cuda_emulation/control.h"

namespace sluice::cuda_emulation {
namespace {

std::string_view Text(const char* variable) {
  return variable == nullptr ? std::string_view() : variable;
}

// What is no number leaves `value` as it is.
template <typename T>
void Read(std::string_view text, T* value) {
  std::from_chars(text.data(), text.data() + text.size(), *value);
}

Options FromEnvironment() {
  Options options;
  const auto order = Text(std::getenv("SLUICE_CUDA_EMULATION_ORDER"));
  if (order == "reverse") options.order = ThreadOrder::kReverse;
  if (order.starts_with("shuffle")) {
    options.order = ThreadOrder::kShuffle;
    const size_t colon = order.find(':');
    if (colon != order.npos) Read(order.substr(colon + 1), &options.seed);
  }
  const auto streams = Text(std::getenv("SLUICE_CUDA_EMULATION_STREAMS"));
  if (streams == "others") options.streams = StreamMode::kOthers;
  if (streams == "eager") options.streams = StreamMode::kEager;
  Read(Text(std::getenv("SLUICE_CUDA_EMULATION_DEVICES")), &options.devices);
  if (options.devices != 0) options.devices = 1;
  Read(Text(std::getenv("SLUICE_CUDA_EMULATION_MEMORY")),
       &options.memory_bytes);
  return options;
}

}  // namespace

Options& GetOptions() {
  static Options options = FromEnvironment();
  return options;
}

}  // namespace sluice::cuda_emulation
