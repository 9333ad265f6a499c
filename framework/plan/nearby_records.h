#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "sluice/framework/measure/record_store.h"
#include "sluice/framework/plan/candidates.h"
#include "sluice/platform/export.h"

namespace sluice::framework {

// A signature (OpSignature) in two parts: its text with a # for each size of
// a tensor, and the sizes. Signatures with the same text are of one op with
// the same attributes, dtypes and numbers of dims.
struct SignatureSizes {
  std::string text;
  std::vector<int64_t> sizes;
};
SLUICE_API SignatureSizes SplitSizes(std::string_view signature);

// The largest factor between two sizes in the same place, as a power of two:
// 0 for equal sizes, 1 where some size is twice the other.
SLUICE_API double Distance(const std::vector<int64_t>& a,
                           const std::vector<int64_t>& b);

// Predicted times by records of nearby sizes: each size at most twice, and at
// least half of, what it is in the record. By how much an estimate was wrong
// there, it is taken to be wrong here, the less the further away the record
// is. Reads the store when an op is first asked for; not synchronised.
class SLUICE_API NearbyRecords {
 public:
  // The store outlives it.
  NearbyRecords(const RecordStore& store, int num_threads);

  // Corrects the times of candidates that have an estimate only. Those without
  // a nearby record of their own are corrected by the mean of the others at
  // their place, measured ones included: else a kernel would win only for
  // having been measured, or for not having been.
  void Correct(std::string_view op,
               const std::string& signature,
               std::vector<Candidate>* candidates);

 private:
  struct Known {
    SignatureSizes signature;
    double factor = 1;     // measured over estimated
    bool current = false;  // of this machine and the kernel's version
  };

  const std::vector<Known>& RecordsOf(const Candidate& candidate,
                                      std::string_view op);
  // What an estimate is to be multiplied by; 0 where nothing is near.
  double Factor(const Candidate& candidate,
                std::string_view op,
                const SignatureSizes& signature);

  const RecordStore& store_;
  int num_threads_;
  bool empty_;
  std::map<std::string, std::vector<Known>> known_;  // by kernel and place
};

}  // namespace sluice::framework
