#include "sluice/laboratory/records/nearby_records.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <limits>
#include <utility>

#include "sluice/framework/costs/machine.h"

namespace sluice {

SignatureSizes SplitSizes(std::string_view signature) {
  SignatureSizes split;
  const size_t attributes = std::min(signature.find(" {"), signature.size());
  bool in_dims = false;
  for (size_t i = 0; i < attributes; ++i) {
    const char c = signature[i];
    if (in_dims && c >= '0' && c <= '9') {
      int64_t size = 0;
      const char* end = signature.data() + attributes;
      i = std::from_chars(signature.data() + i, end, size).ptr -
          signature.data() - 1;
      split.sizes.push_back(size);
      split.text += '#';
      continue;
    }
    if (c == '[') in_dims = true;
    if (c == ']') in_dims = false;
    split.text += c;
  }
  split.text += signature.substr(attributes);
  return split;
}

double Distance(const std::vector<int64_t>& a, const std::vector<int64_t>& b) {
  double most = 0;
  for (size_t i = 0; i < a.size(); ++i) {
    if (a[i] == b[i]) continue;
    if (a[i] <= 0 || b[i] <= 0) return std::numeric_limits<double>::infinity();
    const double factor = static_cast<double>(a[i]) / static_cast<double>(b[i]);
    most = std::max(most, std::abs(std::log2(factor)));
  }
  return most;
}

NearbyRecords::NearbyRecords(const RecordStore& store, int num_threads)
    : store_(store), num_threads_(num_threads), empty_(store.empty()) {}

const std::vector<NearbyRecords::Known>& NearbyRecords::RecordsOf(
    const Candidate& candidate) {
  const std::string kernel = ToString(*candidate.kernel);
  const std::string place = ToString(candidate.place);
  const auto added = known_.try_emplace(kernel + ' ' + place);
  std::vector<Known>& known = added.first->second;
  if (!added.second) return known;
  const std::string& version = candidate.kernel->recorded_version;
  store_.Near(kernel, candidate.kernel->op, [&](const Record& record) {
    const bool counts = record.threads == num_threads_ &&
                        record.place == place && !record.cold &&
                        record.rounds > 0 && record.estimate > 0 &&
                        record.verdict != Verdict::kWrong;
    if (!counts) return;
    known.push_back({.signature = SplitSizes(record.signature),
                     .factor = record.median / record.estimate,
                     .current = record.machine == MachineId().text &&
                                record.kernel_version == version});
  });
  return known;
}

double NearbyRecords::Factor(const Candidate& candidate,
                             const SignatureSizes& signature) {
  constexpr double kFarthest = 1;
  const Known* nearest = nullptr;
  double distance = 0;
  for (const Known& known : RecordsOf(candidate)) {
    if (known.signature.text != signature.text) continue;
    const double other = Distance(known.signature.sizes, signature.sizes);
    if (other > kFarthest) continue;
    const bool nearer =
        nearest == nullptr || std::pair(!known.current, other) <
                                  std::pair(!nearest->current, distance);
    if (!nearer) continue;
    nearest = &known;
    distance = other;
  }
  if (nearest == nullptr) return 0;
  return std::pow(nearest->factor, 1 - distance / 2);
}

void NearbyRecords::CorrectTimes(const std::string& signature,
                                 std::vector<Candidate>* candidates) {
  if (empty_) return;
  const SignatureSizes sizes = SplitSizes(signature);
  struct Mean {
    double logarithms = 0;
    int count = 0;
  };
  std::map<PlaceKey, Mean> means;
  for (Candidate& candidate : *candidates) {
    if (!candidate.refusal.empty() || !(candidate.estimate > 0)) continue;
    if (candidate.evidence == Evidence::kEstimate) {
      const double factor = Factor(candidate, sizes);
      if (!(factor > 0)) continue;
      candidate.seconds = candidate.estimate * factor;
      candidate.evidence = Evidence::kNearby;
    }
    Mean& mean = means[candidate.place];
    mean.logarithms += std::log(candidate.seconds / candidate.estimate);
    ++mean.count;
  }
  for (Candidate& candidate : *candidates) {
    const auto found = means.find(candidate.place);
    if (found == means.end() || !candidate.refusal.empty() ||
        candidate.evidence != Evidence::kEstimate) {
      continue;
    }
    const Mean& mean = found->second;
    candidate.seconds =
        candidate.estimate * std::exp(mean.logarithms / mean.count);
  }
}

}  // namespace sluice
