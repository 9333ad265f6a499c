#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "sluice/framework/costs/cost_model.h"
#include "sluice/framework/costs/machine_figures.h"
#include "sluice/framework/costs/record.h"
#include "sluice/framework/hints/kernel_hints.h"
#include "sluice/framework/op/kernel_work.h"
#include "sluice/framework/op/op_desc.h"
#include "sluice/framework/op/registry.h"
#include "sluice/platform/export.h"
#include "sluice/platform/place_key.h"

namespace sluice {

// An op before kernels are considered: all shapes and dtypes are known.
struct OpFacts {
  OpDesc desc;
  int id = -1;  // its index in the program, or a later one for an op of a pass
  const OpSchema* schema = nullptr;
  DType dtype = DType::kFloat32;  // the kernel's
  std::vector<DDim> inputs;       // flattened in schema order, like the others
  std::vector<DType> input_dtypes;
  std::vector<uint8_t> input_constant;  // see KernelQuery
  std::vector<DDim> outputs;
  std::vector<DType> output_dtypes;
  // The active hints, and all hints including those that wait until later
  // passes have changed the op; the strongest first, owned by the graph.
  std::vector<const KernelHint*> hints;
  std::vector<const KernelHint*> all_hints;
  // Whether the program leaves sizes of an input open, other than 0 and 1.
  bool sizes_change = false;

  KernelQuery QueryAt(PlaceKey place) const {
    return {*schema, desc,          inputs, input_dtypes,
            outputs, output_dtypes, place,  input_constant};
  }
};

// The source of a predicted time, the best evidence first.
enum class Evidence : uint8_t {
  kRecord,    // measured on this machine, for this exact signature
  kNearby,    // an estimate, corrected by records of nearby sizes
  kEstimate,  // the kernel's work by the machine's figures
};
// "measured", "measured nearby", "estimated".
SLUICE_API std::string_view ToString(Evidence evidence);

// What a predicted time rests on, the best first.
enum class Basis : uint8_t {
  kKnown,    // a record, the kernel's estimate or its costs
  kDefault,  // default work and costs
  kNothing,  // the same, for a kernel that comes last
};

// One kernel that was considered for an op.
struct Candidate {
  const KernelDef* kernel = nullptr;
  PlaceKey place;          // where it would run
  std::string refusal;     // why it cannot; "" when it can
  bool elsewhere = false;  // refused because the executor is at another place
  // Predicted seconds of one call, if it is not refused.
  double seconds = 0;
  double estimate = 0;  // from the kernel's work, even if measured
  Evidence evidence = Evidence::kEstimate;
  Basis basis = Basis::kKnown;
  KernelWork work;  // the basis of `estimate`
  // The record of this machine for this exact signature: a time or a fault.
  // Null without one. Owned by the cost model.
  const Record* record = nullptr;
};

// The predicted time of one or several ops together.
struct PredictedTime {
  double seconds = 0;
  double estimate = 0;
  bool by_records = false;  // includes a recorded time

  void Add(const Candidate& candidate) {
    seconds += candidate.seconds;
    estimate += candidate.estimate;
    by_records |= candidate.evidence != Evidence::kEstimate;
  }
};

// Returns comparable seconds of two equivalent computations: if only one has
// records, the other's estimate is corrected by the same factor.
SLUICE_API std::pair<double, double> ComparableSeconds(const PredictedTime& a,
                                                       const PredictedTime& b);

// Why a kernel at `place` is not considered by an executor at `expected`.
SLUICE_API std::string WhyElsewhere(PlaceKey expected, std::string_view place);

// Formats a predicted time with its significant digits and its evidence: "12.3
// us measured", "12 us estimated".
SLUICE_API std::string PredictionText(double seconds, Evidence evidence);
SLUICE_API std::string PredictionText(const Candidate& candidate);

// All kernels of an op, with the facts that depend only on its signature. Ops
// of a plan with the same signature share one list.
struct CandidateList {
  std::string signature;  // OpSignature
  OpKernelType expected;  // the key that was looked up first
  PlaceKey expected_place;
  Layout layout = Layout::kAny;       // the op's
  std::vector<Candidate> candidates;  // in the order of the registry
  std::vector<std::string> hints;     // those that matched the op
  std::vector<std::string> notes;     // libraries that are disabled or missing
};

// Whether a kernel at a place matches a hint; `layout` is the op's.
SLUICE_API bool HintFits(const KernelHint& hint,
                         const KernelDef& kernel,
                         PlaceKey place,
                         Layout layout);

// Like HintFits, but for any layout.
SLUICE_API bool HintFitsButLayout(const KernelHint& hint,
                                  const KernelDef& kernel,
                                  PlaceKey place);

// Whether an op has a kernel of a dtype that matches a hint, in any layout and
// even if it refuses the op's shapes.
SLUICE_API bool NamesKernelOf(const KernelHint& hint,
                              std::string_view op,
                              DType dtype);

// Loads the modules that have kernels for `op`, unless `hints` (those about the
// op) disable their library. Returns a note for each disabled or missing one.
SLUICE_API std::vector<std::string> LoadLibraries(
    std::string_view op,
    const std::vector<const KernelHint*>& hints,
    const Registry& registry);

// Lists the candidates of ops for an executor at one place: every registered
// kernel, including those of libraries that it loads. A kernel is refused for
// its dtype, by `require` and `exclude` hints, for its place, or by
// its predicate. Lives as long as one preparation; used by one thread.
class SLUICE_API CandidateLister {
 public:
  CandidateLister(const Registry& registry,
                  PlaceKey expected_place,
                  int num_threads);
  ~CandidateLister();

  // Returns one shared list for all ops with the same signature and hints: a
  // refusal added to it applies to all of them.
  std::shared_ptr<CandidateList> List(const OpFacts& op);

 private:
  void Estimate(const OpFacts& op, Candidate* candidate) const;

  const Registry& registry_;
  PlaceKey expected_place_;
  int num_threads_;
  MachineFigures machine_;
  std::unique_ptr<CandidateCosts> costs_;  // null for estimates only
  // By signature and hints.
  std::map<std::pair<std::string, std::vector<const KernelHint*>>,
           std::shared_ptr<CandidateList>>
      lists_;
};

}  // namespace sluice
