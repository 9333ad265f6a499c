#include "sluice/operators/contraction/matmul.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "sluice/operators/math/broadcast.h"
#include "sluice/operators/math/elementwise.h"
#include "sluice/operators/math/gemm.h"
#include "sluice/operators/math/work.h"
#include "sluice/platform/dtype_sets.h"
#include "sluice/platform/parallel_for.h"

namespace sluice {

namespace {

// Returns the matrices of a tensor of rank 2 or more: its last two dimensions.
StoredMatrix Stored(const DDim& dims) {
  const int rank = dims.rank();
  return {dims.Subshape(0, rank - 2), dims[rank - 2], dims[rank - 1]};
}

// Returns the strides of a matrix's batch dimensions; 0 where it is broadcast.
class BatchSteps {
 public:
  explicit BatchSteps(const StoredMatrix& matrix)
      : batch_(matrix.batch), step_(matrix.rows * matrix.columns) {}

  // Called for each batch dimension, from the innermost one outwards.
  int64_t Next() {
    if (left_ == 0) return 0;
    const int64_t size = batch_[--left_];
    const int64_t step = size == 1 ? 0 : step_;
    step_ *= size;
    return step;
  }

 private:
  DDim batch_;
  int left_ = batch_.rank();
  int64_t step_;
};

// Omits axes of size 1. No axis has size 0.
void AddAxes(MatMulResult result,
             const StoredMatrix& x,
             const StoredMatrix& y,
             const StoredMatrix& out,
             MatMulPlan* plan) {
  BatchSteps x_steps(x), y_steps(y), out_steps(out);
  for (int i = out.batch.rank() - 1; i >= 0; --i) {
    const int64_t x_step = x_steps.Next();
    const int64_t y_step = y_steps.Next();
    const int64_t out_step = out_steps.Next();
    const int64_t size = out.batch[i];
    if (size == 1) continue;
    MatMulPlan::Axis axis{size, x_step, y_step, out_step};
    if (result == MatMulResult::kXGrad) axis = {size, out_step, y_step, x_step};
    if (result == MatMulResult::kYGrad) axis = {size, x_step, out_step, y_step};
    if (plan->swapped) std::swap(axis.a, axis.b);
    MatMulPlan::Axes& axes = axis.c == 0 ? plan->summed : plan->batch;
    axes.axis[axes.rank++] = axis;
  }
  for (MatMulPlan::Axes* axes : {&plan->batch, &plan->summed}) {
    std::reverse(axes->axis.begin(), axes->axis.begin() + axes->rank);
    axes->Fuse();
  }
}

// Merges a batch axis into the rows m, and a summed axis into the depth k.
void Fold(MatMulPlan* plan) {
  while (plan->batch.rank > 0) {
    const MatMulPlan::Axis& last = plan->batch.axis[plan->batch.rank - 1];
    if (plan->transpose_a || last.b != 0 || last.a != plan->m * plan->lda ||
        last.c != plan->m * plan->ldc) {
      break;
    }
    plan->m *= last.size;
    --plan->batch.rank;
  }
  while (plan->summed.rank > 0) {
    const MatMulPlan::Axis& last = plan->summed.axis[plan->summed.rank - 1];
    if (!plan->transpose_a || plan->transpose_b ||
        last.a != plan->k * plan->lda || last.b != plan->k * plan->ldb) {
      break;
    }
    plan->k *= last.size;
    --plan->summed.rank;
  }
}

double Real(int64_t value) {
  return static_cast<double>(value);
}

// Dot products of rows of A and rows of B (gemm.cc): each result needs a sum
// over the lanes, and its last terms, fewer than two vectors, one by one.
void AddDots(int64_t results, int64_t terms, int64_t lanes, KernelWork* work) {
  work->flops = 2 * Real(results) * Real(terms);
  work->dots = Real(results);
  work->tail_terms = Real(results) * Real(terms % (2 * lanes));
}

}  // namespace

StoredMatrix StoredX(const DDim& x) {
  return x.rank() == 1 ? StoredMatrix{{}, 1, x[0]} : Stored(x);
}

StoredMatrix StoredY(const DDim& y) {
  return y.rank() == 1 ? StoredMatrix{{}, y[0], 1} : Stored(y);
}

int64_t MatMulPlan::Axes::count() const {
  int64_t count = 1;
  for (int i = 0; i < rank; ++i) {
    count *= axis[i].size;
  }
  return count;
}

MatMulPlan::Axis MatMulPlan::Axes::At(int64_t index) const {
  Axis sum;
  for (int i = rank - 1; i >= 0; --i) {
    const int64_t here = index % axis[i].size;
    index /= axis[i].size;
    sum.a += here * axis[i].a;
    sum.b += here * axis[i].b;
    sum.c += here * axis[i].c;
  }
  return sum;
}

void MatMulPlan::Axes::Fuse() {
  int kept = 0;
  for (int i = 0; i < rank; ++i) {
    const Axis& next = axis[i];
    if (kept > 0) {
      Axis& last = axis[kept - 1];
      if (last.a == next.a * next.size && last.b == next.b * next.size &&
          last.c == next.c * next.size) {
        last = {last.size * next.size, next.a, next.b, next.c};
        continue;
      }
    }
    axis[kept++] = next;
  }
  rank = kept;
}

MatMulPlan PlanMatMul(MatMulResult result,
                      const DDim& x_dims,
                      const DDim& y_dims,
                      bool transpose_x,
                      bool transpose_y) {
  const StoredMatrix x = StoredX(x_dims), y = StoredY(y_dims);
  StoredMatrix out;
  BroadcastShape(x.batch, y.batch, -1, &out.batch);
  out.rows = transpose_x ? x.columns : x.rows;
  out.columns = transpose_y ? y.rows : y.columns;
  const int64_t depth = transpose_x ? x.rows : x.columns;

  MatMulPlan plan;
  const auto set = [&plan](const StoredMatrix& a, bool transpose_a,
                           const StoredMatrix& b, bool transpose_b,
                           const StoredMatrix& c, int64_t k) {
    plan.transpose_a = transpose_a;
    plan.transpose_b = transpose_b;
    plan.m = c.rows;
    plan.n = c.columns;
    plan.k = k;
    plan.lda = a.columns;
    plan.ldb = b.columns;
    plan.ldc = c.columns;
  };
  switch (result) {
    case MatMulResult::kOut:
      set(x, transpose_x, y, transpose_y, out, depth);
      break;
    case MatMulResult::kXGrad:
      plan.swapped = transpose_x;
      if (transpose_x) {
        set(y, transpose_y, out, true, x, out.columns);
      } else {
        set(out, false, y, !transpose_y, x, out.columns);
      }
      break;
    case MatMulResult::kYGrad:
      plan.swapped = transpose_y;
      if (transpose_y) {
        set(out, true, x, transpose_x, y, out.rows);
      } else {
        set(x, !transpose_x, out, false, y, out.rows);
      }
      break;
  }
  AddAxes(result, x, y, out, &plan);
  Fold(&plan);
  return plan;
}

template <typename T>
void MatMul(
    const MatMulPlan& plan, T alpha, const T* first, const T* second, T* out) {
  const T* a = plan.swapped ? second : first;
  const T* b = plan.swapped ? first : second;
  // The terms of a result: those of k in pieces, of each of the summed axes.
  // More than kTerms are added up apart, so that few additions round a large
  // sum. Without terms, a product of depth 0 writes zeros.
  constexpr int64_t kPiece = 8192, kTerms = 32;
  const int64_t depth = plan.summed.count() == 0 ? 0 : plan.k;
  const int64_t pieces = std::max<int64_t>((depth + kPiece - 1) / kPiece, 1);
  const int64_t terms = depth == 0 ? 1 : pieces * plan.summed.count();
  const auto sum = [&](const MatMulPlan::Axis& to, int64_t begin, T* c,
                       int64_t ldc) {
    for (int64_t term = begin; term < std::min(begin + kTerms, terms); ++term) {
      const MatMulPlan::Axis at =
          depth == 0 ? MatMulPlan::Axis() : plan.summed.At(term / pieces);
      const int64_t k = term % pieces * kPiece;
      Gemm<T>({plan.transpose_a, plan.transpose_b, plan.m, plan.n,
               std::min(kPiece, depth - k), alpha,
               a + to.a + at.a + k * (plan.transpose_a ? plan.lda : 1),
               plan.lda,
               b + to.b + at.b + k * (plan.transpose_b ? 1 : plan.ldb),
               plan.ldb, static_cast<T>(term == begin ? 0 : 1), c, ldc});
    }
  };
  const auto run = [&](int64_t begin, int64_t end) {
    std::vector<T> part(
        static_cast<size_t>(terms > kTerms ? plan.m * plan.n : 0));
    for (int64_t i = begin; i < end; ++i) {
      const MatMulPlan::Axis to = plan.batch.At(i);
      T* const c = out + to.c;
      sum(to, 0, c, plan.ldc);
      for (int64_t term = kTerms; term < terms; term += kTerms) {
        sum(to, term, part.data(), plan.n);
        for (int64_t row = 0; row < plan.m; ++row) {
          T* const to_row = c + row * plan.ldc;
          AddContiguous<T>(to_row, part.data() + row * plan.n, plan.n, to_row);
        }
      }
    }
  };
  // Threads share each large product; small products are distributed whole.
  constexpr double kLarge = 1 << 20;
  const double work =
      static_cast<double>(plan.m) * static_cast<double>(plan.n) *
      static_cast<double>(plan.k) * static_cast<double>(plan.summed.count());
  const int64_t count = plan.batch.count();
  if (work > kLarge && count < 4 * int64_t{NumThreads()}) {
    return run(0, count);
  }
  const auto grain = static_cast<int64_t>(1 + kLarge / 4 / (work + 1));
  ParallelFor(count, grain, run);
}

SLUICE_INSTANTIATE_FLOATS(MatMul);

KernelWork ProductWork(const MatMulPlan& plan, size_t element, int64_t lanes) {
  const double count = Real(plan.batch.count() * plan.summed.count());
  const double m = Real(plan.m), n = Real(plan.n), k = Real(plan.k);
  KernelWork work;
  work.flops = 2 * count * m * k * Padded(plan.n, lanes);
  work.bytes =
      static_cast<double>(element) * count * (m * k + k * n + 2 * m * n);
  return work;
}

KernelWork MatMulWork(const MatMulPlan& plan, size_t element) {
  const int64_t lanes = VectorLanes(element);
  KernelWork work = ProductWork(plan, element, lanes);
  const auto bytes = static_cast<int64_t>(element);
  const double count = Real(plan.batch.count() * plan.summed.count());
  // Fewer than a million products run on one thread (gemm.cc, MatMul).
  const double products = count * Real(plan.m) * Real(plan.n) * Real(plan.k);
  work.max_threads = std::max(products / 1e6, 1.0);
  work.costs = "matmul";
  if (plan.n == 1) {  // a row of the transposed product
    if (!plan.transpose_a) {
      AddDots(plan.m * static_cast<int64_t>(count), plan.k, lanes, &work);
    } else {
      work.flops = 2 * count * Real(plan.k) * Padded(plan.m, lanes);
    }
    return work;
  }
  const bool dots = plan.transpose_b && !plan.transpose_a && plan.m <= 2;
  if (dots) {
    AddDots(static_cast<int64_t>(count) * plan.m * plan.n, plan.k, lanes,
            &work);
    return work;
  }
  // A tile of few rows has too few sums to hide latency. A single row uses up
  // to eight vectors of columns.
  if (plan.m > 1 && plan.m < 5) work.flops *= 8 / Real(plan.m + 2);
  if (plan.m == 1) {
    const double vectors = Padded(plan.n, lanes) / Real(lanes);
    work.flops *= std::max(12 / std::max(vectors, 1.0), 1.0);
  }
  const double second = count * Real(plan.k) * Real(plan.n);
  const bool far = plan.ldb * bytes > 1024 && plan.m >= 36;
  const int64_t stride = plan.ldb * bytes;
  const bool swept =
      !plan.transpose_b && stride >= 2048 && plan.m <= (stride < 4096 ? 4 : 16);
  if (swept) work.costs = "matmul_swept";  // IsSwept of gemm.cc
  if (plan.transpose_b || far) {
    // B is packed panel by panel, once for 480 rows. If B has less than one
    // panel, packing is not vectorized.
    const bool vectors = plan.transpose_b && plan.n >= 2 * lanes;
    (vectors ? work.packed : work.scalar_packed) =
        second * Real((plan.m + 479) / 480);
  } else if (plan.m > 1 && !swept) {
    // Rows of a panel are a whole row of B apart, so that the hardware does not
    // prefetch them.
    work.extra_bytes = Real(bytes) * second;
  }
  // Twelve rows of C map to few sets of the first-level cache.
  if (AliasedReads(plan.ldc * bytes) > 0) {
    work.aliased = count * Real(plan.m) * Real(plan.n);
  }
  return work;
}

}  // namespace sluice
