// Values that only a kernel on a CUDA device sees, and must reject.
#include <cstring>
#include <string>
#include <utility>
#include <vector>

#include "tests/testing/cuda_device.h"
#include "tests/testing/expect_error.h"
#include <gtest/gtest.h>

#include "sluice/framework/run/run_op.h"

namespace sluice {
namespace {

using ::sluice::testing::ExpectError;

class CUDAData : public ::testing::Test {
 protected:
  void SetUp() override {
    const std::string missing = ::sluice::testing::WhyNoCUDA();
    if (!missing.empty()) GTEST_SKIP() << missing;
  }

  static constexpr const char* kHint = "require place=cuda:0";
};

TEST_F(CUDAData, GatherRefusesAnIndexOutsideOfX) {
  const Tensor x = Tensor::FromVector<float>({3, 1}, {1, 2, 3});
  for (const int64_t bad : {int64_t{-4}, int64_t{3}, INT64_MIN}) {
    const Tensor index = Tensor::FromVector<int64_t>({2}, {0, bad});
    ExpectError(
        ErrorCode::kOutOfRange, "gather.index_range_on_device",
        {"gather", "element 1 of input Index", std::to_string(bad), "[-3, 3)",
         "in op 0"},
        [&] {
          RunOp("gather", {{"X", x}, {"Index", index}}, {}, {.hint = kHint});
        });
  }
  // The next run is not affected.
  const Tensor index = Tensor::FromVector<int64_t>({2}, {2, 0});
  EXPECT_EQ(
      RunOp("gather", {{"X", x}, {"Index", index}}, {}, {.hint = kHint})["Out"]
          .ToVector<float>(),
      (std::vector<float>{3, 1}));
}

TEST_F(CUDAData, OpsOnMasksRefuseRunsOutsideOfTheImage) {
  const Tensor embedding = Tensor::FromVector<float>({1, 1, 2, 1}, {1, 2});
  const Tensor mean_grad = Tensor::FromVector<float>({1, 1, 1}, {1});
  const Tensor loss_grad = Tensor::FromVector<float>({1}, {1});
  const std::pair<std::string, std::vector<std::pair<std::string, Tensor>>>
      ops[] = {{"average_embedding_mask", {}},
               {"average_embedding_mask_grad", {{"Out@GRAD", mean_grad}}},
               {"discriminative_loss", {}},
               {"discriminative_loss_grad", {{"Loss@GRAD", loss_grad}}}};
  const int64_t runs[][2] = {{-1, 1}, {2, 1}, {0, 3}};
  for (const auto& op : ops) {
    for (const auto& run : runs) {
      auto inputs = op.second;
      inputs.emplace_back("Embedding", embedding);
      inputs.emplace_back(
          "Mask", Tensor::FromVector<int64_t>({1, 1, 1, 2}, {run[0], run[1]}));
      ExpectError(
          ErrorCode::kOutOfRange, "embedding_mask.bad_run",
          {op.first + ": run 0 of input Mask", "0 <= start <= end <= 2"},
          [&] { RunOp(op.first, inputs, {}, {.hint = kHint}); });
    }
  }
}

TEST_F(CUDAData, LookupTableRefusesAnIdThatIsNoRow) {
  const Tensor w = Tensor::FromVector<float>({3, 2}, {1, 2, 3, 4, 5, 6});
  const Tensor ids = Tensor::FromVector<int64_t>({2}, {2, 3});
  ExpectError(
      ErrorCode::kOutOfRange, "lookup_table.id_range_on_device",
      {"lookup_table", "element 1 of input Ids, 3", "[0, 3)"}, [&] {
        RunOp("lookup_table", {{"W", w}, {"Ids", ids}}, {}, {.hint = kHint});
      });
}

TEST_F(CUDAData, GradientsOfGatherRefuseAnIndexOutsideOfX) {
  const Tensor x = Tensor::FromVector<float>({3, 1}, {1, 2, 3});
  const Tensor index = Tensor::FromVector<int32_t>({2}, {0, -4});
  const Tensor grad = Tensor::FromVector<float>({2, 1}, {1, 2});
  ExpectError(ErrorCode::kOutOfRange, "gather_grad.index_range_on_device",
              {"gather_grad", "element 1 of input Index, -4", "[-3, 3)"}, [&] {
                RunOp("gather_grad",
                      {{"X", x}, {"Index", index}, {"Out@GRAD", grad}}, {},
                      {.hint = kHint});
              });
}

TEST_F(CUDAData, OpsOfIndicesRefuseOneOutsideOfX) {
  const Tensor x = Tensor::FromVector<float>({2, 3}, {1, 2, 3, 4, 5, 6});
  const Tensor index = Tensor::FromVector<int64_t>({2, 2}, {0, 1, -1, -4});
  const Tensor updates = Tensor::FromVector<float>({2}, {1, 2});
  const Tensor grad = Tensor::FromVector<float>({2, 2}, {1, 2, 3, 4});
  using Inputs = std::vector<std::pair<std::string, Tensor>>;
  struct Run {
    std::string op;
    Inputs inputs;
    AttributeMap attributes;
  };
  const AttributeMap along = {{"axis", int64_t{1}}};
  const Run runs[] = {
      {"gather_elements", {{"X", x}, {"Index", index}}, along},
      {"gather_elements_grad",
       {{"X", x}, {"Index", index}, {"Out@GRAD", grad}},
       along},
      {"gather_nd", {{"X", x}, {"Index", index}}, {}},
      {"gather_nd_grad",
       {{"X", x}, {"Index", index}, {"Out@GRAD", updates}},
       {}},
      {"scatter_elements",
       {{"X", x}, {"Index", index}, {"Updates", grad}},
       along},
      {"scatter_elements_grad",
       {{"X", x}, {"Index", index}, {"Updates", grad}, {"Out@GRAD", x}},
       along},
      {"scatter_nd", {{"X", x}, {"Index", index}, {"Updates", updates}}, {}},
      {"scatter_nd_grad",
       {{"X", x}, {"Index", index}, {"Updates", updates}, {"Out@GRAD", x}},
       {}}};
  for (const Run& run : runs) {
    RunOpOptions options{.hint = kHint};
    const bool gradient = run.op.ends_with("_grad");
    options.outputs = {gradient ? "X@GRAD" : "Out"};
    ExpectError(ErrorCode::kOutOfRange, "indexing.range_on_device",
                {run.op + ": element 3 of input Index, -4", "[-3, 3)"},
                [&] { RunOp(run.op, run.inputs, run.attributes, options); });
  }
}

TEST_F(CUDAData, ScattersOfHalvesOnlyReplace) {
  const auto half = [](const std::vector<float>& values) {
    return RunOp("cast",
                 {{"X", Tensor::FromVector<float>(
                            {static_cast<int64_t>(values.size())}, values)}},
                 {{"dtype", DType::kFloat16}})["Out"];
  };
  const Tensor index = Tensor::FromVector<int64_t>({1}, {1});
  const auto run = [&](const char* reduction) {
    return RunOp(
        "scatter_elements",
        {{"X", half({1, 2})}, {"Index", index}, {"Updates", half({5})}},
        {{"reduction", std::string(reduction)}}, {.hint = kHint})["Out"];
  };
  EXPECT_EQ(
      RunOp("cast", {{"X", run("none")}}, {{"dtype", DType::kFloat32}})["Out"]
          .ToVector<float>(),
      (std::vector<float>{1, 5}));
  ExpectError(
      ErrorCode::kNotFound, "resolver.no_kernel",
      {"scatter_elements", "replaces elements of float16", "reduction is add"},
      [&] { run("add"); });
}

TEST_F(CUDAData, CrossEntropyRefusesALabelThatIsNoClass) {
  const Tensor logits = Tensor::FromVector<float>({2, 2}, {1, 2, 3, 4});
  const Tensor label = Tensor::FromVector<int64_t>({2, 1}, {-100, 2});
  ExpectError(
      ErrorCode::kOutOfRange,
      "softmax_with_cross_entropy.label_range_on_device",
      {"softmax_with_cross_entropy", "input Label has 2 in row 1", "0 to 1"},
      [&] {
        RunOp("softmax_with_cross_entropy",
              {{"Logits", logits}, {"Label", label}}, {}, {.hint = kHint});
      });
}

TEST_F(CUDAData, RandomNumbersHaveTheBitsOfTheCPU) {
  for (const char* op : {"uniform_random", "gaussian_random"}) {
    for (const DType dtype : {DType::kFloat32, DType::kFloat64}) {
      const AttributeMap attributes = {{"shape", std::vector<int64_t>{1021}},
                                       {"seed", int64_t{5}},
                                       {"dtype", dtype}};
      const Tensor want = RunOp(op, {}, attributes)["Out"];
      const Tensor got = RunOp(op, {}, attributes, {.hint = kHint})["Out"];
      ASSERT_EQ(got.bytes(), want.bytes());
      EXPECT_EQ(std::memcmp(got.raw_data(), want.raw_data(), want.bytes()), 0)
          << op;
    }
  }
}

}  // namespace
}  // namespace sluice
