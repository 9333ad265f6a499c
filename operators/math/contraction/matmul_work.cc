#include "sluice/operators/math/contraction/matmul_work.h"

#include <algorithm>

#include "sluice/operators/math/work.h"

namespace sluice {
namespace {

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
  // Fewer than a million products run on one thread (gemm.cc, matmul.cc).
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
  if (plan.transpose_b || far) {
    // B is packed panel by panel, once for 480 rows. If B has less than one
    // panel, packing is not vectorized.
    const bool vectors = plan.transpose_b && plan.n >= 2 * lanes;
    (vectors ? work.packed : work.scalar_packed) =
        second * Real((plan.m + 479) / 480);
  } else if (plan.m > 1) {
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
