#pragma once

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "sluice/framework/plan/candidates.h"
#include "sluice/framework/plan/prepared_op.h"
#include "sluice/platform/export.h"

namespace sluice::framework {

// What became of a hint that prefers or requires a kernel of one op.
struct HintAnswer {
  std::string hint;  // ToString(KernelHint), with its selector in front
  bool obeyed = false;
  std::string why_not;  // "" where it is obeyed
};

// Which kernel computes one op, and why. Kept with the plan.
struct SLUICE_API Decision {
  int op_index = 0;
  std::string op;
  const KernelDef* kernel = nullptr;
  PlaceKey place;
  std::string reason;
  // Ops of the program whose work it does; none where a pass put the op in.
  std::vector<int> covers;
  std::vector<std::string> covered_ops;  // their types
  std::string pass;  // that made or put in the op; "" for one as written
  std::vector<HintAnswer> answers;
  // All that was looked at; ops of the same signature share it.
  std::shared_ptr<const CandidateList> list;
  // Bytes of inputs that a kernel at a place would have to wait for, because
  // they are elsewhere; places without any are left out.
  std::vector<std::pair<PlaceKey, int64_t>> transfers;

  const std::vector<Candidate>& candidates() const { return list->candidates; }
  int64_t transfer_bytes(PlaceKey place) const;
};

// Sets `op->list` (unless it is there), and the best of its candidates as
// `op->chosen`, with the reason. Does not make the kernel. Decides in this
// order:
//   1. refused candidates are out (CandidateLister);
//   2. of those left: what `prefer` hints name (the strongest hint first),
//      then the expected place before the CPU, then the shorter predicted time,
//      then the earlier registration.
// The dtype is never changed. Raises NotFound when nothing is left, and lists
// each refusal: where `require` hints name kernels, theirs only.
SLUICE_API void Resolve(CandidateLister* lister, PreparedOp* op);

// What became of each hint that prefers or requires something of an op whose
// kernel was chosen.
std::vector<HintAnswer> AnswerHints(const PreparedOp& op);

// Why an op would not obey `hint` if that were the only one about it; "" where
// no kernel is left.
std::string WhyNotObeyed(CandidateLister* lister,
                         const OpFacts& facts,
                         const KernelHint& hint);

// Resolves, makes the kernel and prepares it for `num_threads`, unless that was
// done. A kernel that refuses then (see OpKernel) is refused for all ops of the
// signature, and gives way to the next. Raises as Resolve.
SLUICE_API void ChooseKernel(CandidateLister* lister,
                             int num_threads,
                             PreparedOp* op);
// Chooses as ChooseKernel does, but keeps no kernel: op->kernel stays null.
// Each kernel is made, and prepared with KernelPreparation::only_asked, to see
// whether it refuses the op. For passes, which may replace the op again.
SLUICE_API void ChooseWilling(CandidateLister* lister,
                              int num_threads,
                              PreparedOp* op);

}  // namespace sluice::framework
