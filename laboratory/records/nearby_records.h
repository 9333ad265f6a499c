#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "sluice/framework/choice/candidates.h"
#include "sluice/laboratory/records/record_store.h"
#include "sluice/platform/export.h"

namespace sluice {

// A signature (OpSignature) in two parts: its text with a # for each size of a
// tensor, and the sizes. Equal texts mean the same op, attributes, dtypes and
// ranks.
struct SignatureSizes {
  std::string text;
  std::vector<int64_t> sizes;
};
SLUICE_API SignatureSizes SplitSizes(std::string_view signature);

// The largest ratio between two corresponding sizes, as a power of two: 0 for
// equal sizes, 1 if some size is twice the other.
SLUICE_API double Distance(const std::vector<int64_t>& a,
                           const std::vector<int64_t>& b);

// Predicts times from records of nearby sizes: each size at least half and at
// most twice that of the record. The error of the estimate there is assumed
// here, with less weight the further away the record is. Reads the store when
// an op is first used; not synchronised.
class SLUICE_API NearbyRecords {
 public:
  // The store must outlive it.
  NearbyRecords(const RecordStore& store, int num_threads);

  // Corrects the times of candidates that have only an estimate. Those without
  // a nearby record are corrected by the mean of the others at their place,
  // including measured ones. Otherwise a kernel would win just because it was
  // measured, or was not.
  void CorrectTimes(const std::string& signature,
                    std::vector<Candidate>* candidates);

 private:
  struct Known {
    SignatureSizes signature;
    double factor = 1;     // measured over estimated
    bool current = false;  // this machine and kernel version
  };

  const std::vector<Known>& RecordsOf(const Candidate& candidate);
  // The factor to multiply an estimate by; 0 if no record is near.
  double Factor(const Candidate& candidate, const SignatureSizes& signature);

  const RecordStore& store_;
  int num_threads_;
  bool empty_;
  std::map<std::string, std::vector<Known>> known_;  // by kernel and place
};

}  // namespace sluice
