#include "sluice/nn/sequence_scan.h"

#include <algorithm>
#include <string>

#include "sluice/framework/program/step_loop.h"
#include "sluice/nn/check.h"
#include "sluice/nn/op_writer.h"

namespace sluice::nn {

namespace {

using Step = std::function<ScanStep(const Vars&, const Vars&)>;

void CheckSequences(const Vars& sequences, const SourceLocation& location) {
  Require(!sequences.empty(), location, ErrorCode::kInvalidArgument,
          "nn.sequence_scan_none",
          "sequence_scan: there are no sequences; expected ragged rows");
  for (const Var& x : sequences) {
    Program::Common({&sequences[0], &x});
    Require(x.offsets().valid(), location, ErrorCode::kInvalidArgument,
            "nn.sequence_scan_ragged",
            "sequence_scan: {} {} is not ragged; declare it by "
            "Program::RaggedData, or use ops::LodReset",
            x.name(), x.dims());
    Require(x.offsets().name() == sequences[0].offsets().name(), location,
            ErrorCode::kInvalidArgument, "nn.sequence_scan_offsets",
            "sequence_scan: {} is cut by other offsets than {}; if they are "
            "equal, give it these by ops::LodReset",
            x.name(), sequences[0].name());
  }
}

// Whether a loop can carry `next` on in place of `before`.
bool Follows(const Var& next, const Var& before) {
  const DDim& a = next.dims();
  const DDim& b = before.dims();
  if (next.dtype() != before.dtype()) return false;
  if (!a.rank_known() || !b.rank_known()) return true;
  return std::equal(
      a.begin(), a.end(), b.begin(), b.end(),
      [](int64_t x, int64_t y) { return x < 0 || y < 0 || x == y; });
}

// The loop over the steps of sequences that were checked.
class SequenceLoop {
 public:
  SequenceLoop(const Vars& sequences,
               const ScanOptions& options,
               const SourceLocation& location)
      : ops_(sequences[0].program(), location),
        sequences_(sequences),
        options_(options),
        location_(location) {
    // At least one step, from which the loop knows its shapes.
    Var longest = ops_.Unary("sequence_longest", sequences[0]);
    const Var one = ops_.Fill(1, longest.dtype(), {});
    longest = ops_.Binary("elementwise_max", longest, one);
    for (const Var& x : sequences) {
      padded_.push_back(Padded(x, longest));
      if (!length_.valid()) length_ = ops_.program().Output("Length");
    }
  }

  Var Start(size_t i, const InitialState& state) const {
    if (state.var().valid()) return state.var();
    std::vector<int64_t> dims = {1};
    for (const int64_t size : state.sizes()) {
      Require(size > 0, location_, ErrorCode::kInvalidArgument,
              "nn.sequence_scan_first",
              "sequence_scan: sizes of first[{}] must be above 0, got {}", i,
              DDim(state.sizes()));
      dims.push_back(size);
    }
    const DType dtype = sequences_[0].dtype();
    const Var zero =
        ops_.Fill(0, IsFloating(dtype) ? dtype : DType::kFloat32, dims);
    // A row for each sequence.
    const Var none = ops_.Fill(0, length_.dtype(), {});
    return Where(ops_.Binary("less_than", length_, none), zero, zero);
  }

  ScanResult Append(const Step& step, const Vars& first) const {
    StepLoop loop;
    loop.batch_first = true;
    for (const Var& x : sequences_) {
      loop.element_dims.push_back(x.dims());
      DDim& dims = loop.element_dims.back();
      if (dims.rank() > 0) dims[0] = kUnknownDim;
    }
    loop.step = [&](const Var& number, const Vars& carried, const Vars& rows) {
      ScanStep made = step(carried, rows);
      made.carried = GoesOn(made.carried, carried, number);
      return made;
    };
    ScanResult result =
        AppendStepLoop(loop, first, padded_, options_, location_);
    for (Var& x : result.stacked) {
      x = ops_.Binary("sequence_unpad_as", x, sequences_[0]);
    }
    for (Var& x : result.stacked) {
      if (options_.reversed) x = ops_.Unary("sequence_reverse", x);
    }
    return result;
  }

 private:
  // [B, T, ...] of rows. Not with zeros: 1 / x of padding would be infinite,
  // and 0 times that in a gradient NaN.
  Var Padded(Var x, const Var& longest) const {
    const DType dtype = x.dtype();
    const bool has_maximum = dtype == DType::kFloat32 ||
                             dtype == DType::kFloat64 ||
                             dtype == DType::kInt32 || dtype == DType::kInt64;
    const Var value = has_maximum
                          ? ops_.Unary("sequence_reduce", x,
                                       {{"pooltype", std::string("MAX")}})
                          : ops_.Fill(0, dtype, {});
    if (options_.reversed) x = ops_.Unary("sequence_reverse", x);
    return ops_.Append("sequence_pad", {{"X", {x.name()}},
                                        {"PadValue", {value.name()}},
                                        {"PaddedLength", {longest.name()}}});
  }

  // What the step carries on of sequences that have this row; what it got of
  // others.
  Vars GoesOn(const Vars& next, const Vars& carried, const Var& step) const {
    Require(next.size() == carried.size(), location_,
            ErrorCode::kInvalidArgument, "nn.sequence_scan_count",
            "sequence_scan: a step carries {} variables on, it got {}",
            next.size(), carried.size());
    const Var has_row = ops_.Binary("greater_than", length_, step);
    Vars chosen;
    for (size_t i = 0; i < next.size(); ++i) {
      Program::Common({&carried[i], &next[i]});
      Require(Follows(next[i], carried[i]), location_,
              ErrorCode::kInvalidArgument, "nn.sequence_scan_carried",
              "sequence_scan: carried[{}] is {} {} before a step and {} {} "
              "after it; expected the same",
              i, carried[i].dtype(), carried[i].dims(), next[i].dtype(),
              next[i].dims());
      chosen.push_back(Where(has_row, next[i], carried[i]));
    }
    return chosen;
  }

  // x where the condition of its row holds, else y.
  Var Where(Var condition, const Var& x, const Var& y) const {
    std::vector<int64_t> axes;
    for (int axis = 1; axis < x.dims().rank(); ++axis) {
      axes.push_back(axis);
    }
    if (!axes.empty()) {
      condition = ops_.Unary("unsqueeze", condition, {{"axes", axes}});
    }
    return ops_.Where(condition, x, y);
  }

  OpWriter ops_;
  const Vars& sequences_;
  const ScanOptions& options_;
  const SourceLocation& location_;
  Vars padded_;
  Var length_;  // [B]: the rows of each sequence
};

}  // namespace

ScanResult SequenceScan(const Step& step,
                        const std::vector<InitialState>& first,
                        const Vars& sequences,
                        const ScanOptions& options,
                        const SourceLocation& location) {
  CheckSequences(sequences, location);
  const SequenceLoop loop(sequences, options, location);
  Vars states;
  for (size_t i = 0; i < first.size(); ++i) {
    states.push_back(loop.Start(i, first[i]));
  }
  return loop.Append(step, states);
}

}  // namespace sluice::nn
