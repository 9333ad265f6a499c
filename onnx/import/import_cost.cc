#include "sluice/onnx/import/import_cost.h"

#include <algorithm>
#include <cstdint>
#include <limits>

#include "sluice/framework/run/run_op.h"
#include "sluice/platform/error.h"

namespace sluice::onnx {

namespace {

constexpr uint64_t kMostMemory = std::numeric_limits<uint64_t>::max();

uint64_t SaturatedProduct(uint64_t a, uint64_t b) {
  uint64_t product = 0;
  return __builtin_mul_overflow(a, b, &product) ? kMostMemory : product;
}

}  // namespace

ImportCost::ImportCost(const OnnxLimits& limits, uint64_t file_bytes)
    : limits_(limits),
      memory_(limits.memory_bytes),
      left_(limits.memory_bytes),
      operations_(limits.folded_operations) {
  AddFileBytes(file_bytes);
}

void ImportCost::AddFileBytes(uint64_t bytes) {
  const uint64_t more =
      std::min(SaturatedProduct(limits_.memory_bytes_per_file_byte, bytes),
               kMostMemory - memory_);
  memory_ += more;
  left_ += more;
  operations_ +=
      limits_.folded_operations_per_file_byte * static_cast<double>(bytes);
}

void ImportCost::Need(std::string_view what, uint64_t count, uint64_t bytes) {
  Check(what, count, bytes);
  left_ -= count * bytes;
}

void ImportCost::Check(std::string_view what,
                       uint64_t count,
                       uint64_t bytes) const {
  const uint64_t wanted = SaturatedProduct(count, bytes);
  if (wanted <= left_) return;
  Raise(ErrorCode::kResourceExhausted, "onnx.import_memory",
        "{} would take {} bytes of memory; {} are left of the {} "
        "that the import may take beyond the model's own bytes. To "
        "allow more, set limits={{\"memory_bytes\": ...}} of "
        "sl.onnx.load in Python, or OnnxOptions::limits.memory_bytes "
        "in C++",
        what, wanted, left_, memory_);
}

bool ImportCost::Take(uint64_t count, uint64_t bytes) {
  const uint64_t wanted = SaturatedProduct(count, bytes);
  if (wanted > left_) return false;
  left_ -= wanted;
  return true;
}

bool ImportCost::TakeOperations(double count) {
  if (count > operations_) return false;
  operations_ -= count;
  return true;
}

void ImportCost::NeedExternal(const std::string& path,
                              uint64_t size,
                              uint64_t bytes) {
  uint64_t& unread = unread_.try_emplace(path, size).first->second;
  const uint64_t first = std::min(unread, bytes);
  unread -= first;
  AddFileBytes(first);
  Need("external data that is read several times", bytes - first);
}

namespace {

// Bytes of the plan's results with known shapes.
uint64_t BytesOfResults(const Plan& plan) {
  uint64_t bytes = 0;
  for (const Slot& slot : plan.slots()) {
    if (slot.kind == SlotKind::kFetch) bytes += slot.bytes;
  }
  return bytes;
}

uint64_t BytesOfArenas(const Plan& plan) {
  uint64_t bytes = 0;
  for (const auto& [place, arena] : plan.arenas()) {
    bytes += arena;
  }
  return bytes;
}

// Arithmetic and bytes moved, by the estimates of the chosen kernels.
double OperationsOf(const Plan& plan) {
  double operations = 0;
  for (const Decision& decision : plan.decisions()) {
    for (const Candidate& candidate : decision.candidates()) {
      if (candidate.kernel != decision.kernel) continue;
      for (const WorkCount& count : kWorkCounts) {
        operations += candidate.work.*count.count;
      }
      break;
    }
  }
  return operations;
}

}  // namespace

std::optional<Tensor> ComputeConstant(
    const std::string& op,
    const std::vector<std::pair<std::string, Tensor>>& inputs,
    const AttributeMap& attributes,
    const std::string& argument,
    ImportCost* cost) {
  // Checked before the plan is made, because making it is what costs time.
  if (!cost->TakeOperations(kFoldOperations)) return std::nullopt;
  const OneOp one = MakeOneOp(op, inputs, attributes);
  Executor executor;
  const auto plan = executor.Prepare(one.program, one.feeds, one.fetches);
  const uint64_t arenas = BytesOfArenas(*plan);
  const uint64_t results = BytesOfResults(*plan);
  if (!cost->TakeOperations(OperationsOf(*plan)) || !cost->Take(arenas)) {
    return std::nullopt;
  }
  cost->Return(arenas);
  if (!cost->Take(results)) return std::nullopt;
  const std::vector<Tensor> values =
      executor.Run(one.program, one.feeds, one.fetches);
  for (size_t i = 0; i < values.size(); ++i) {
    if (one.arguments[i] == argument) return values[i];
  }
  return std::nullopt;
}

}  // namespace sluice::onnx
