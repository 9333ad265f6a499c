#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "sluice/framework/hints/kernel_hints.h"
#include "sluice/framework/measure/machine_figures.h"
#include "sluice/framework/measure/record.h"
#include "sluice/framework/op/kernel_work.h"
#include "sluice/framework/op/op_desc.h"
#include "sluice/framework/op/registry.h"
#include "sluice/platform/export.h"
#include "sluice/platform/place_key.h"

namespace sluice::framework {

// What is known of an op before kernels are looked at: all shapes and dtypes.
struct OpFacts {
  OpDesc desc;
  int id = -1;  // its index in the program, or a later one for a pass's op
  const OpSchema* schema = nullptr;
  DType dtype = DType::kFloat32;  // the kernel's
  std::vector<DDim> inputs;       // flattened in schema order, as the others
  std::vector<DType> input_dtypes;
  std::vector<uint8_t> input_constant;  // as KernelQuery's
  std::vector<DDim> outputs;
  std::vector<DType> output_dtypes;
  // Those that count, and with them those that wait for what later passes make
  // of the op; the strongest first, owned by the graph.
  std::vector<const KernelHint*> hints;
  std::vector<const KernelHint*> all_hints;

  KernelQuery QueryAt(PlaceKey place) const {
    return {*schema, desc,          inputs, input_dtypes,
            outputs, output_dtypes, place,  input_constant};
  }
};

// Where a kernel finds the arguments of an op.
SLUICE_API ArgTable MakeArgTable(const OpFacts& op);

// Where a predicted time comes from, the best evidence first.
enum class Evidence : uint8_t {
  kRecord,    // measured on this machine, for this very signature
  kNearby,    // an estimate, corrected by records of nearby sizes
  kEstimate,  // the kernel's work by the machine's figures
};
// "measured", "measured nearby", "estimated".
SLUICE_API std::string_view ToString(Evidence evidence);

// One kernel that was looked at for an op.
struct Candidate {
  const KernelDef* kernel = nullptr;
  PlaceKey place;       // where it would run
  std::string refusal;  // why it cannot; "" when it can
  // What one call takes, where nothing refuses it.
  double seconds = 0;
  double estimate = 0;  // what the kernel's work says, also where measured
  Evidence evidence = Evidence::kEstimate;
  KernelWork work;  // what `estimate` was made of
  // What was measured or found wrong on this machine for this very signature;
  // null where nothing was. Belongs to RecordStore::Default().
  const Record* record = nullptr;
};

// What one or several ops take together.
struct PredictedTime {
  double seconds = 0;
  double estimate = 0;
  bool by_records = false;  // some of it comes from records

  void Add(const Candidate& candidate) {
    seconds += candidate.seconds;
    estimate += candidate.estimate;
    by_records |= candidate.evidence != Evidence::kEstimate;
  }
};

// The seconds of two ways to compute the same, comparably: where records speak
// of only one, the estimate of the other is taken to be as far off.
SLUICE_API std::pair<double, double> ComparableSeconds(const PredictedTime& a,
                                                       const PredictedTime& b);

// The layout that an op's kernel is asked to have: that of its data_format.
Layout ExpectedLayout(const OpDesc& op);

// "12.3 us measured", "12 us estimated": a predicted time with the digits that
// are known of it, and where it comes from.
SLUICE_API std::string PredictionText(double seconds, Evidence evidence);
SLUICE_API std::string PredictionText(const Candidate& candidate);

// All kernels of an op, with what depends on the op's signature alone. Ops of
// a plan with the same signature share one list.
struct CandidateList {
  std::string signature;  // OpSignature
  OpKernelType expected;  // what was looked for first
  PlaceKey expected_place;
  std::vector<Candidate> candidates;  // in the order of the registry
  std::vector<std::string> hints;     // that spoke about the op
  std::vector<std::string> notes;     // libraries that are off or not there
};

// Whether a kernel at a place fits what the hint names; `layout` is that
// of the op.
SLUICE_API bool HintFits(const KernelHint& hint,
                         const KernelDef& kernel,
                         PlaceKey place,
                         Layout layout);

// The same whatever the layout.
SLUICE_API bool HintFitsButLayout(const KernelHint& hint,
                                  const KernelDef& kernel,
                                  PlaceKey place);

// Whether an op has a kernel for a dtype that fits a hint, whatever its layout
// and whether or not it takes the op's shapes.
SLUICE_API bool NamesKernelOf(const KernelHint& hint,
                              std::string_view op,
                              DType dtype);

// Loads the modules that have kernels for `op`, unless `hints` (those about the
// op) turn their library off. Returns a note for each that is off or not there.
SLUICE_API std::vector<std::string> LoadLibraries(
    std::string_view op,
    const std::vector<const KernelHint*>& hints,
    const Registry& registry);

class NearbyRecords;

// Lists the candidates of ops for an executor at one place: every registered
// kernel, those of libraries that are loaded on the way included. One is
// refused for its dtype, its layout, by `require` and `exclude` hints, for its
// place, or by its predicate. Lives as long as one preparation; used by one
// thread.
class SLUICE_API CandidateLister {
 public:
  CandidateLister(const Registry& registry,
                  PlaceKey expected_place,
                  int num_threads);
  ~CandidateLister();

  // The same list for every op with the same signature and hints, so that a
  // refusal that is added to it holds for all of them.
  std::shared_ptr<CandidateList> List(const OpFacts& op);

 private:
  void Predict(const OpFacts& op,
               const std::string& signature,
               Candidate* candidate) const;

  const Registry& registry_;
  PlaceKey expected_place_;
  int num_threads_;
  MachineFigures machine_;
  std::unique_ptr<NearbyRecords> nearby_;
  std::unordered_map<std::string, std::shared_ptr<CandidateList>> lists_;
};

}  // namespace sluice::framework
