#pragma once

#include <string>
#include <vector>

#include "sluice/framework/run/executor.h"

// Ops that only these tests know. All are named test_*, take float32 and
// float64 unless said otherwise, and have the shape of their first input:
//   test_add       Out = X + Y; attribute `bias`. Variants: plain;
//                  wrong (slow by its estimate; element 1 is off by 1); picky
//                  (float32; highest; takes 100 elements or more).
//   test_fail      Out = X, or an error while FailTestOps says so; attribute
//                  `foreign`: the error is a std::runtime_error.
//   test_update    ParamOut = Param + Delta, in place of Param.
//   test_commit    the same by a kernel that cannot fail; attribute `cancels`:
//                  it then calls SetCancelRequested(true).
//   test_divide    Out = 1 / X.
//   test_some      Out has as many elements as X[0] says; where that is
//                  negative, the kernel forgets to allocate it.
//   test_scratch   Out = X, by way of scratch memory, with NaN after it.
//                  Variants: plain; reluctant (float32; its Prepare refuses
//                  fewer than 1000 elements); half (float32; slow by its
//                  estimate; writes every second element).
//   test_views     Out is X's memory in shape [numel]; SameBytes too, but it is
//                  one element longer, so that it cannot be.
//   test_many      everything that a schema can say; see test_ops.cc.
namespace sluice::testing {

// Registers them, once; call it before anything else.
void UseTestOps();

// During its lifetime test_fail fails, except the first `calls` times.
class FailTestOps {
 public:
  explicit FailTestOps(int calls = 0);
  ~FailTestOps();
};

// Appends the op and returns its output variable.
std::string Append(Program* program,
                   std::string_view op,
                   Program::ArgList inputs,
                   AttributeMap attributes = {},
                   std::string_view hint = "");

Tensor Floats(const DDim& dims, const std::vector<float>& values);
// 0, 1, 2, ...
Tensor Iota(const DDim& dims);

}  // namespace sluice::testing
