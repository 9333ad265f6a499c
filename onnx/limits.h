#pragma once

#include <cstddef>
#include <cstdint>

namespace sluice::onnx {

// Bounds on what the import of a model may cost beyond the model's own bytes.
// Errors name the bound that was reached.
struct OnnxLimits {
  // Bytes for what the import makes and the file does not hold: bodies of
  // functions in the place of their calls, ops, sequences, tables, and
  // constants that are computed. Past it, the model is refused; a constant that
  // is too large is computed when the model runs.
  uint64_t memory_bytes = uint64_t{1} << 30;
  // So many more for each byte of the file, and of its external data.
  uint64_t memory_bytes_per_file_byte = 64;
  // Arithmetic operations and bytes moved, by the estimates of the kernels, to
  // compute constants. Further ones are computed when the model runs.
  double folded_operations = 4e9;
  // So many more for each byte of the same.
  double folded_operations_per_file_byte = 4000;
};

// An op and the variables that it makes are counted as so many bytes, and four
// times their names.
inline constexpr uint64_t kOpBytes = 4096;

// To compute a constant is counted as so many operations, and its own.
inline constexpr double kFoldOperations = 1e5;

// What keeps the stack small; the same for every import.
inline constexpr int kMostMessages = 100;  // messages of protobuf in each other
inline constexpr int kMostGraphs = 16;     // graphs in each other
inline constexpr size_t kMostCalls = 64;   // functions that call each other

}  // namespace sluice::onnx
