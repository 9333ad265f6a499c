#pragma once

#include <memory>

#include "sluice/framework/costs/cost_model.h"
#include "sluice/laboratory/records/record_store.h"

namespace sluice {

// Times by records: those of the same signature, else estimates corrected by
// records of nearby sizes (NearbyRecords). With SLUICE_TUNE=recorded, records
// alone. Uses the measured figures of the machine, if any.
class RecordedCosts final : public CostModel {
 public:
  // The store must outlive it.
  explicit RecordedCosts(const RecordStore& store) : store_(store) {}

  MachineFigures Figures(int num_threads) const override;
  // Raises InvalidArgument for an unknown SLUICE_TUNE.
  std::unique_ptr<CandidateCosts> Begin(int num_threads) const override;
  uint64_t generation() const override;

 private:
  const RecordStore& store_;
};

}  // namespace sluice
