#pragma once

#include <array>
#include <cstdint>
#include <limits>
#include <string>
#include <string_view>
#include <unordered_map>

#include "sluice/platform/dtype.h"
#include "sluice/platform/export.h"

namespace sluice {

// The counted work of one kernel call, from shapes and attributes: the prior
// that decides without measurements. What each count costs is data
// (KernelCosts).
struct KernelWork {
  // Arithmetic, in operations of the kernel's dtype with the unused elements of
  // vectors: multiply-adds count as two.
  double flops = 0;
  double loads = 0;  // operations that wait for operands from a cache
  double comparisons = 0;
  // Read and written while the kernel computes.
  double bytes = 0;
  // Read and written by additional passes before or after that: any, of copies
  // to another layout, of transposed copies.
  double extra_bytes = 0;
  double copied_bytes = 0;
  double transposed_bytes = 0;
  double library_calls = 0;
  // Work that overlaps with nothing.
  double setups = 0;           // of a call
  double moves = 0;            // elements, one by one
  double copies = 0;           // elements, in vectors
  double patches = 0;          // elements of windows that im2col copies
  double strided_patches = 0;  // those with a stride between them
  double scalar_patches = 0;   // those that are copied one by one
  double runs = 0;             // contiguous pieces that are copied or summed
  double products = 0;         // of matrices
  double tiles = 0;            // of the products
  double packed = 0;           // elements of matrices, copied to panels
  double scalar_packed = 0;    // those that are packed one by one
  double transposed = 0;       // elements of matrices
  double aliased = 0;          // elements in rows that share cache sets
  double evicted = 0;          // elements whose cache line is read again
  double dots = 0;             // dot products, each with a sum over a vector
  double tail_terms = 0;       // terms of dot products after whole vectors
  double terms = 0;            // elements of windows, or of sums
  double rows = 0;             // inner loops
  double vectors = 0;          // inner steps
  double strided_vectors = 0;  // those with a stride
  double windows = 0;          // of a convolution or a pooling
  double taps = 0;             // elements of windows, for all channels at once
  double inputs = 0;           // elements
  double strided_inputs = 0;   // elements that are copied with a stride
  double outputs = 0;          // elements
  double filters = 0;          // elements
  double copied_inputs = 0;    // elements, to another layout
  double copied_outputs = 0;   // elements, from another layout
  double channels = 0;
  double sums = 0;  // elements that are added up

