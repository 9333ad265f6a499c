#pragma once

#include <vector>

#include "sluice/framework/plan/assignment/pairwise.h"

namespace sluice::framework::assignment {

// Moves costs between edges and nodes so that no assignment's cost changes, and
// a constant, which no assignment can cost less than, grows: sequential
// reweighted message passing (Kolmogorov 2015), for pairs the bound of TRW-S.
// The problem must be arc consistent, with finite costs of nodes; it must
// outlive this. Used by one thread. Each sweep is linear.
class MessagePassing {
 public:
  MessagePassing(const Pairwise& problem, const Incidence& incidence);

  // Through all nodes in order, and back. On the way forward it chooses
  // greedily by the costs as they are then, and removes choices that
  // assignments which cost `upper_bound` or less cannot have.
  void Sweep(double upper_bound);

  double bound() const { return bound_; }
  const std::vector<int>& greedy() const { return greedy_; }
  // How many choices were removed.
  int removed() const { return removed_; }
  // The problem without the removed choices and without bound(). The choices of
  // `best`, an assignment or empty, stay: rounding could have removed them.
  Restricted Remaining(const std::vector<int>& best) const;

 private:
  enum class Direction { kForward, kBackward };

  double* Message(const Incident& edge) {
    return &messages_[message_first_[2 * edge.edge + edge.side]];
  }
  const double* OtherMessage(const Incident& edge) const {
    return &messages_[message_first_[2 * edge.edge + 1 - edge.side]];
  }
  void ChooseGreedily(int node);
  void Pull(const Incident& edge, int node);
  void Visit(int node, Direction direction, double upper_bound);

  const Pairwise& problem_;
  const Incidence& incidence_;
  std::vector<double> costs_;  // of the choices, as they are now
  // What each side of an edge has given to its node, for each choice of it.
  std::vector<double> messages_;
  std::vector<int> message_first_;
  std::vector<int> greedy_;
  std::vector<double> scratch_;
  std::vector<char> kept_;
  int removed_ = 0;
  double bound_ = 0;
};

}  // namespace sluice::framework::assignment
