#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "sluice/onnx/import/messages.h"
#include "sluice/onnx/limits.h"

namespace sluice::onnx {

// How much of its OnnxLimits one import has used. Memory is requested before it
// is allocated. Owned by the import, used by one thread.
class ImportCost {
 public:
  ImportCost(const OnnxLimits& limits, uint64_t file_bytes);

  // Takes `count` times `bytes` of memory. If less is left, raises
  // ResourceExhausted with a message that begins with `what` ("its frames").
  void Need(std::string_view what, uint64_t count, uint64_t bytes = 1);
  // Raises like Need, but takes nothing.
  void Check(std::string_view what, uint64_t count, uint64_t bytes = 1) const;
  // Takes memory like Need, but returns false if less is left.
  bool Take(uint64_t count, uint64_t bytes = 1);
  void Return(uint64_t bytes) { left_ += bytes; }
  // Takes operations for computing constants, or returns false.
  bool TakeOperations(double count);
  // Accounts for bytes read from an external data file. Bytes beyond the size
  // of the file were read again, and count as memory.
  void NeedExternal(const std::string& path, uint64_t size, uint64_t bytes);

 private:
  void AddFileBytes(uint64_t bytes);

  const OnnxLimits limits_;
  uint64_t memory_;  // the total
  uint64_t left_;    // the rest of memory_
  double operations_;
  std::map<std::string, uint64_t> unread_;  // bytes of files, by path
};

// Computes output `argument` of an op whose inputs, by argument, are constants.
// Returns nothing if that exceeds the memory or operations left in `cost`.
// Raises what RunOp raises.
std::optional<Tensor> ComputeConstant(
    const std::string& op,
    const std::vector<std::pair<std::string, Tensor>>& inputs,
    const AttributeMap& attributes,
    const std::string& argument,
    ImportCost* cost);

}  // namespace sluice::onnx
