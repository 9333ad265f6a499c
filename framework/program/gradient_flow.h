#pragma once

#include <set>
#include <string>
#include <vector>

#include "sluice/framework/program/value_table.h"

namespace sluice::framework {

// Which values of a program need a gradient: those on a path from a wanted
// variable to the loss. Gradients flow through float variables that do not
// stop them, and never into the op that wrote a persistable variable: what is
// kept from run to run is a parameter, not a function of others. Of this room
// only.
class GradientFlow {
 public:
  struct Request {
    std::string loss;
    std::vector<std::string> parameters;  // whose gradients are wanted
    std::set<std::string> stops;          // as if stop_gradient were set
  };

  // Raises InvalidArgument for a path with no gradient: when no path leads to
  // the loss, or one leads through an op that has no gradient.
  GradientFlow(const BlockDesc& block,
               const ValueTable& values,
               Request request);

  int loss() const { return loss_; }
  bool Needs(int value) const { return needs_[value]; }
  // The index of the first op that passes the value on to the loss; -1 for
  // the loss itself.
  int FirstReader(int value) const { return first_reader_[value]; }
  // The value of request.parameters[i]; -1 where there is no path.
  const std::vector<int>& parameters() const { return parameters_; }

  // Raises InvalidArgument: no gradient reaches `parameter` ("" for all).
  [[noreturn]] void FailNoPath(const std::string& parameter) const;

 private:
  bool Stops(const VarDesc& var) const;
  void FindWhatLeads();
  void FindParameters();
  void FindWhatNeeds();
  void CheckOp(int index) const;
  std::string WhyNot(const std::vector<int>& from) const;

  const BlockDesc& block_;
  const ValueTable& values_;
  Request request_;
  int loss_;
  std::vector<bool> leads_;
  std::vector<bool> needs_;
  std::vector<int> first_reader_;
  std::vector<int> parameters_;
};

}  // namespace sluice::framework
