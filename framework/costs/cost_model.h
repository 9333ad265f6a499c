#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "sluice/framework/costs/machine_figures.h"
#include "sluice/platform/export.h"

// The source of candidates' times. The runtime has estimates only; the
// laboratory (libsluice_lab.so) installs a model that uses measurements.
namespace sluice {

struct Candidate;

// The times of the candidates of one preparation. Used by one thread.
class SLUICE_API CandidateCosts {
 public:
  virtual ~CandidateCosts();

  // `candidates` are all kernels of one op; seconds are estimates for those
  // that are not refused. Replaces seconds, evidence and record if more is
  // known, and refuses kernels that are known to be wrong.
  virtual void CorrectTimes(const std::string& signature,
                            std::vector<Candidate>* candidates) = 0;
};

// Thread-safe.
class SLUICE_API CostModel {
 public:
  virtual ~CostModel();

  // The machine figures for estimates.
  virtual MachineFigures Figures(int num_threads) const = 0;
  // Returns null if only estimates are known.
  virtual std::unique_ptr<CandidateCosts> Begin(int num_threads) const = 0;
  // Increases when other kernels may be chosen than before.
  virtual uint64_t generation() const = 0;
};

// Returns the model of this process. The first call loads the laboratory if
// SLUICE_TUNE is set to something else than "estimate", or SLUICE_RECORDS to
// something else than "off", or SLUICE_RECORDS is not set and a UserRecordFile
// exists. Raises FailedPrecondition if a variable requires the laboratory and
// it cannot be loaded.
SLUICE_API const CostModel& ActiveCostModel();

// Replaces the model from now on; it lives as long as the process.
SLUICE_API void SetCostModel(const CostModel* model);

// CostModel::generation() of the active model, which also rises when the model
// is replaced.
SLUICE_API uint64_t CostGeneration();

// The file with the measurements of this user's processes:
// $XDG_CACHE_HOME/sluice/records.jsonl, or ~/.cache/sluice/records.jsonl; ""
// without a home directory.
SLUICE_API std::string UserRecordFile();

}  // namespace sluice
