#pragma once

#include <string>
#include <vector>

#include "sluice/framework/op/registry.h"
#include "sluice/framework/run/executor.h"
#include "sluice/laboratory/tuning/tune_program.h"

// The op test_lab, Out = 2 X + 1 (float32, float64), with correct kernels and
// kernels with one planted mistake each. All except `plain` are candidates only
// while UseVariants names them, and are registered before it, so that they are
// chosen without records.
namespace sluice::testing {

//   thousandth   1e-3 too large, all elements
//   tail         the elements after the last multiple of 8 are 0
//   nan_lost     0 where X is NaN
//   skips        leaves element 2 as it was
//   overruns     writes one element too many
//   overruns_scratch  writes one byte after its scratch memory
//   fickle       every second call has another last bit in element 0
//   by_threads   with two threads another last bit in element 0
//   raises       an Error, after it changed X
//   raises_foreign, raises_int   a std::runtime_error; 3
//   scribbles    right, and then changes the first element of X
//   greedy       an Error for want of memory
//   fast, slow   right
//   sleepy       right, and takes 20 ms, from the seventh call on 60 ms;
//   drowsy       22 ms and 66 ms
//   sly          right, fast by itself, and slow after another test_lab
class UseVariants {
 public:
  explicit UseVariants(const std::vector<std::string>& variants);
  ~UseVariants();
  UseVariants(const UseVariants&) = delete;
  UseVariants& operator=(const UseVariants&) = delete;
};

// Registers the ops; call it before anything else.
void UseLabOps();

// A different number in every call, so that no test finds earlier records.
int64_t NewSize();

// Out = test_lab(X), where X is a float32 [size] feed.
struct LabProgram {
  explicit LabProgram(int64_t size = NewSize(), int ops = 1);

  Program program;
  Feeds feeds;
  Fetches fetches;
};

const TunedKernel* FindKernel(const TunedSignature& tuned,
                              const std::string& variant);
const KernelDef* FindKernel(const std::string& op,
                            const std::string& variant,
                            DType dtype);

}  // namespace sluice::testing
