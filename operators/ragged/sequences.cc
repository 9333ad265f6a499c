#include "sluice/operators/ragged/sequences.h"

namespace sluice {

void CheckSequences(const OpKernelContext& context,
                    const Sequences& sequences,
                    int64_t capacity,
                    std::string_view of) {
  SLUICE_ENFORCE(sequences.begin(0) == 0, ErrorCode::kInvalidArgument,
                 "sequences.start", "{}: Offsets must start at 0, got {}",
                 context.op(), sequences.begin(0));
  for (int64_t b = 0; b < sequences.count; ++b) {
    SLUICE_ENFORCE(sequences.end(b) >= sequences.begin(b),
                   ErrorCode::kInvalidArgument, "sequences.fall",
                   "{}: Offsets must not fall: Offsets[{}] = {}, Offsets[{}] = "
                   "{}",
                   context.op(), b, sequences.begin(b), b + 1,
                   sequences.end(b));
  }
  SLUICE_ENFORCE(sequences.rows() <= capacity, ErrorCode::kInvalidArgument,
                 "sequences.end", "{}: Offsets end at {}; input {} has {} rows",
                 context.op(), sequences.rows(), of, capacity);
}

Sequences CheckedSequences(const OpKernelContext& context,
                           const Tensor& offsets,
                           int64_t capacity,
                           std::string_view of) {
  const Sequences sequences = {offsets.data<int64_t>(), offsets.numel() - 1};
  CheckSequences(context, sequences, capacity, of);
  return sequences;
}

}  // namespace sluice
