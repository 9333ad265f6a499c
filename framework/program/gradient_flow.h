#pragma once

#include <map>
#include <set>
#include <string>
#include <vector>

#include "sluice/framework/program/value_table.h"

namespace sluice {

// Finds the values of a block that need a gradient: those on a path from a
// wanted variable to a target, which is the loss or what a block gives.
// Gradients flow through float variables that do not stop them, but never into
// the op that wrote a persistable variable: a value kept between runs is a
// parameter, not a function of others. Internal to framework/program.
class GradientFlow {
 public:
  struct Request {
    std::string loss;  // for messages
    std::vector<std::string> targets;
    std::vector<std::string> parameters;  // whose gradients are wanted
    std::set<std::string> stops;          // treated like stop_gradient
    // BackwardOptions::gradient_ops; a flow only hands them on.
    std::map<std::string, OpDesc> gradient_ops;
  };

  // Raises InvalidArgument if a path leads through an op without gradient.
  GradientFlow(const BlockDesc& block,
               const ValueTable& values,
               Request request);

  const std::string& loss() const { return request_.loss; }
  const std::set<std::string>& stops() const { return request_.stops; }
  const auto& gradient_ops() const { return request_.gradient_ops; }
  // Whether a path leads from a wanted variable to the value, and from that to
  // a target.
  bool Needs(int value) const { return needs_[value]; }
  // Returns the index of the first op on a path from the value to a target; -1
  // if there is none.
  int FirstReader(int value) const { return first_reader_[value]; }
  // The value of request.parameters[i]; -1 if no path leads to a target.
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
  std::vector<bool> leads_;
  std::vector<bool> needs_;
  std::vector<int> first_reader_;
  std::vector<int> parameters_;
};

}  // namespace sluice
