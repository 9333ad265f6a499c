#pragma once

#include <string>
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
  std::vector<bool> input_moves = {};  // false: read on the host, shape only
  std::vector<KernelHint> hints = {};  // all active ones, the strongest first
};

// Decides in this order, and says so in the Decision:
//   1. the expected key: the executor's place, the op's dtype and layout;
//   2. every registered kernel becomes a candidate, or is refused for its
//      dtype, its layout, its place or by its predicate;
//   3. `require` hints refuse what they exclude;
//   4. of those left: what `prefer` hints name (the strongest hint first),
//      then the expected place before the CPU, then the higher priority, then
//      the earlier registration.
// The dtype is never changed. Raises NotFound when nothing is left, and lists
// each refusal.
SLUICE_API Decision Resolve(const ResolveRequest& request,
                            const Registry& registry);

}  // namespace sluice::framework
