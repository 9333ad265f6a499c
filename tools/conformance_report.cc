#include <cstdio>
#include <exception>

#include "tools/conformance.h"

#include "sluice/platform/error.h"

namespace sluice::conformance {

void Report::Check(const std::string& name,
                   const std::function<std::string()>& check) {
  std::snprintf(current_, kNameBytes, "%s", name.c_str());
  std::string wrong;
  try {
    wrong = check();
  } catch (const std::exception& error) {
    wrong = error.what();
    if (wrong.empty()) wrong = "an exception without text";
  }
  ++checks_;
  if (wrong.empty()) {
    std::printf("ok    %s\n", name.c_str());
  } else {
    ++failures_;
    std::printf("FAIL  %s: %s\n", name.c_str(), wrong.c_str());
  }
  std::fflush(stdout);
}

void Report::Skip(const std::string& name, const std::string& reason) {
  std::printf("skip  %s: %s\n", name.c_str(), reason.c_str());
}

void Report::Note(const std::string& name, const std::string& text) {
  std::printf("note  %s: %s\n", name.c_str(), text.c_str());
}

Block::Block(PluginDevice& device, size_t bytes)
    : device_(device), bytes_(bytes), data_(device.Allocate(bytes)) {
  if (data_ == nullptr) {
    Raise(ErrorCode::kResourceExhausted, "conformance.memory",
          "{}: no memory for {} bytes", device.place(), bytes);
  }
}

std::vector<char> Pattern(size_t count, unsigned seed) {
  std::vector<char> bytes(count);
  uint64_t state = seed * 2654435761u + 1;
  for (char& byte : bytes) {
    state = state * 6364136223846793005u + 1442695040888963407u;
    byte = static_cast<char>(state >> 56);
  }
  return bytes;
}

std::vector<char> ReadBack(PluginDeviceContext& context,
                           const char* from,
                           size_t count) {
  std::vector<char> bytes(count);
  context.CopyToHost(bytes.data(), from, count);
  context.Wait();
  return bytes;
}

}  // namespace sluice::conformance
