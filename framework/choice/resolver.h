#pragma once

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "sluice/framework/choice/candidates.h"
#include "sluice/framework/choice/prepared_op.h"
#include "sluice/framework/choice/reason.h"
#include "sluice/platform/export.h"

namespace sluice {

// Whether a hint that prefers or requires a kernel of one op was obeyed.
struct HintAnswer {
  std::string hint;  // ToString(KernelHint), after its selector
  bool obeyed = false;
  std::string why_not;  // "" if it is obeyed
  // It is not, because a record says that its kernel gave wrong results.
  bool known_wrong = false;
};

// Which kernel computes one op, and why. Kept with the plan.
struct SLUICE_API Decision {
  int op_index = 0;
  std::string op;
  const KernelDef* kernel = nullptr;
  PlaceKey place;
  Why why;
  std::string reason;  // `why`, with times and the whole hint
  // Ops of the program that it computes; none for an op that a pass added.
  std::vector<int> covers;
  std::vector<std::string> covered_ops;  // their types
  std::string pass;  // pass that created the op; "" for one as written
  std::vector<HintAnswer> answers;
  // All candidates; ops of the same signature share them.
  std::shared_ptr<const CandidateList> list;
  // Bytes of inputs that a kernel at a place would have to wait for, because
  // they are elsewhere; places without any have no entry.
  std::vector<std::pair<PlaceKey, int64_t>> transfers;

  const std::vector<Candidate>& candidates() const { return list->candidates; }
  int64_t transfer_bytes(PlaceKey place) const;
};

// Sets `op->list` (unless it is there), and the best two of its candidates as
// `op->chosen` and `op->second`. Does not make the kernel. Returns false when
// no candidate is left. Decides in this order:
//   1. refused candidates are out (CandidateLister);
//   2. of the others: those that match `prefer` hints (strongest first),
//      then the expected place before the CPU, then those that do not come
//      last, then the shorter predicted time (PreparedOp::SecondsOfRun), then
//      the earlier registration.
// The dtype is never changed.
SLUICE_API bool Resolve(CandidateLister* lister, PreparedOp* op);

// Returns the strongest hint that one of two candidates fits and the other does
// not; null if there is none.
const KernelHint* PreferredBy(const PreparedOp& op,
                              const Candidate& a,
                              const Candidate& b);

// Returns whether each `prefer` and `require` hint of an op was obeyed, after
// its kernel was chosen.
std::vector<HintAnswer> AnswerHints(const PreparedOp& op);

// Returns why an op would not obey `hint` if that were its only one; no text if
// no kernel is left.
WhyNot WhyNotObeyed(CandidateLister* lister,
                    const OpFacts& facts,
                    const KernelHint& hint);

// Resolves, makes the kernel and prepares it for `num_threads`, unless that was
// done, and sets the reason. A kernel that then refuses (see OpKernel) is
// refused for all ops of the signature, and the next one is tried. Raises
// NotFound when none is left, with each refusal.
SLUICE_API void ChooseKernel(CandidateLister* lister,
                             int num_threads,
                             PreparedOp* op);
// Makes a kernel for op `op_index` of the query of `preparation`, and prepares
// it for that number of threads, or for one if more are of no use. Raises what
// the kernel raises.
SLUICE_API std::unique_ptr<OpKernel> MakePreparedKernel(
    const KernelDef& kernel, int op_index, KernelPreparation* preparation);
// Like ChooseKernel, but keeps no kernel: op->kernel stays null. Each kernel is
// made, and prepared with KernelPreparation::probe, to see whether it
// refuses the op. Returns false when all do. For passes, which may replace the
// op again.
SLUICE_API bool ProbeKernels(CandidateLister* lister,
                             int num_threads,
                             PreparedOp* op);

}  // namespace sluice
