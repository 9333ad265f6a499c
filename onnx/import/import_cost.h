#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>

#include "sluice/onnx/limits.h"

namespace sluice::onnx {

// What one import has taken of its OnnxLimits. Memory is asked for before it is
// allocated. Owned by the import, used by one thread.
class ImportCost {
 public:
  ImportCost(const OnnxLimits& limits, uint64_t file_bytes);

  // Takes `count` times `bytes` of memory. Raises ResourceExhausted, which
  // begins with `what` ("its frames"), when less is left.
  void Need(std::string_view what, uint64_t count, uint64_t bytes = 1);
  // Raises the same, and takes nothing.
  void Check(std::string_view what, uint64_t count, uint64_t bytes = 1) const;
  // Takes the same, or returns false when less is left.
  bool Take(uint64_t count, uint64_t bytes = 1);
  void Return(uint64_t bytes) { left_ += bytes; }
  // Takes operations for constants, or returns false.
  bool TakeOperations(double count);
  // Bytes that are read from a file of external data: those past the size of
  // the file, which are read again, are taken as memory.
  void NeedExternal(const std::string& path, uint64_t size, uint64_t bytes);

 private:
  void AddFileBytes(uint64_t bytes);

  const OnnxLimits limits_;
  uint64_t memory_;  // in all
  uint64_t left_;    // of it
  double operations_;
  std::map<std::string, uint64_t> unread_;  // bytes of files
};

}  // namespace sluice::onnx
