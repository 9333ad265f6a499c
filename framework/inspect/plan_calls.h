#pragma once

#include <string>
#include <vector>

#include "sluice/framework/choice/hint_names.h"
#include "sluice/framework/plan/plan.h"
#include "sluice/platform/export.h"

namespace sluice {

// One kernel call of a plan, as Explain names it. Points into the plan.
struct PlanCall {
  const Decision* decision = nullptr;
  const OpDesc* desc = nullptr;
  const Candidate* chosen = nullptr;
  // The fastest of the other kernels that fit: at the same place, else at
  // another one; null without any.
  const Candidate* next = nullptr;
  // The first op of the program that it computes, which is what a hint selects;
  // for an op that a pass put in, an index after those of the program.
  int number = 0;
  bool put_in = false;  // by a pass
  std::string name;     // "conv2d+bn+relu"
  std::string why;      // at most five words
  OpPurpose purpose = OpPurpose::kForward;
  size_t moved_bytes = 0;  // of its inputs, from other places
  double time = 0;         // predicted, in seconds

  double seconds() const { return time; }
  bool estimated() const { return chosen->evidence == Evidence::kEstimate; }
};

// "conv2d+bn+relu" and the number that a decision has in every text.
SLUICE_API std::string NameOf(const Decision& decision);
SLUICE_API int NumberOf(const Decision& decision);

// The calls in running order.
SLUICE_API std::vector<PlanCall> CallsOf(const Plan& plan);

// A kernel's name, with its place if that is not `here`: "plain at cuda:0".
SLUICE_API std::string KernelName(const KernelDef& kernel,
                                  PlaceKey place,
                                  PlaceKey here = {});

// The hint that prefers another kernel for a call: "#32: prefer variant=direct,
// layout=NHWC". Empty for an op that a pass put in, which no hint selects.
SLUICE_API std::string HintFor(const PlanCall& call,
                               const Candidate& candidate);

// Whether the CPU emulates a device: times there are the CPU's, and predictions
// a GPU's.
SLUICE_API bool IsEmulated(PlaceKey place);
// Where a plan's ops run, its own place first: "cpu, cuda:0 (emulated)".
SLUICE_API std::string PlacesText(const Plan& plan);

// "float32 [50, 1, 8, 8]", without the dtype if it is float32.
SLUICE_API std::string ValueText(DType dtype, const DDim& dims);

}  // namespace sluice
