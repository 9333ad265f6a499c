#pragma once

#include <cstddef>
#include <cstdint>

namespace sluice::onnx {

// Bounds on the cost of importing a model, beyond the model's own bytes. Errors
// name the exceeded bound.
struct OnnxLimits {
  // Bytes that the import creates and the file does not contain: inlined
  // functions, ops, sequences, tables and computed constants. Beyond it the
  // model is refused; a constant that is too large is computed at run time.
  uint64_t memory_bytes = uint64_t{1} << 30;
  // Additional bytes for each byte of the file and its external data.
  uint64_t memory_bytes_per_file_byte = 64;
  // Arithmetic operations and bytes moved, by the kernels' estimates, to
  // compute constants. Beyond it, constants are computed at run time.
  double folded_operations = 4e9;
  // Additional operations for each byte of the file and its external data.
  double folded_operations_per_file_byte = 4000;
};

// An op with its outputs counts as this many bytes, and four times its names.
inline constexpr uint64_t kOpBytes = 4096;

// Computing a constant counts as this many operations, plus its own.
inline constexpr double kFoldOperations = 1e5;

// Bounds on recursion, to limit stack use; the same for every import.
inline constexpr int kMostMessages = 100;  // nested messages of protobuf
inline constexpr int kMostGraphs = 16;     // nested graphs
inline constexpr size_t kMostCalls = 64;   // nested function calls

}  // namespace sluice::onnx
