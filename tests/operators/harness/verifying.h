#pragma once

#include <functional>
#include <string>

#include "tests/operators/harness/op_case.h"

#include "sluice/framework/op/registry.h"
#include "sluice/laboratory/tuning/verify.h"

// Helpers to verify kernels by the examples of their op's case.
namespace sluice::testing {

// Calls visit(op) with the op as plans run it, with all outputs. Does not if
// plans have no kernel for the example.
void VisitIsolated(const std::string& op,
                   const OpExample& example,
                   const std::function<void(const IsolatedOp&)>& visit);

// The outputs of a naive reference, to verify kernels with.
Reference ToReference(const IsolatedOp& op, const Arrays& want, double slack);

// What a kernel that computes `want` stores: float8_e8m0fnu has no zero, and
// its smallest number replaces it.
double StoredAs(DType dtype, double want);

// Runs the kernel with one thread and two; check "refused" if it does not
// accept the op.
Verification Verify(const KernelDef& kernel,
                    const IsolatedOp& op,
                    const Verifier& verifier);

// Fails the test if the kernel is wrong. Returns whether it accepts the op.
bool ExpectRight(const KernelDef& kernel,
                 const IsolatedOp& op,
                 const Verifier& verifier);

}  // namespace sluice::testing
