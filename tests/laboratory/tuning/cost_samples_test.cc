#include "sluice/laboratory/tuning/cost_samples.h"

#include <algorithm>
#include <cmath>

#include <gtest/gtest.h>

#include "sluice/framework/choice/candidates.h"
#include "sluice/laboratory/example_op.h"
#include "sluice/laboratory/op_example.h"

namespace sluice::testing {
namespace {

// The work of the kernels that take an op and have estimates.
std::vector<KernelWork> WorkOf(const OpFacts& facts) {
  CandidateLister lister(Registry::Global(), CPUPlace(), 1);
  std::vector<KernelWork> work;
  for (const Candidate& one : lister.List(facts)->candidates) {
    if (one.refusal.empty() && one.kernel->estimate) work.push_back(one.work);
  }
  return work;
}

void ExpectRows(const OpFacts& facts) {
  for (const KernelWork& work : WorkOf(facts)) {
    EXPECT_TRUE(work.costs.empty() || KernelCosts::Default().Has(work.costs))
        << facts.desc.type << ": costs.json has no row " << work.costs;
  }
}

TEST(CostRows, EstimatesNameThoseThatExist) {
  for (const CorpusCase& drawn : DrawCorpus(1, 300)) {
    ExpectRows(drawn.facts);
  }
  for (const CorpusCase& drawn : DrawVolumes(1, 30)) {
    ExpectRows(drawn.facts);
  }
  for (const std::string& op : OpsWithExamples()) {
    const auto kernels = Registry::Global().Kernels(op);
    const bool counted =
        std::ranges::any_of(kernels, [](const KernelDef* kernel) {
          return kernel->estimate && kernel->key.dtype == DType::kFloat32;
        });
    // The shapes of their outputs follow from data, which ExampleOp refuses.
    if (!counted || op == "non_max_suppression" || op == "nonzero" ||
        op == "unique") {
      continue;
    }
    for (const sluice::OpExample& example : BuiltinExamples(op)) {
      if (!example.dtypes.empty() &&
          !std::ranges::count(example.dtypes, DType::kFloat32)) {
        continue;
      }
      const ExampleOp made(example, DType::kFloat32);
      ExpectRows(made.op().facts);
    }
  }
}

// The work of volumes is in their windows, of which outputs are only a part.
TEST(VolumeWork, CountsTheElementsOfWindows) {
  const auto real = [](int64_t count) { return static_cast<double>(count); };
  int convolutions = 0, poolings = 0;
  for (const CorpusCase& drawn : DrawVolumes(1, 30)) {
    const OpFacts& facts = drawn.facts;
    const std::vector<KernelWork> all = WorkOf(facts);
    ASSERT_EQ(all.size(), 1u) << facts.desc.type;
    const KernelWork& work = all[0];
    if (facts.desc.type == "conv3d") {
      ++convolutions;
      const DDim& filter = facts.inputs[1];
      const double windows = real(facts.outputs[0].numel()) / real(filter[0]);
      const double terms = real(filter.numel()) / real(filter[0]);
      EXPECT_DOUBLE_EQ(work.patches, windows * terms);
      EXPECT_GE(work.flops, 2 * real(facts.outputs[0].numel()) * terms);
    } else if (facts.desc.type == "pool3d") {
      ++poolings;
      const auto& size =
          std::get<std::vector<int64_t>>(facts.desc.attributes.at("ksize"));
      EXPECT_DOUBLE_EQ(work.terms + work.sums, real(facts.outputs[0].numel()) *
                                                   std::pow(real(size[0]), 3));
    }
  }
  EXPECT_GT(convolutions, 0);
  EXPECT_GT(poolings, 0);
}

TEST(CostSamples, AreMeasuredForEachKernelThatTakesTheOp) {
  const std::vector<CorpusCase> corpus = DrawCorpus(3, 3);
  std::vector<CostSample> samples;
  // Times that other programs disturb are left out.
  for (int tries = 0; tries < 20 && samples.size() < 2; ++tries) {
    samples = MeasureCosts(corpus, 1, 0.01);
  }
  ASSERT_GE(samples.size(), 2u);
  for (const CostSample& sample : samples) {
    EXPECT_GT(sample.seconds, 0) << sample.row;
    EXPECT_GT(PredictSeconds(sample.work, KernelCosts::Active().Of(
                                              sample.row, DType::kFloat32)),
              sample.work.fixed)
        << sample.row;
  }
}

}  // namespace
}  // namespace sluice::testing
