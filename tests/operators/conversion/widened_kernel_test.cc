#include "sluice/operators/conversion/widened_kernel.h"

#include <bit>
#include <cmath>
#include <cstdint>

#include <Eigen/Core>
#include <gtest/gtest.h>

#include "sluice/framework/op/op_schema.h"
#include "sluice/platform/device_context_pool.h"

namespace sluice {
namespace {

// Out = the elements X[Index], and their number as Count. Writes to scratch
// memory to show that it is its own.
template <typename T>
class PickKernel final : public OpKernel {
 public:
  explicit PickKernel(const OpKernelConstruction& construction)
      : dtype_(construction.key().dtype) {}

  void Prepare(KernelPreparation& preparation) override {
    EXPECT_EQ(dtype_, kDTypeOf<T>);
    EXPECT_EQ(preparation.query.input_dtypes[0], kDTypeOf<T>);
    EXPECT_EQ(preparation.query.input_dtypes[1], DType::kInt64);
    EXPECT_EQ(preparation.query.output_dtypes[0], kDTypeOf<T>);
    EXPECT_EQ(preparation.query.input_constant[0], 0);
    EXPECT_EQ(preparation.query.input_constant[1], 1);
    preparation.scratch_bytes = 3;
  }

  void Compute(OpKernelContext& context) const override {
    std::fill_n(static_cast<char*>(context.scratch()), 3, char{-1});
    const Tensor& index = context.Input("Index");
    const T* x = context.Input("X").data<T>();
    const DDim dims = {index.numel()};
    T* out = context.AllocateOutput("Out", dims).template data<T>();
    for (int64_t i = 0; i < index.numel(); ++i) {
      out[i] = x[index.data<int64_t>()[i]];
    }
    if (!context.HasOutput("Count")) return;
    *context.AllocateOutput("Count", {}).data<int64_t>() = index.numel();
  }

 private:
  DType dtype_;
};

bfloat16 Rounded(float value) {
  return std::bit_cast<bfloat16>(Eigen::bfloat16(value));
}

// Prepares and runs the kernel for bfloat16 on X and Index.
class Pick {
 public:
  explicit Pick(const DDim& planned, bool with_count = true) {
    schema_.TypeVar("T", {DType::kBFloat16});
    schema_.Input("X", "T", "").Input("Index", "int64", "");
    schema_.Output("Out", "T", "").Output("Count", "int64", "");
    op_.type = "pick";
    op_.inputs = {{"X", {"x"}}, {"Index", {"index"}}};
    op_.outputs = {{"Out", {"out"}}};
    if (with_count) op_.outputs.emplace_back("Count", ArgVars{"count"});
    output_dims_ = {planned, DDim()};
    output_dims_.resize(with_count ? 2 : 1);
  }

  std::vector<Tensor> Run(Tensor x, Tensor index) {
    using Kernel = InFloat<bfloat16, &ConvertOnHost>::Kernel<PickKernel<float>>;
    const OpKernelType key = {PlaceKind::kCPU, DType::kBFloat16};
    Kernel kernel(OpKernelConstruction(op_, key));
    const DDim input_dims[] = {x.dims(), index.dims()};
    const DType input_dtypes[] = {DType::kBFloat16, DType::kInt64};
    const DType output_dtypes[] = {DType::kBFloat16, DType::kInt64};
    const uint8_t constant[] = {1, 1};
    const KernelQuery query = {
        schema_,      op_,
        input_dims,   input_dtypes,
        output_dims_, std::span(output_dtypes, output_dims_.size()),
        CPUPlace(),   constant};
    KernelPreparation preparation{query};
    kernel.Prepare(preparation);
    scratch_bytes_ = preparation.scratch_bytes;
    std::vector<Tensor> outputs(output_dims_.size());
    for (size_t i = 0; i < outputs.size(); ++i) {
      if (!output_dims_[i].known()) continue;
      outputs[i]
          .Resize(output_dims_[i])
          .mutable_data(output_dtypes[i], CPUPlace());
    }
    Tensor scratch;
    scratch.Resize({static_cast<int64_t>(scratch_bytes_)})
        .mutable_data(DType::kUInt8, CPUPlace());
    Tensor* inputs[] = {&x, &index};
    std::vector<Tensor*> to;
    for (Tensor& output : outputs) {
      to.push_back(&output);
    }
    const ArgTable table = MakeArgTable(query);
    const RunState run;
    OpKernelContext context(table, CPUPlace(),
                            DeviceContextPool::Instance().Get(CPUPlace()),
                            inputs, to.data(), scratch.raw_data(), &run);
    kernel.Compute(context);
    return outputs;
  }

