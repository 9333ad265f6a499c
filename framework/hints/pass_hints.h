#pragma once

#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "sluice/framework/hints/kernel_hints.h"
#include "sluice/framework/op/op_desc.h"
#include "sluice/platform/export.h"

namespace sluice {

// The hints about passes (`exclude`, `allow` or `require pass=NAME`) and their
// effects: which pass left which ops unchanged, and why. Lives with one graph;
// not synchronised.
class SLUICE_API PassHints {
 public:
  // Moves the hints about passes out of `hints` and out of `op_hints`, the ops'
  // own hints by index; each list has the strongest first.
  PassHints(std::vector<KernelHint>* hints,
            std::map<int, std::vector<KernelHint>>* op_hints);

  // Starts a pass. Returns false if a hint about all ops excludes it and no
  // hint allows it for some ops: then it need not run.
  bool Begin(std::string_view pass);

  // Returns the hint that forbids the pass to change an op, or nullptr.
  const KernelHint* Forbids(const OpDesc& op, int id) const;
  // Whether a hint requires the pass to change it, even if that takes longer.
  bool Requires(const OpDesc& op, int id) const;

  // Notes that the pass left these ops, by id and type, unchanged.
  void Note(const std::vector<std::pair<int, std::string>>& ops,
            const std::string& why);

  // Returns sentences for Explain, one for each pass and reason.
  std::vector<std::string> Remarks() const;

 private:
  const KernelHint* Strongest(const OpDesc& op, int id) const;

  struct Left {
    std::string first;  // type and id of the first op
    int times = 0;
  };

  std::vector<KernelHint> hints_;
  std::map<int, std::vector<KernelHint>> op_hints_;
  std::string pass_;
  std::vector<std::string> off_;
  std::map<std::pair<std::string, std::string>, Left> left_;
};

}  // namespace sluice
