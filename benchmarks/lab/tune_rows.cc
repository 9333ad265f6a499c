#include <algorithm>
#include <cstdio>
#include <cstring>
#include <string>
#include <utility>
#include <vector>

#include "benchmarks/lab/rows.h"

#include "sluice/framework/op/op_schema.h"
#include "sluice/framework/run/executor.h"
#include "sluice/laboratory/tuning/corpus.h"
#include "sluice/laboratory/tuning/tune_program.h"
#include "sluice/platform/error.h"

namespace sluice::bench {
namespace {

constexpr unsigned kSeed = 2;
constexpr int kSignatures = 100;
constexpr double kPlenty = 60;
// For a smoke run.
constexpr int kFewSignatures = 4;
constexpr double kLittle = 0.5;

// All cases in one program, each with its own inputs.
struct SideBySide {
  Program program;
  Feeds feeds;
  Fetches fetches;

  explicit SideBySide(const std::vector<CorpusCase>& cases) {
    for (size_t i = 0; i < cases.size(); ++i) {
      Add(cases[i], "op" + std::to_string(i) + ".");
    }
  }

 private:
  void Add(const CorpusCase& drawn, const std::string& prefix) {
    const IsolatedOp op = WithValues(drawn);
    OpDesc desc = drawn.facts.desc;
    size_t flat = 0;
    for (const ArgDef& def : drawn.facts.schema->inputs()) {
      for (auto& [argument, vars] : desc.inputs) {
        if (argument != def.name) continue;
        for (std::string& var : vars) {
          var.insert(0, prefix);
          program.Data(var, drawn.facts.input_dtypes[flat],
                       drawn.facts.inputs[flat]);
          feeds.emplace_back(var, Fed(drawn.facts, op.inputs[flat], flat));
          ++flat;
        }
      }
    }
    for (auto& [argument, vars] : desc.outputs) {
      for (std::string& var : vars) {
        var.insert(0, prefix);
      }
    }
    for (const auto& [argument, vars] : program.AppendOp(desc).outputs) {
      fetches.emplace_back(vars.front());
    }
  }

  // Inputs read only for their shape have no elements.
  static Tensor Fed(const OpFacts& facts, const Tensor& tensor, size_t input) {
    if (tensor.allocated()) return tensor;
    Tensor zeros;
    zeros.Resize(facts.inputs[input]);
    void* data = zeros.mutable_data(facts.input_dtypes[input], CPUPlace());
    std::memset(data, 0, zeros.bytes());
    return zeros;
  }
};

TuneResult TuneFor(const SideBySide& ops, double budget) {
  Executor executor;
  return Tune(executor, ops.program, ops.feeds, ops.fetches, nullptr,
              {.budget_seconds = budget, .again = true});
}

}  // namespace

void AddTuneRows(const Options& options, Report& report) {
  const SideBySide ops(
      DrawCorpus(kSeed, options.smoke ? kFewSignatures : kSignatures));
  const TuneResult all = TuneFor(ops, options.smoke ? kLittle : kPlenty);
  const auto tuned = static_cast<double>(all.signatures.size());
  std::fprintf(stderr, "%.0f signatures tuned in %.1f s, %d left out\n", tuned,
               all.seconds, all.left_out);
  if (all.left_out > 0 || tuned == 0) {
    // There is no valid figure.
    report.Add(
        {.id = "lab/tune_100_s", .unit = "s", .value = kPlenty, .at_most = 15});
  } else {
    report.Add({.id = "lab/tune_100_s",
                .unit = "s",
                .value = all.seconds * kSignatures / tuned,
                .at_most = 15});
  }
  for (const double budget :
       options.smoke ? std::vector{0.1} : std::vector{1.0, 3.0}) {
    const TuneResult some = TuneFor(ops, budget);
    report.Add({.id = Format("lab/tune_over_budget/{:g}s", budget),
                .unit = "%",
                .value = std::max(some.seconds / budget - 1, 0.0) * 100,
                .at_most = 10});
  }
}

}  // namespace sluice::bench
