// A run inside a user's parallel region.
#include "tests/bad_input/bad_input.h"
#include <gtest/gtest.h>

#include "sluice/framework/run/run_op.h"

namespace sluice::testing {
namespace {

TEST(BadMoments, ARunInsideTheCallersParallelRegion) {
  const Tensor x = Floats({2, 3});
  ExpectRefusedInput(ErrorCode::kFailedPrecondition, "run.parallel_region",
                     {"OpenMP parallel region", "run it outside"}, [&] {
                       std::exception_ptr first;
#pragma omp parallel num_threads(2)
                       {
                         try {
                           RunOp("top_k", {{"X", x}});
                         } catch (...) {
#pragma omp critical
                           first = std::current_exception();
                         }
                       }
                       if (first) std::rethrow_exception(first);
                     });
}

}  // namespace
}  // namespace sluice::testing
