#include <algorithm>
#include <cmath>
#include <limits>

#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include "sluice/operators/math/simd_doubles-inl.h"
#include "sluice/operators/registration.h"
#include "sluice/operators/sequence/crf_kernel.h"
#include "sluice/operators/sequence/crf_shape.h"
#include "sluice/platform/alignment.h"
#include "sluice/platform/cpu/simd_dispatch.h"

#ifndef SLUICE_VITERBI_STEP
#define SLUICE_VITERBI_STEP
namespace sluice {

// The doubles of a row that holds a number for each tag: whole vectors.
inline int64_t ViterbiStride(int64_t tags) {
  constexpr int64_t kMostLanes = 8;
  return (tags + kMostLanes - 1) / kMostLanes * kMostLanes;
}

// One position of Viterbi's algorithm. Rows have ViterbiStride(tags) elements;
// what follows the tags has no meaning, and may be written.
template <typename T>
struct ViterbiStepArgs {
  int64_t tags = 0;
  const double* scores = nullptr;  // of the position before
  const double* pairs = nullptr;   // [tags, stride], from and to
  const T* emission = nullptr;     // [tags]
  double* next = nullptr;
  int32_t* from = nullptr;
};

}  // namespace sluice
#endif

HWY_BEFORE_NAMESPACE();
namespace sluice {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

using Doubles = hn::CappedTag<double, 8>;  // divide a stride

// Computes the maxima of kV vectors of tags from tag j on.
template <int kV, typename T>
HWY_INLINE void Maxima(const ViterbiStepArgs<T>& args, int64_t j) {
  const Doubles d;
  const hn::Rebind<int32_t, Doubles> d_from;
  const auto lanes = static_cast<int64_t>(hn::Lanes(d));
  const int64_t stride = ViterbiStride(args.tags);
  hn::Vec<Doubles> best[kV], from[kV];
  const auto first = hn::Set(d, args.scores[0]);
  for (int v = 0; v < kV; ++v) {
    best[v] = hn::Add(first, hn::LoadU(d, args.pairs + j + v * lanes));
    from[v] = hn::Zero(d);
  }
  for (int64_t i = 1; i < args.tags; ++i) {
    const auto score = hn::Set(d, args.scores[i]);
    const auto index = hn::Set(d, static_cast<double>(i));
    const double* pairs = args.pairs + i * stride + j;
    for (int v = 0; v < kV; ++v) {
      const auto sum = hn::Add(score, hn::LoadU(d, pairs + v * lanes));
      const auto larger = hn::Gt(sum, best[v]);
      best[v] = hn::IfThenElse(larger, sum, best[v]);
      from[v] = hn::IfThenElse(larger, index, from[v]);
    }
  }
  for (int v = 0; v < kV; ++v) {
    hn::StoreU(best[v], d, args.next + j + v * lanes);
    hn::StoreU(hn::DemoteTo(d_from, from[v]), d_from,
               args.from + j + v * lanes);
  }
}

// Returns the largest number, or 0 if that is not finite; not NaN.
template <typename T>
HWY_INLINE double Largest(const T* x, int64_t count) {
  const Doubles d;
  const auto lanes = static_cast<int64_t>(hn::Lanes(d));
  auto largest = hn::Set(d, -std::numeric_limits<double>::infinity());
  int64_t j = 0;
  for (; j + lanes <= count; j += lanes) {
    const auto value = LoadDoubles(d, x + j);
    largest = hn::IfThenElse(hn::Gt(value, largest), value, largest);
  }
  double most = hn::GetLane(hn::MaxOfLanes(d, largest));
  for (; j < count; ++j) {
    const auto value = static_cast<double>(x[j]);
    if (value > most) most = value;
  }
  return std::isfinite(most) ? most : 0;
}

// next[j] = the maximum over i of scores[i] + pairs[i, j], plus emission[j],
// and from[j] = the first such i. NaN is larger than nothing, and nothing is
// larger than it. The largest of all emissions and of all scores is subtracted,
// if it is finite.
template <typename T>
void Step(const ViterbiStepArgs<T>& args) {
  const Doubles d;
  const auto lanes = static_cast<int64_t>(hn::Lanes(d));
  const int64_t stride = ViterbiStride(args.tags);
  int64_t j = 0;
  for (; j + 4 * lanes <= stride; j += 4 * lanes) {
    Maxima<4>(args, j);
  }
  for (; j < stride; j += lanes) {
    Maxima<1>(args, j);
  }
  const double emission = Largest(args.emission, args.tags);
  for (j = 0; j < args.tags; ++j) {
    args.next[j] += static_cast<double>(args.emission[j]) - emission;
  }
  const double score = Largest(args.next, args.tags);
  for (j = 0; j < args.tags; ++j) {
    args.next[j] -= score;
  }
}

SLUICE_SIMD_FLOATS(Step);

}  // namespace HWY_NAMESPACE
}  // namespace sluice
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace sluice {
namespace {

SLUICE_EXPORT_FLOATS(Step);

void DecodingShape(InferShapeContext& context) {
  context.SetOutput("ViterbiPath", CrfTagShape(context));
}

void DecodingSchema(OpSchema& op) {
  op.Doc(
      "The most probable tags of each sequence, by the weights that "
      "linear_chain_crf has learnt. Of equal ones those with the smallest "
      "last tag, then the smallest tag before it, and so on.");
  op.TypeVar("T", {DType::kFloat32, DType::kFloat64});
  CrfInputs(op);
  CrfLengths(op);
  op.Input("Label", "int64",
           "[B, T] or ragged [rows, 1]: tags to compare with.",
           {.optional = true});
  op.Output("ViterbiPath", "int64",
            "[B, T] or ragged [rows, 1]: the tags; with Label 1 where they are "
            "the same and 0 "
            "where not. 0 past the sequences' lengths.");
  op.Ragged("Label", "Offsets").Ragged("ViterbiPath", "Offsets");
  op.InferShape(DecodingShape);
}

// Writes the weights of pairs as CrfDecode reads them: [tags, stride], where
// stride is ViterbiStride(tags).
template <typename T>
void CrfPairs(const CrfWeights<T>& weights, double* pairs) {
  const int64_t tags = weights.tags();
  const int64_t stride = ViterbiStride(tags);
  for (int64_t i = 0; i < tags; ++i) {
    for (int64_t j = 0; j < stride; ++j) {
      pairs[i * stride + j] = j < tags ? weights.pair(i, j) : 0;
    }
  }
}

// Finds the path with the highest score. Ties are resolved by the smallest last
// tag, then the smallest tag before it, and so on. `scores` has space for 2 *
// stride numbers, `back` for length * stride.
template <typename T>
void CrfDecode(const CrfWeights<T>& weights,
               const double* pairs,
               const T* emission,
               int64_t length,
               int64_t* path,
               double* scores,
               int32_t* back) {
  if (length == 0) return;
  const int64_t tags = weights.tags();
  const int64_t stride = ViterbiStride(tags);
  double* score = scores;
  double* next = scores + stride;
  FirstAlpha(weights, emission, score);
  const auto step = StepFor<T>();
  for (int64_t t = 1; t < length; ++t) {
    step({.tags = tags,
          .scores = score,
          .pairs = pairs,
          .emission = emission + t * tags,
          .next = next,
          .from = back + t * stride});
    std::swap(score, next);
  }
  int64_t best = 0;
  for (int64_t j = 0; j < tags; ++j) {
    score[j] += weights.end(j);
    if (score[j] > score[best]) best = j;
  }
  for (int64_t t = length - 1; t >= 0; --t) {
    path[t] = best;
    if (t > 0) best = back[t * stride + best];
  }
}

template <typename T>
class CrfDecodingKernel final : public OpKernel {
 public:
  void Prepare(KernelPreparation& preparation) override {
    sizes_ = CrfSizes(preparation.query);
    slots_ = std::clamp<int64_t>(preparation.num_threads, 1,
                                 std::max<int64_t>(sizes_.batch, 1));
    preparation.scratch_bytes = PairsBytes() + slots_ * SlotBytes();
  }

  void Compute(OpKernelContext& context) const override {
    const CrfSequences sequences = CrfSequencesOf(context, sizes_);
    const T* emission = context.Input("Emission").data<T>();
    const CrfWeights<T> weights = {context.Input("Transition").data<T>(),
                                   sizes_.tags};
    const int64_t* labels = context.HasInput("Label")
                                ? CrfLabelsOf(context, sizes_, sequences)
                                : nullptr;
    Tensor& out = context.AllocateOutput(
        "ViterbiPath", {sizes_.ragged ? sizes_.positions : sizes_.batch,
                        sizes_.ragged ? 1 : sizes_.positions});
    if (out.numel() == 0) return;
    auto* pairs = static_cast<double*>(context.scratch());
    CrfPairs(weights, pairs);
    ForEachSequence(slots_, sizes_.batch, [&](int64_t slot, int64_t b) {
      auto* scores =
          reinterpret_cast<double*>(static_cast<char*>(context.scratch()) +
                                    PairsBytes() + slot * SlotBytes());
      const int64_t first = sequences.first(b);
      const int64_t length = sequences.length(b);
      int64_t* path = out.data<int64_t>() + first;
      CrfDecode(weights, pairs, emission + first * sizes_.tags, length, path,
                scores, reinterpret_cast<int32_t*>(scores + 2 * stride()));
      for (int64_t t = 0; t < length && labels != nullptr; ++t) {
        path[t] = path[t] == labels[first + t] ? 1 : 0;
      }
      std::fill(path + length, path + sequences.room(b), 0);
    });
    if (sizes_.ragged) {
      RepeatLastRow(out.raw_data(), sequences.cut.rows(), sizes_.positions,
                    sizeof(int64_t));
    }
  }

 private:
  int64_t stride() const { return ViterbiStride(sizes_.tags); }
  size_t PairsBytes() const {
    return AlignUp(sizes_.tags * stride() * sizeof(double));
  }
  // Two rows of scores, and the tag that each score came from.
  size_t SlotBytes() const {
    const size_t back = sizes_.positions * stride() * sizeof(int32_t);
    return 2 * stride() * sizeof(double) + AlignUp(back);
  }

  CrfSizes sizes_;
  int64_t slots_ = 1;
};

KernelWork DecodingWork(const KernelQuery& query) {
  const CrfSizes sizes(query);
  KernelWork work = DefaultKernelWork(query);
  const auto tags = static_cast<double>(sizes.tags);
  const double rows = static_cast<double>(sizes.positions) *
                      static_cast<double>(sizes.ragged ? 1 : sizes.batch);
  // For each pair of tags a sum, a comparison, and two choices by it.
  work.flops = 4 * rows * tags * tags;
  work.max_threads = std::max(1.0, static_cast<double>(sizes.batch));
  return work;
}

}  // namespace

REGISTER_OPERATOR(crf_decoding, DecodingSchema);
REGISTER_OP_CPU_KERNEL(crf_decoding,
                       EstimatedBy<&DecodingWork>,
                       CrfDecodingKernel<FloatTypes>);

}  // namespace sluice
#endif  // HWY_ONCE
