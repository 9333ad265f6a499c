#pragma once

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "sluice/framework/op_desc.h"
#include "sluice/framework/plan/kernel_hints.h"
#include "sluice/framework/registry.h"
#include "sluice/platform/export.h"
#include "sluice/platform/place_key.h"

namespace sluice::framework {

// One kernel that was looked at for an op.
struct Candidate {
  const KernelDef* kernel = nullptr;
  PlaceKey place;              // where it would run
  std::string refusal;         // why it cannot; "" when it can
  int priority = 0;            // for this op
  int64_t transfer_bytes = 0;  // of inputs that would have to move there
};

// Which kernel computes one op, and why. Kept with the plan.
struct Decision {
  int op_index = 0;
  std::string op;
  OpKernelType expected;  // what was looked for first
  PlaceKey expected_place;
  const KernelDef* kernel = nullptr;
  PlaceKey place;
  std::string reason;
  std::vector<Candidate> candidates;
  std::vector<std::string> hints;  // those that spoke about this op
  std::vector<std::string> notes;  // libraries that are off or not there
};

// What the resolver is asked.
struct ResolveRequest {
  const OpSchema& schema;
  const OpDesc& op;
  int op_index = 0;
  PlaceKey expected_place = {};
  DType dtype = DType::kFloat32;
  std::vector<DDim> inputs = {};  // flattened in schema order, as the others
  std::vector<DType> input_dtypes = {};
  std::vector<DDim> outputs = {};
  std::vector<DType> output_dtypes = {};
  std::vector<std::vector<PlaceKey>> input_places = {};  // where values are
  std::vector<uint8_t> input_constant = {};              // as KernelQuery's
  std::vector<bool> input_moves = {};  // false: read on the host, shape only
  std::vector<KernelHint> hints = {};  // all active ones, the strongest first
  // Kernels that were made and then raised Unimplemented, with their words.
  std::vector<std::pair<const KernelDef*, std::string>> refused = {};
};

// Whether a kernel at a place is one that the hint speaks of.
SLUICE_API bool HintFits(const KernelHint& hint,
                         const KernelDef& kernel,
                         PlaceKey place);

// Loads the modules that have kernels for `op`, unless `hints` (those about the
// op) turn their library off. Adds a note for each that is off or not there.
SLUICE_API void LoadLibraries(std::string_view op,
                              const std::vector<const KernelHint*>& hints,
                              const Registry& registry,
                              std::vector<std::string>* notes);

// A decision with the kernel that was made for it and has been prepared.
struct ChosenKernel {
  Decision decision;
  std::unique_ptr<OpKernel> kernel;
  size_t scratch_bytes = 0;
};
// Resolves, makes the kernel and prepares it for `num_threads`. One that
// refuses then (see OpKernel) gives way to the next. Raises as Resolve.
SLUICE_API ChosenKernel ChooseKernel(ResolveRequest request,
                                     const Registry& registry,
                                     int num_threads);

// Decides in this order, and says so in the Decision:
//   1. the expected key: the executor's place, the op's dtype and layout;
//   2. every registered kernel becomes a candidate, those of libraries that are
//      loaded now included, or is refused for its dtype, its layout, its place,
//      by its predicate or by its Prepare;
//   3. `require` and `exclude` hints refuse what they exclude;
//   4. of those left: what `prefer` hints name (the strongest hint first),
//      then the expected place before the CPU, then the higher priority, then
//      the earlier registration.
// The dtype is never changed. Raises NotFound when nothing is left, and lists
// each refusal.
SLUICE_API Decision Resolve(const ResolveRequest& request,
                            const Registry& registry);

}  // namespace sluice::framework
