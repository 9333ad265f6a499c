#pragma once

#include <string>
#include <vector>

#include "sluice/framework/executor.h"
#include "sluice/platform/export.h"

namespace sluice::framework {

// One op under two ways of choosing kernels.
struct OpComparison {
  int op_index = 0;
  std::string op;
  std::string kernel_a;  // "plain at cpu"
  std::string kernel_b;
  double seconds_a = 0;
  double seconds_b = 0;
  // Over the op's outputs, with the op fed what way A computed, so that errors
  // do not add up from op to op.
  double max_absolute_error = 0;
  double max_relative_error = 0;  // |a - b| / max(|a|, |b|)
  bool differs = false;           // beyond the tolerance, or in shape or dtype
};

struct CompareOptions {
  PlaceKey place;
  // Outputs agree when |a - b| <= absolute + relative * max(|a|, |b|), and
  // NaN agrees with NaN.
  double relative_tolerance = 1e-5;
  double absolute_tolerance = 1e-8;
};

struct Comparison {
  std::vector<OpComparison> ops;
  // Index into `ops` of the first that differs; -1 when all agree.
  int first_difference = -1;
};

// Runs `program` under `hints_a` and under `hints_b` (kernel_hints.h), op by
// op, and says where they part, with errors and times of each. Persistables
// are read from `scope` and not written.
SLUICE_API Comparison Compare(const Program& program,
                              const Feeds& feeds,
                              std::string_view hints_a,
                              std::string_view hints_b,
                              const CompareOptions& options = {},
                              const Scope* scope = nullptr);

// A table, and one line about the first difference.
SLUICE_API std::string ToString(const Comparison& comparison);

}  // namespace sluice::framework
