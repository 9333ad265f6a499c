#pragma once

#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "sluice/framework/hints/kernel_hints.h"
#include "sluice/framework/op/op_desc.h"
#include "sluice/platform/export.h"

namespace sluice::framework {

// The hints about passes (`exclude pass=NAME`, `allow pass=NAME`), and what
// became of them: which pass left which ops as they are, and why. Lives with
// one graph; not synchronised.
class SLUICE_API PassHints {
 public:
  // Takes the hints about passes out of `hints` and out of `op_hints`, which
  // are ops' own, by index; each list has the strongest first.
  PassHints(std::vector<KernelHint>* hints,
            std::map<int, std::vector<KernelHint>>* op_hints);

  // The pass that runs from now on. False where a hint about all ops excludes
  // it and no hint allows it for some: it need not run.
  bool Begin(std::string_view pass);

  // The hint that forbids the pass to change an op; nullptr where none does.
  const KernelHint* Forbids(const OpDesc& op, int id) const;

  // Notes that the pass left ops, by id and type, as they are.
  void Note(const std::vector<std::pair<int, std::string>>& ops,
            const std::string& why);

  // Sentences for Explain, one for each pass and reason.
  std::vector<std::string> Remarks() const;

 private:
  struct Left {
    std::string first;  // ops
    int times = 0;
  };

  std::vector<KernelHint> hints_;
  std::map<int, std::vector<KernelHint>> op_hints_;
  std::string pass_;
  std::vector<std::string> off_;
  std::map<std::pair<std::string, std::string>, Left> left_;
};

}  // namespace sluice::framework
