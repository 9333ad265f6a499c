#pragma once

#include <cstdint>
#include <functional>
#include <initializer_list>
#include <vector>

#include "sluice/framework/program/control_flow.h"
#include "sluice/platform/export.h"

namespace sluice::nn {

// What a step carries on at first: a variable [B, ...], or the sizes of zeros:
// 8 is [B, 8], {2, 3} is [B, 2, 3].
class InitialState {
 public:
  InitialState(const Var& var) : var_(var) {}                    // NOLINT
  InitialState(int64_t size) : sizes_{size} {}                   // NOLINT
  InitialState(std::initializer_list<int64_t> s) : sizes_(s) {}  // NOLINT
  const Var& var() const { return var_; }
  const std::vector<int64_t>& sizes() const { return sizes_; }

 private:
  Var var_;
  std::vector<int64_t> sizes_;
};

// Calls `step` for row t of each of B ragged sequences, with what the step
// before carried on, all [B, ...]: a hand-written recurrent layer, as Fluid's
// DynamicRNN. Layers inside have one set of parameters for all steps. A
// sequence that has ended keeps what it carries, and what a step stacks for it
// is dropped; until the longest one ends, its rows are the largest numbers of
// each column. For padded sequences there is Scan (control_flow.h).
//
// `sequences` have the same offsets. Returns what is carried after the last row
// of each sequence, and what was stacked as rows that are ragged as they are.
// `options.reversed` reads each sequence from its last row on.
//
//   const auto made = nn::SequenceScan(
//       [](const Vars& carried, const Vars& rows) -> ScanStep {
//         const Var both = ops::Concat({carried[0], rows[0]}, {.axis = 1});
//         const Var state = nn::Fc(both, 16, {.act = "tanh"});
//         return {{state}, {state}};
//       },
//       {16}, {words});
//
// Raises InvalidArgument, with `location`, for no sequences, for one that is
// not ragged or has other offsets, a size below 1, and a step that carries on
// more or fewer variables than it gets, or of another dtype or shape.
SLUICE_API ScanResult SequenceScan(
    const std::function<ScanStep(const Vars& carried, const Vars& rows)>& step,
    const std::vector<InitialState>& first,
    const Vars& sequences,
    const ScanOptions& options = {},
    const SourceLocation& location = SourceLocation::Here());

}  // namespace sluice::nn
