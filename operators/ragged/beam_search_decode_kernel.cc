#include <algorithm>
#include <array>
#include <vector>

#include "sluice/operators/math/search/order_key.h"
#include "sluice/operators/ragged/sequences.h"

namespace sluice {
namespace {

// The ids and scores that each step of a search selected. Checks the offsets.
class BeamSteps {
 public:
  explicit BeamSteps(const OpKernelContext& context)
      : op_(context.op()), width_(context.Input("Ids").dims()[1]) {
    const Tensor& inner = context.Input("Offsets");
    const Tensor& outer = context.Input("SourceOffsets");
    int64_t steps = inner.dims()[0];
    if (context.HasInput("Length")) {
      const int64_t length = context.Input("Length").data<int64_t>()[0];
      SLUICE_ENFORCE(length >= 0 && length <= steps, ErrorCode::kOutOfRange,
                     "beam_search_decode.steps_there",
                     "{}: Length = {}; expected 0 to {}, the steps of Ids", op_,
                     length, steps);
      steps = length;
    }
    for (int64_t t = 0; t < steps; ++t) {
      const Sequences rows = At(inner, t);
      const Sequences sources = At(outer, t);
      CheckSequences(context, rows, width_, "Ids");
      CheckSequences(context, sources, rows.count,
                     "Offsets, by SourceOffsets,");
      steps_.push_back({rows, sources});
    }
  }

  int64_t count() const { return static_cast<int64_t>(steps_.size()); }
  // Returns the selected rows of a source.
  std::pair<int64_t, int64_t> Rows(int64_t step, int64_t source) const {
    const Step& at = steps_[static_cast<size_t>(step)];
    return {at.rows.offsets[at.sources.begin(source)],
            at.rows.offsets[at.sources.end(source)]};
  }
  // Returns the row of the step before that a row goes on from.
  int64_t Parent(int64_t step, int64_t source, int64_t row) const {
    const Step& at = steps_[static_cast<size_t>(step)];
    const int64_t* const first = at.rows.offsets + at.sources.begin(source);
    const int64_t* const last = at.rows.offsets + at.sources.end(source);
    const int64_t parent =
        std::upper_bound(first, last, row) - at.rows.offsets - 1;
    const auto [begin, end] = Rows(step - 1, source);
    SLUICE_ENFORCE(parent >= begin && parent < end, ErrorCode::kOutOfRange,
                   "beam_search_decode.parent",
                   "{}: row {} of step {} goes on from row {}; source {} has "
                   "rows {} to {} in the step before",
                   op_, row, step, parent, source, begin, end - 1);
    return parent;
  }
  int64_t width() const { return width_; }

 private:
  struct Step {
    Sequences rows;
    Sequences sources;
  };
  static Sequences At(const Tensor& stack, int64_t step) {
    const int64_t size = stack.dims()[1];
    SLUICE_ENFORCE(size > 0, ErrorCode::kInvalidArgument,
                   "beam_search_decode.no_rows",
                   "beam_search_decode: input Offsets {} has no offsets; "
                   "expected at least the offset 0",
                   stack.dims());
    return {stack.data<int64_t>() + step * size, size - 1};
  }

  std::string op_;
  int64_t width_;
  std::vector<Step> steps_;
};

template <typename T>
class BeamSearchDecodeKernel final : public OpKernel {
 public:
  explicit BeamSearchDecodeKernel(const OpKernelConstruction& construction)
      : beams_(construction.Attr<int64_t>("beam_size")),
        end_id_(construction.Attr<int64_t>("end_id")) {}

  void Prepare(KernelPreparation& preparation) override {
    std::copy(preparation.query.outputs.begin(),
              preparation.query.outputs.end(), outs_.begin());
  }

  void Compute(OpKernelContext& context) const override {
    VisitIndex(context.Input("Ids").dtype(),
               [&]<typename S>() { Decode<S>(context); });
  }

 private:
  template <typename S>
  void Decode(OpKernelContext& context) const {
    const BeamSteps steps(context);
    const S* const ids = context.Input("Ids").data<S>();
    const T* const scores = context.Input("Scores").data<T>();
    S* const words = context.AllocateOutput(0, outs_[0]).template data<S>();
    T* const values = context.AllocateOutput(1, outs_[1]).template data<T>();
    auto* const ends =
        context.AllocateOutput(2, outs_[2]).template data<int64_t>();
    auto* const sources =
        context.AllocateOutput(3, outs_[3]).template data<int64_t>();
    int64_t word = 0;
    int64_t sentence = 0;
    ends[0] = sources[0] = 0;
    std::vector<int64_t> last;  // rows of the last step
    for (int64_t b = 0; b + 1 < outs_[3][0]; ++b) {
      int64_t step = FindLast(context, steps, b, &last);
      const T* const final_scores = scores + step * steps.width();
      std::stable_sort(last.begin(), last.end(), [&](int64_t x, int64_t y) {
        return OrderKey(final_scores[x]) > OrderKey(final_scores[y]);
      });
      for (const int64_t row : last) {
        const int64_t first = word;
        int64_t at = row;
        for (int64_t t = step; t >= 0; --t) {
          const int64_t from = t * steps.width() + at;
          if (t == step || ids[from] != end_id_) {
            words[word] = ids[from];
            values[word++] = scores[from];
          }
          if (t > 0) at = steps.Parent(t, b, at);
        }
        std::reverse(words + first, words + word);
        std::reverse(values + first, values + word);
        ends[++sentence] = word;
      }
      sources[b + 1] = sentence;
    }
    std::fill(ends + sentence, ends + outs_[2][0], word);
    RepeatLastRow(words, word, outs_[0][0], sizeof(S));
    RepeatLastRow(values, word, outs_[1][0], sizeof(T));
  }

  // Returns the last step in which a source selected rows, and sets these; 0 if
  // there is none.
  int64_t FindLast(const OpKernelContext& context,
                   const BeamSteps& steps,
                   int64_t source,
                   std::vector<int64_t>* rows) const {
    rows->clear();
    for (int64_t step = steps.count() - 1; step >= 0; --step) {
      const auto [begin, end] = steps.Rows(step, source);
      SLUICE_ENFORCE(end - begin <= beams_, ErrorCode::kInvalidArgument,
                     "beam_search_decode.beams",
                     "{}: source {} has {} hypotheses in step {}; expected at "
                     "most {}, attribute beam_size",
                     context.op(), source, end - begin, step, beams_);
      if (begin == end) continue;
      for (int64_t row = begin; row < end; ++row) {
        rows->push_back(row);
      }
      return step;
    }
    return 0;
  }

  int64_t beams_;
  int64_t end_id_;
  std::array<DDim, 4> outs_;
};

}  // namespace

REGISTER_OP_CPU_KERNEL(beam_search_decode,
                       BeamSearchDecodeKernel<float>,
                       BeamSearchDecodeKernel<double>);

}  // namespace sluice
