#include <algorithm>
#include <array>
#include <cmath>

#include "sluice/operators/math/search/order_key.h"
#include "sluice/operators/ragged/sequences.h"
#include "sluice/platform/parallel_for.h"

namespace sluice {
namespace {

constexpr int64_t kGrainCandidates = 8192;

// A candidate, `at` that place among all of the op, row by row.
template <typename T>
struct BeamCandidate {
  decltype(OrderKey(T{})) key;  // of its score
  int64_t at;
  int64_t id;
  T score;

  static bool IsBetter(const BeamCandidate& a, const BeamCandidate& b) {
    return a.key != b.key ? a.key > b.key : a.at < b.at;
  }
};

// The best of the candidates that were added, at most `most`, in `heap`, whose
// first is the worst of them.
template <typename T>
class BestCandidates {
 public:
  BestCandidates(BeamCandidate<T>* heap, int64_t most)
      : heap_(heap), most_(most) {}

  void Add(T score, int64_t at, int64_t id) {
    const BeamCandidate<T> added = {OrderKey(score), at, id, score};
    const auto better = &BeamCandidate<T>::IsBetter;
    if (count_ == most_) {
      if (!better(added, heap_[0])) return;
      std::pop_heap(heap_, heap_ + count_, better);
      heap_[count_ - 1] = added;
    } else {
      heap_[count_++] = added;
    }
    std::push_heap(heap_, heap_ + count_, better);
  }
  int64_t count() const { return count_; }

 private:
  BeamCandidate<T>* heap_;
  int64_t most_;
  int64_t count_ = 0;
};

template <typename T>
class BeamSearchKernel final : public OpKernel {
 public:
  explicit BeamSearchKernel(const OpKernelConstruction& construction)
      : beams_(construction.Attr<int64_t>("beam_size")),
        end_id_(construction.Attr<int64_t>("end_id")),
        accumulated_(construction.Attr<bool>("is_accumulated")) {}

  void Prepare(KernelPreparation& preparation) override {
    std::copy(preparation.query.outputs.begin(),
              preparation.query.outputs.end(), outs_.begin());
    const auto most = static_cast<size_t>(outs_[0][0]);
    preparation.scratch_bytes =
        most * (sizeof(BeamCandidate<T>) + sizeof(int64_t));
  }

  void Compute(OpKernelContext& context) const override {
    const Tensor& scores = context.Input("Scores");
    const int64_t rows = scores.dims()[0];
    const int64_t columns = std::max<int64_t>(RowWidth(scores.dims()), 1);
    Tensor& starts = context.AllocateOutput(4, outs_[4]);
    FindSources(context, rows, starts.data<int64_t>());
    const Sequences cut = {starts.data<int64_t>(), outs_[4][0] - 1};
    auto* const best = static_cast<BeamCandidate<T>*>(context.scratch());
    auto* const counts = reinterpret_cast<int64_t*>(best + outs_[0][0]);
    VisitIndex(context.Input("PreIds").dtype(), [&]<typename S>() {
      const int64_t each =
          cut.count == 0 ? 1 : cut.rows() * columns / cut.count;
      ParallelFor(cut.count, kGrainCandidates / (each + 1) + 1,
                  [&](int64_t begin, int64_t end) {
                    for (int64_t b = begin; b < end; ++b) {
                      counts[b] = Select<S>(context, cut.begin(b), cut.end(b),
                                            columns, best + b * beams_);
                    }
                  });
      Write<S>(context, cut, columns, best, counts);
    });
  }

 private:
  // Sets the rows at which sources begin, and the end of the last one.
  static void FindSources(const OpKernelContext& context,
                          int64_t rows,
                          int64_t* starts) {
    if (!context.HasInput("Offsets")) {
      for (int64_t row = 0; row <= rows; ++row) {
        starts[row] = row;
      }
      return;
    }
    const Sequences inner =
        CheckedSequences(context, context.Input("Offsets"), rows, "Scores");
    if (!context.HasInput("SourceOffsets")) {
      std::copy_n(inner.offsets, inner.count + 1, starts);
      return;
    }
    const Sequences outer =
        CheckedSequences(context, context.Input("SourceOffsets"), inner.count,
                         "Offsets, by SourceOffsets,");
    std::transform(outer.offsets, outer.offsets + outer.count + 1, starts,
                   [&](int64_t group) { return inner.offsets[group]; });
  }

  // Sets the selected candidates of one source, in their order.
  template <typename S>
  int64_t Select(const OpKernelContext& context,
                 int64_t begin,
                 int64_t end,
                 int64_t columns,
                 BeamCandidate<T>* best) const {
    const S* const last = context.Input("PreIds").data<S>();
    const T* const before = context.Input("PreScores").data<T>();
    const Tensor& scores = context.Input("Scores");
    const S* const ids =
        context.HasInput("Ids") ? context.Input("Ids").data<S>() : nullptr;
    BestCandidates<T> candidates(best, beams_);
    for (int64_t row = begin; row < end; ++row) {
      const int64_t first = row * columns;
      if (last[row] == end_id_) {
        candidates.Add(before[row], first, end_id_);
        continue;
      }
      const T* const own = scores.data<T>() + first;
      for (int64_t k = 0; k < (scores.numel() == 0 ? 0 : columns); ++k) {
        const T score = accumulated_ ? own[k] : before[row] + std::log(own[k]);
        candidates.Add(score, first + k, ids == nullptr ? k : ids[first + k]);
      }
    }
    const auto order = [columns](const auto& a, const auto& b) {
      const int64_t row = a.at / columns;
      const int64_t other = b.at / columns;
      return row != other ? row < other : BeamCandidate<T>::IsBetter(a, b);
    };
    BeamCandidate<T>* const found = best + candidates.count();
    std::sort(best, found, order);
    const bool ended = std::all_of(best, found, [&](const auto& each) {
      return last[each.at / columns] == end_id_;
    });
    return ended ? 0 : candidates.count();
  }

  template <typename S>
  void Write(OpKernelContext& context,
             const Sequences& cut,
             int64_t columns,
             const BeamCandidate<T>* best,
             const int64_t* counts) const {
    S* const ids = context.AllocateOutput(0, outs_[0]).template data<S>();
    T* const scores = context.AllocateOutput(1, outs_[1]).template data<T>();
    auto* const parents =
        context.AllocateOutput(2, outs_[2]).template data<int64_t>();
    auto* const offsets =
        context.AllocateOutput(3, outs_[3]).template data<int64_t>();
    int64_t out = 0;
    int64_t row = 0;
    for (int64_t b = 0; b < cut.count; ++b) {
      for (int64_t i = 0; i < counts[b]; ++i) {
        const BeamCandidate<T>& each = best[b * beams_ + i];
        const int64_t parent = each.at / columns;
        while (row <= parent) {
          offsets[row++] = out;
        }
        ids[out] = static_cast<S>(each.id);
        scores[out] = each.score;
        parents[out++] = parent;
      }
    }
    std::fill(offsets + row, offsets + outs_[3][0], out);
    RepeatLastRow(ids, out, outs_[0][0], sizeof(S));
    RepeatLastRow(scores, out, outs_[1][0], sizeof(T));
    RepeatLastRow(parents, out, outs_[2][0], sizeof(int64_t));
  }

  int64_t beams_;
  int64_t end_id_;
  bool accumulated_;
  std::array<DDim, 5> outs_;
};

}  // namespace

REGISTER_OP_CPU_KERNEL(beam_search,
                       BeamSearchKernel<float>,
                       BeamSearchKernel<double>);

}  // namespace sluice
