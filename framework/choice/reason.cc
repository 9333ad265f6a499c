#include "sluice/framework/choice/reason.h"

#include "sluice/platform/error.h"

namespace sluice {

namespace {

struct ReasonRow {
  std::string_view name;
  std::string_view text;
};

// Indexed by Reason. A text that ends with a blank precedes the subject.
constexpr ReasonRow kReasons[] = {
    {"only_kernel", "only kernel"},
    {"fastest_estimate", "fastest estimate"},
    {"fastest_measured", "fastest measured"},
    {"fastest_nearby", "fastest at nearby size"},
    {"near_tie", "near tie"},
    {"tie", "tie, registered first"},
    {"prepared_sooner", "prepared sooner"},
    {"keeps_less", "keeps less memory"},
    {"others_unmeasured", "others not measured"},
    {"hint_requires", "hint requires "},
    {"hint_prefers", "hint prefers "},
    {"others_excluded", "others excluded by hint"},
    {"others_wrong", "others gave wrong results"},
    {"kept_at_place", "kept at "},
    {"fell_back", "no kernel at "},
    {"runs_blocks", "runs its blocks"},
    {"chosen_for_size", "chosen for "},
};

}  // namespace

std::string ToString(const Why& why) {
  const ReasonRow& row = kReasons[static_cast<int>(why.reason)];
  const bool parted = row.text.ends_with(' ') || why.subject.empty();
  return Format("{}{}{}", row.text, parted ? "" : ", ", why.subject);
}

bool IsByHint(Reason reason) {
  return reason == Reason::kHintRequires || reason == Reason::kHintPrefers ||
         reason == Reason::kOthersExcluded;
}

std::string_view NameOf(Reason reason) {
  return kReasons[static_cast<int>(reason)].name;
}

}  // namespace sluice
