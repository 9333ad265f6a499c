#include <algorithm>

#include "sluice/framework/plan/graph.h"
#include "sluice/platform/error.h"

namespace sluice {

namespace {

std::string TimesText(double ratio) {
  return ratio < 1.05 ? "same" : Format("{:.1f}x", std::min(ratio, 999.0));
}

}  // namespace

// Whether one op is predicted to be no slower than the ops that it replaces.
// Its hints are applied to these, too, where possible: otherwise a hint would
// change the time of one side only.
bool Graph::Pays(const std::vector<int>& ids, const PreparedOp& op) {
  const auto required = [this](int id) {
    return pass_hints_.Requires(ops_[id].desc, id);
  };
  if (std::ranges::any_of(ids, required)) return true;
  PredictedTime apart;
  for (const int id : ids) {
    OpFacts facts = ops_[id];
    facts.hints = op.hints;
    const Candidate* candidate = Predict(facts);
    if (candidate == nullptr) candidate = Predict(ops_[id]);
    if (candidate == nullptr) return true;  // it would run elsewhere
    apart.Add(*candidate);
  }
  PredictedTime together;
  together.Add(op.choice());
  const auto [one, several] = ComparableSeconds(together, apart);
  const auto by = [](const PredictedTime& time) {
    return time.by_records ? Evidence::kRecord : Evidence::kEstimate;
  };
  const std::string times =
      Format("fused {}, apart {}", PredictionText(one, by(together)),
             PredictionText(several, by(apart)));
  if (one <= several) {
    fusions_[op.id] = {"apart " + TimesText(several / one), times};
    return true;
  }
  for (const int id : ids) {
    fusions_[id] = {"fused " + TimesText(one / several), times};
  }
  return false;
}

}  // namespace sluice
