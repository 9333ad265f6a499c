#include <charconv>
#include <cstdlib>
#include <stdexcept>
#include <string>
#include <string_view>

#include "sluice/platform/cuda_emulation/control.h"

namespace sluice::cuda_emulation {
namespace {

// Returns "" for an unset variable.
std::string_view Text(const char* value) {
  return value == nullptr ? std::string_view() : value;
}

[[noreturn]] void Refuse(const std::string& variable,
                         std::string_view value,
                         const std::string& expected) {
  throw std::invalid_argument("SLUICE_CUDA_EMULATION_" + variable +
                              " must be " + expected + ", got \"" +
                              std::string(value) + "\"");
}

// Parses all of `text` as a number; returns whether it is one that fits.
template <typename T>
bool Read(std::string_view text, T* value) {
  const char* end = text.data() + text.size();
  const auto [rest, error] = std::from_chars(text.data(), end, *value);
  return error == std::errc() && rest == end;
}

Options FromEnvironment() {
  Options options;
  const auto order = Text(std::getenv("SLUICE_CUDA_EMULATION_ORDER"));
  if (order == "reverse") {
    options.order = ThreadOrder::kReverse;
  } else if (order.starts_with("shuffle")) {
    options.order = ThreadOrder::kShuffle;
    if (order != "shuffle" &&
        (order[7] != ':' || !Read(order.substr(8), &options.seed))) {
      Refuse("ORDER", order, "shuffle:SEED with a number");
    }
  } else if (!order.empty() && order != "forward") {
    Refuse("ORDER", order, "forward, reverse or shuffle:SEED");
  }
  const auto streams = Text(std::getenv("SLUICE_CUDA_EMULATION_STREAMS"));
  if (streams == "others") {
    options.streams = StreamMode::kOthers;
  } else if (streams == "eager") {
    options.streams = StreamMode::kEager;
  } else if (!streams.empty() && streams != "lazy") {
    Refuse("STREAMS", streams, "lazy, others or eager");
  }
  const auto devices = Text(std::getenv("SLUICE_CUDA_EMULATION_DEVICES"));
  if (!devices.empty() && devices != "0" && devices != "1") {
    Refuse("DEVICES", devices, "0 or 1");
  }
  options.devices = devices == "0" ? 0 : 1;
  const auto memory = Text(std::getenv("SLUICE_CUDA_EMULATION_MEMORY"));
  if (!memory.empty() && !Read(memory, &options.memory_bytes)) {
    Refuse("MEMORY", memory, "a number of bytes");
  }
  return options;
}

}  // namespace

Options& GetOptions() {
  static Options options = FromEnvironment();
  return options;
}

}  // namespace sluice::cuda_emulation
