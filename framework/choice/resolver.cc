#include "sluice/framework/choice/resolver.h"

#include "sluice/framework/choice/op_signature.h"
#include "sluice/framework/choice/op_threads.h"
#include "sluice/framework/choice/reason_text.h"
#include "sluice/framework/op/kernel_call.h"
#include "sluice/platform/error.h"

namespace sluice {

const KernelHint* PreferredBy(const PreparedOp& op,
                              const Candidate& a,
                              const Candidate& b) {
  for (const KernelHint* hint : op.hints) {
    if (hint->Wants() && op.Fits(*hint, a) != op.Fits(*hint, b)) return hint;
  }
  return nullptr;
}

namespace {

bool Better(const PreparedOp& op, const Candidate& a, const Candidate& b) {
  if (const KernelHint* hint = PreferredBy(op, a, b)) {
    return op.Fits(*hint, a);
  }
  const bool a_expected = a.place == op.list->expected_place;
  const bool b_expected = b.place == op.list->expected_place;
  if (a_expected != b_expected) return a_expected;
  const bool a_last = a.basis == Basis::kNothing;
  const bool b_last = b.basis == Basis::kNothing;
  if (a_last != b_last) return b_last;
  return op.SecondsOfRun(a) < op.SecondsOfRun(b);
}

void UseOwnKernel(PreparedOp* op) {
  const auto list = std::make_shared<CandidateList>();
  list->signature = OpSignature(*op);
  list->expected_place = CPUPlace();
  Candidate& candidate = list->candidates.emplace_back();
  candidate.kernel = op->own_kernel->def;
  candidate.place = CPUPlace();
  candidate.seconds = candidate.estimate = op->own_kernel->seconds;
  op->list = list;
  op->chosen = 0;
}

// Makes and prepares the kernel of op->choice(); keeps it unless `probe`.
// If the kernel refuses the op, returns false and stores its message as the
// candidate's refusal.
bool MakeKernel(int num_threads, bool probe, PreparedOp* op) {
  Candidate& choice = op->list->candidates[op->chosen];
  try {
    const KernelQuery query = op->QueryAt(choice.place);
    KernelPreparation preparation{query};
    preparation.num_threads = num_threads;
    preparation.probe = probe;
    std::unique_ptr<OpKernel> kernel;
    if (op->own_kernel != nullptr) {
      kernel = op->own_kernel->make();
      kernel->Prepare(preparation);
    } else {
      kernel = MakePreparedKernel(*choice.kernel, op->id, &preparation);
    }
    if (probe) return true;
    op->kernel = std::move(kernel);
    op->scratch_bytes = preparation.scratch_bytes;
    return true;
  } catch (const Error& error) {
    if (error.code() != ErrorCode::kUnimplemented) throw;
    choice.refusal = error.what();
    return false;
  }
}

}  // namespace

std::unique_ptr<OpKernel> MakePreparedKernel(const KernelDef& kernel,
                                             int op_index,
                                             KernelPreparation* preparation) {
  const KernelQuery& query = preparation->query;
  const int all = preparation->num_threads;
  preparation->num_threads = ThreadsFor(query, kernel, all);
  auto made =
      MakePrepared(kernel, {query.op, kernel.key, op_index}, preparation);
  return preparation->num_threads == all ? std::move(made)
                                         : OnOneThread(std::move(made));
}

int64_t Decision::transfer_bytes(PlaceKey at) const {
  for (const auto& [transfer_place, bytes] : transfers) {
    if (transfer_place == at) return bytes;
  }
  return 0;
}

bool Resolve(CandidateLister* lister, PreparedOp* op) {
  if (op->own_kernel != nullptr) {
    UseOwnKernel(op);
    return true;
  }
  if (op->list == nullptr) op->list = lister->List(*op);
  const auto& candidates = op->list->candidates;
  op->chosen = op->second = -1;
  for (int i = 0; i < static_cast<int>(candidates.size()); ++i) {
    const auto beats = [&](int other) {
      return other < 0 || Better(*op, candidates[i], candidates[other]);
    };
    if (!candidates[i].refusal.empty()) continue;
    if (beats(op->chosen)) {
      op->second = std::exchange(op->chosen, i);
    } else if (beats(op->second)) {
      op->second = i;
    }
  }
  return op->chosen >= 0;
}

std::vector<HintAnswer> AnswerHints(const PreparedOp& op) {
  std::vector<HintAnswer> answers;
  for (const KernelHint* hint : op.hints) {
    if (!hint->Wants()) continue;
    HintAnswer answer{Format("{}: {}", hint->selector, *hint),
                      op.Fits(*hint, op.choice()), ""};
    if (!answer.obeyed) {
      WhyNot why = WhyNotObeyed(op, *hint);
      answer.why_not = std::move(why.text);
      answer.known_wrong = why.known_wrong;
    }
    answers.push_back(std::move(answer));
  }
  return answers;
}

WhyNot WhyNotObeyed(CandidateLister* lister,
                    const OpFacts& facts,
                    const KernelHint& hint) {
  PreparedOp op;
  static_cast<OpFacts&>(op) = facts;
  op.hints = {&hint};
  return Resolve(lister, &op) ? WhyNotObeyed(op, hint) : WhyNot();
}

void ChooseKernel(CandidateLister* lister, int num_threads, PreparedOp* op) {
  while (op->kernel == nullptr) {
    if (!Resolve(lister, op)) RaiseNoKernel(*op);
    if (MakeKernel(num_threads, false, op)) GiveReason(op);
  }
}

bool ProbeKernels(CandidateLister* lister, int num_threads, PreparedOp* op) {
  do {
    if (!Resolve(lister, op)) return false;
  } while (!MakeKernel(num_threads, true, op));
  return true;
}

}  // namespace sluice
