#include "sluice/laboratory/records/recorded_costs.h"

#include <string>
#include <string_view>
#include <vector>

#include "sluice/framework/choice/candidates.h"
#include "sluice/laboratory/records/nearby_records.h"
#include "sluice/laboratory/records/tuning_mode.h"
#include "sluice/platform/error.h"

namespace sluice {

namespace {

class RecordedCandidateCosts final : public CandidateCosts {
 public:
  RecordedCandidateCosts(const RecordStore& store, int num_threads)
      : store_(store), num_threads_(num_threads), nearby_(store, num_threads) {}

  void Correct(std::string_view op,
               const std::string& signature,
               std::vector<Candidate>* candidates) override {
    for (Candidate& candidate : *candidates) {
      if (candidate.refusal.empty()) UseRecord(signature, &candidate);
    }
    nearby_.Correct(op, signature, candidates);
    if (recorded_only_) DecideByRecordsOnly(candidates);
  }

 private:
  void UseRecord(const std::string& signature, Candidate* candidate) const {
    const std::string kernel = ToString(*candidate->kernel);
    const std::string place = ToString(candidate->place);
    RecordQuery query;
    query.signature = signature;
    query.kernel = kernel;
    query.kernel_version = candidate->kernel->recorded_version;
    query.threads = num_threads_;
    query.place = place;
    const FoundRecord found = store_.Find(query);
    if (found.match != RecordMatch::kExact) return;
    candidate->record = found.record;
    if (found.record->verdict == Verdict::kWrong) {
      candidate->refusal =
          Format("gave wrong results: {}", found.record->message);
    } else if (found.record->rounds > 0) {
      candidate->seconds = found.record->median;
      candidate->evidence = Evidence::kRecord;
    }
  }

  const RecordStore& store_;
  const int num_threads_;
  NearbyRecords nearby_;
  const bool recorded_only_ =
      TuningModeOfEnvironment() == TuningMode::kRecorded;
};

}  // namespace

MachineFigures RecordedCosts::Figures(int num_threads) const {
  return store_.Figures(num_threads);
}

std::unique_ptr<CandidateCosts> RecordedCosts::Begin(int num_threads) const {
  return std::make_unique<RecordedCandidateCosts>(store_, num_threads);
}

uint64_t RecordedCosts::generation() const {
  return store_.generation();
}

}  // namespace sluice