  double parallel_loops = 1;
  // The number of equal pieces that threads share; infinity means enough.
  double max_threads = std::numeric_limits<double>::infinity();
  // Seconds of Prepare, for kernels that generate code for each shape.
  double prepare_seconds = 0;
  // Of what a kernel keeps of parameters, beyond their own bytes.
  double kept_bytes = 0;
  // The row of costs, for kernels that share code or have several methods; ""
  // means the kernel's own (CostRow).
  std::string costs = {};
};

// The unit of a cost c: the time of c operations at the machine's peak, of c
// bytes at its bandwidth, of c calls of a library, or c nanoseconds, which
// threads share.
enum class CostUnit : uint8_t { kOperations, kBytes, kPassBytes, kCalls, kNs };

struct WorkCount {
  std::string_view name;
  double KernelWork::*count;
  CostUnit unit;
};

// All counts.
inline constexpr WorkCount kWorkCounts[] = {
    {"flops", &KernelWork::flops, CostUnit::kOperations},
    {"loads", &KernelWork::loads, CostUnit::kOperations},
    {"comparisons", &KernelWork::comparisons, CostUnit::kOperations},
    {"bytes", &KernelWork::bytes, CostUnit::kBytes},
    {"extra_bytes", &KernelWork::extra_bytes, CostUnit::kPassBytes},
    {"copied_bytes", &KernelWork::copied_bytes, CostUnit::kPassBytes},
    {"transposed_bytes", &KernelWork::transposed_bytes, CostUnit::kPassBytes},
    {"library_calls", &KernelWork::library_calls, CostUnit::kCalls},
    {"setups", &KernelWork::setups, CostUnit::kNs},
    {"moves", &KernelWork::moves, CostUnit::kNs},
    {"copies", &KernelWork::copies, CostUnit::kNs},
    {"patches", &KernelWork::patches, CostUnit::kNs},
    {"strided_patches", &KernelWork::strided_patches, CostUnit::kNs},
    {"scalar_patches", &KernelWork::scalar_patches, CostUnit::kNs},
    {"runs", &KernelWork::runs, CostUnit::kNs},
    {"products", &KernelWork::products, CostUnit::kNs},
    {"tiles", &KernelWork::tiles, CostUnit::kNs},
    {"packed", &KernelWork::packed, CostUnit::kNs},
    {"scalar_packed", &KernelWork::scalar_packed, CostUnit::kNs},
    {"transposed", &KernelWork::transposed, CostUnit::kNs},
    {"aliased", &KernelWork::aliased, CostUnit::kNs},
    {"evicted", &KernelWork::evicted, CostUnit::kNs},
    {"dots", &KernelWork::dots, CostUnit::kNs},
    {"tail_terms", &KernelWork::tail_terms, CostUnit::kNs},
    {"terms", &KernelWork::terms, CostUnit::kNs},
    {"rows", &KernelWork::rows, CostUnit::kNs},
    {"vectors", &KernelWork::vectors, CostUnit::kNs},
    {"strided_vectors", &KernelWork::strided_vectors, CostUnit::kNs},
    {"windows", &KernelWork::windows, CostUnit::kNs},
    {"taps", &KernelWork::taps, CostUnit::kNs},
    {"inputs", &KernelWork::inputs, CostUnit::kNs},
    {"strided_inputs", &KernelWork::strided_inputs, CostUnit::kNs},
    {"outputs", &KernelWork::outputs, CostUnit::kNs},
    {"filters", &KernelWork::filters, CostUnit::kNs},
    {"copied_inputs", &KernelWork::copied_inputs, CostUnit::kNs},
    {"copied_outputs", &KernelWork::copied_outputs, CostUnit::kNs},
    {"channels", &KernelWork::channels, CostUnit::kNs},
    {"sums", &KernelWork::sums, CostUnit::kNs},
};

// The cost of each of kWorkCounts, in its unit.
using CountCosts = std::array<double, std::size(kWorkCounts)>;

// The costs of the counts of kernels: a table with a row for each kernel or
// method of one, from JSON:
//   {"kind": "costs", "machine": "AMD EPYC ...", "costs": {
//     "default": {"flops": 4, "moves": 0.4},
//     "transpose/PLAIN/plain": {"moves": 0.64, "runs": 2.8},
//     "transpose/PLAIN/plain float16": {"moves": 0.5}}}
// A row that ends with a dtype is for that dtype. What it lacks is in the row
// without the dtype, and what that lacks in "default". A value; const functions
// may be called by any threads.
class SLUICE_API KernelCosts {
 public:
  // The costs that are part of the library.
  static const KernelCosts& Default();

  // The costs of this process: Default() with those of a file, which is
  // SLUICE_COSTS, else costs-<MachineId().hash>.json in the first of
  // RecordFolders() that has it. SLUICE_COSTS=default means no file. A file
  // that cannot be used is a warning in the log, and the costs are Default().
  // Read by the first call.
  static const KernelCosts& Active();

  // Default() with what `json` has. Raises InvalidArgument if it is not of this
  // form or for another machine than this one, with the reason.
  explicit KernelCosts(std::string_view json);

  // The costs of a row for kernels of a dtype; "default" for an unknown row.
  const CountCosts& Of(const std::string& row, DType dtype) const;

  bool Has(const std::string& row) const { return rows_.contains(row); }

 private:
  std::unordered_map<std::string, CountCosts> rows_;
};

}  // namespace sluice