  size_t scratch_bytes() const { return scratch_bytes_; }

 private:
  OpSchema schema_{"pick"};
  OpDesc op_;
  std::vector<DDim> output_dims_;
  size_t scratch_bytes_ = 0;
};

const Tensor kX = Tensor::FromVector<bfloat16>(
    {3}, {Rounded(1.5F), Rounded(NAN), Rounded(-300)});

TEST(WidenedKernel, ComputesInFloatAndPassesOtherDTypesOn) {
  Pick pick({2});
  const auto outputs = pick.Run(kX, Tensor::FromVector<int64_t>({2}, {2, 0}));
  EXPECT_EQ(outputs[0].ToVector<bfloat16>(),
            (std::vector<bfloat16>{Rounded(-300), Rounded(1.5F)}));
  EXPECT_EQ(outputs[1].ToVector<int64_t>(), std::vector<int64_t>{2});
  // The body's 3 bytes, X and Out: 64 bytes each.
  EXPECT_EQ(pick.scratch_bytes(), 192u);
}

TEST(WidenedKernel, KeepsNaNAndTakesEmptyTensors) {
  const auto nan = Pick({1}).Run(kX, Tensor::FromVector<int64_t>({1}, {1}));
  EXPECT_TRUE(std::isnan(static_cast<float>(
      std::bit_cast<Eigen::bfloat16>(nan[0].ToVector<bfloat16>()[0]))));
  const auto none = Pick({0}).Run(Tensor::FromVector<bfloat16>({0}, {}),
                                  Tensor::FromVector<int64_t>({0}, {}));
  EXPECT_EQ(none[0].numel(), 0);
}

TEST(WidenedKernel, AllocatesOutputsWhoseShapeIsKnownLate) {
  const auto outputs =
      Pick({kUnknownDim}).Run(kX, Tensor::FromVector<int64_t>({1}, {2}));
  EXPECT_EQ(outputs[0].ToVector<bfloat16>(),
            std::vector<bfloat16>{Rounded(-300)});
}

TEST(WidenedKernel, KnowsWhichOutputsAreWanted) {
  const auto outputs =
      Pick({1}, false).Run(kX, Tensor::FromVector<int64_t>({1}, {0}));
  EXPECT_EQ(outputs[0].ToVector<bfloat16>(),
            std::vector<bfloat16>{Rounded(1.5F)});
}

TEST(WidenedKernel, EstimateAndPredicateSeeFloatAndCountTheConversions) {
  const auto is_float = [](const KernelQuery& query) -> std::string {
    return query.input_dtypes[0] == DType::kFloat32 ? "" : "not float32";
  };
  using Kernel = InFloat<bfloat16, &ConvertOnHost>::Kernel<PickKernel<float>>;
  const KernelTraits traits =
      Kernel::AdaptTraits(KernelTraits().When(is_float));
  OpSchema schema("pick");
  schema.TypeVar("T", {DType::kBFloat16});
  schema.Input("X", "T", "").Output("Out", "T", "");
  OpDesc op;
  op.type = "pick";
  op.inputs = {{"X", {"x"}}};
  op.outputs = {{"Out", {"out"}}};
  const DDim dims[] = {{16}};
  const DType dtypes[] = {DType::kBFloat16};
  const KernelQuery query = {schema, op,     dims,      dtypes,
                             dims,   dtypes, CPUPlace()};
  EXPECT_EQ(traits.predicate(query), "");
  const auto work = traits.estimate(query);
  EXPECT_EQ(work.bytes, 2 * 16 * 4);
  EXPECT_EQ(work.extra_bytes, 2 * 16 * (4 + 2));
}

}  // namespace
}  // namespace sluice
