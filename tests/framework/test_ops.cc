#include "tests/framework/test_ops.h"

#include <algorithm>
#include <atomic>
#include <cstring>
#include <limits>
#include <numeric>
#include <stdexcept>

#include "sluice/framework/op/commit_kernel.h"
#include "sluice/framework/op/infer_shape_context.h"
#include "sluice/framework/op/op_registry.h"
#include "sluice/platform/cancel.h"
#include "sluice/platform/error.h"

namespace sluice::testing {

namespace {

std::atomic<int> failing{0};
std::atomic<int64_t> calls_before_failing{0};

// --- test_add
void AddShape(InferShapeContext& context) {
  context.SetOutput("Out",
                    context.Merge(context.input("X"), context.input("Y")));
}
void AddSchema(OpSchema& op) {
  op.Doc("Out = X + Y + bias.");
  op.TypeVar("T", {DType::kFloat32, DType::kFloat64});
  op.Input("X", "T", "").Input("Y", "T", "").Output("Out", "T", "");
  op.Attr<double>("bias", "").Default(0.0);
  op.InferShape(AddShape);
}

template <typename T, int kError>
class AddKernelOf : public OpKernel {
 public:
  explicit AddKernelOf(const OpKernelConstruction& construction)
      : bias_(static_cast<T>(construction.Attr<double>("bias"))) {}
  void Compute(OpKernelContext& context) const override {
    const Tensor& x = context.Input("X");
    const Tensor& y = context.Input("Y");
    Tensor& out = context.AllocateOutput("Out", x.dims());
    for (const void* data : {x.raw_data(), y.raw_data()}) {
      if (reinterpret_cast<uintptr_t>(data) % sizeof(T) == 0) continue;
      throw std::logic_error("elements start where none can");
    }
    for (int64_t i = 0; i < x.numel(); ++i) {
      out.data<T>()[i] = x.data<T>()[i] + y.data<T>()[i] + bias_;
      if (i == 1) out.data<T>()[i] += kError;
    }
  }

 private:
  T bias_;
};
template <typename T>
class AddKernel final : public AddKernelOf<T, 0> {
  using AddKernelOf<T, 0>::AddKernelOf;
};
template <typename T>
class WrongAddKernel final : public AddKernelOf<T, 1> {
  using AddKernelOf<T, 1>::AddKernelOf;
};
std::string AtLeast100(const KernelQuery& query) {
  const int64_t numel = query.inputs[0].numel();
  return numel >= 100 ? "" : Format("needs 100 elements, got {}", numel);
}

// --- ops with one X
void SameShape(InferShapeContext& context) {
  context.SetOutput(0, context.input(0));
}
void OneInput(OpSchema& op) {
  op.TypeVar("T", {DType::kFloat32, DType::kFloat64});
  op.Input("X", "T", "").Output("Out", "T", "").InferShape(SameShape);
}

void FailSchema(OpSchema& op) {
  OneInput(op);
  op.Attr<bool>("foreign", "").Default(false);
}
template <typename T>
class FailKernel final : public OpKernel {
 public:
  explicit FailKernel(const OpKernelConstruction& construction)
      : foreign_(construction.Attr<bool>("foreign")) {}
  void Compute(OpKernelContext& context) const override {
    const Tensor& x = context.Input(0);
    Tensor& out = context.AllocateOutput(0, x.dims());
    std::memcpy(out.raw_data(), x.raw_data(), x.bytes());
    if (failing == 0 || calls_before_failing-- > 0) return;
    if (foreign_) throw std::runtime_error("a foreign failure");
    Raise(ErrorCode::kInvalidArgument, "test_fail.told_to",
          "test_fail: it was told to");
  }

 private:
  bool foreign_;
};

template <typename T>
class DivideKernel final : public OpKernel {
  using OpKernel::OpKernel;
  void Compute(OpKernelContext& context) const override {
    const Tensor& x = context.Input(0);
    T* out = context.AllocateOutput(0, x.dims()).template data<T>();
    for (int64_t i = 0; i < x.numel(); ++i)
      out[i] = 1 / x.data<T>()[i];
  }
};

// Writes every second element.
template <typename T>
class HalfKernel final : public OpKernel {
  using OpKernel::OpKernel;
  void Compute(OpKernelContext& context) const override {
    const Tensor& x = context.Input(0);
    T* out = context.AllocateOutput(0, x.dims()).template data<T>();
    for (int64_t i = 0; i < x.numel(); i += 2) {
      out[i] = x.data<T>()[i];
    }
  }
};

template <typename T>
class ScratchKernel : public OpKernel {
 public:
  using OpKernel::OpKernel;
  void Prepare(KernelPreparation& preparation) override {
    preparation.scratch_bytes =
        static_cast<size_t>(preparation.query.inputs[0].numel()) * sizeof(T);
  }
  void Compute(OpKernelContext& context) const override {
    const Tensor& x = context.Input(0);
    Tensor& out = context.AllocateOutput(0, x.dims());
    T* scratch = static_cast<T*>(context.scratch());
    std::memcpy(scratch, x.raw_data(), x.bytes());
    // If scratch memory overlapped with the input, this would destroy it.
    std::memcpy(out.raw_data(), scratch, x.bytes());
    std::fill_n(scratch, x.numel(), std::numeric_limits<T>::quiet_NaN());
  }
};

template <typename T>
class ReluctantKernel final : public ScratchKernel<T> {
  using ScratchKernel<T>::ScratchKernel;
  void Prepare(KernelPreparation& preparation) override {
    ScratchKernel<T>::Prepare(preparation);
    preparation.scratch_bytes += 4096;
    const int64_t numel = preparation.query.inputs[0].numel();
    if (numel >= 1000) return;
    Raise(ErrorCode::kUnimplemented, "test_scratch.reluctant",
          "test_scratch: needs 1000 elements, got {}", numel);
  }
};

void SomeSchema(OpSchema& op) {
  OneInput(op);
  op.InferShape(
      [](InferShapeContext& context) { context.SetOutput(0, DDim({-1})); });
}

template <typename T>
class SomeKernel final : public OpKernel {
  using OpKernel::OpKernel;
  void Compute(OpKernelContext& context) const override {
    const Tensor& x = context.Input(0);
    const auto count = static_cast<int64_t>(x.data<T>()[0]);
    if (count < 0) return;
    Tensor& out = context.AllocateOutput(0, {count});
    std::fill_n(out.data<T>(), count, x.data<T>()[0]);
  }
};

// --- test_update
void UpdateSchema(OpSchema& op) {
  op.TypeVar("T", {DType::kFloat32, DType::kFloat64});
  op.Input("Param", "T", "").Input("Delta", "T", "");
  op.Output("ParamOut", "T", "").Update("ParamOut", "Param");
  op.InferShape(SameShape);
}
template <typename T>
void AddDelta(OpKernelContext& context) {
  const Tensor& param = context.Input("Param");
  const T* delta = context.Input("Delta").data<T>();
  T* out = context.AllocateOutput("ParamOut", param.dims()).data<T>();
  for (int64_t i = 0; i < param.numel(); ++i) {
    out[i] = param.data<T>()[i] + delta[i];
  }
}
template <typename T>
class UpdateKernel final : public OpKernel {
  using OpKernel::OpKernel;
  void Compute(OpKernelContext& context) const override {
    AddDelta<T>(context);
  }
};

// --- test_commit
void CommitSchema(OpSchema& op) {
  UpdateSchema(op);
  op.Attr<bool>("cancels", "").Default(false);
}
template <typename T>
class SureUpdateKernel final : public CommitKernel {
 public:
  explicit SureUpdateKernel(const OpKernelConstruction& construction)
      : cancels_(construction.Attr<bool>("cancels")) {}
  void Compute(OpKernelContext& context) const override {
    AddDelta<T>(context);
    if (cancels_) SetCancelRequested(true);
  }
  bool CannotFail() const override { return true; }

 private:
  bool cancels_;
};

// --- test_views
void ViewsSchema(OpSchema& op) {
  op.TypeVar("T", {DType::kFloat32, DType::kFloat64});
  op.Input("X", "T", "").Output("Out", "T", "").Output("SameBytes", "T", "");
  op.Alias("Out", "X").Alias("SameBytes", "X");
  op.InferShape([](InferShapeContext& context) {
    const DDim x = context.input("X");
    const int64_t count = x.known() ? x.numel() : -1;
    context.SetOutput("Out", DDim({count}));
    context.SetOutput("SameBytes", DDim({count < 0 ? -1 : count + 1}));
  });
}
template <typename T>
class ViewsKernel final : public OpKernel {
  using OpKernel::OpKernel;
  void Compute(OpKernelContext& context) const override {
    const Tensor& x = context.Input(0);
    Tensor& out = context.AllocateOutput(0, {x.numel()});
    Tensor& longer = context.AllocateOutput(1, {x.numel() + 1});
    if (out.raw_data() != x.raw_data()) {
      std::memcpy(out.raw_data(), x.raw_data(), x.bytes());
    }
    // 1 if Out is a view of X.
    longer.data<T>()[0] = out.raw_data() == x.raw_data() ? 1 : 0;
    for (int64_t i = 0; i < x.numel(); ++i) {
      longer.data<T>()[i + 1] = x.data<T>()[i];
    }
  }
};

// --- test_many: inputs Index (S), Xs (T, variadic), Bias (T, optional),
// Flag (bool, on the host), Like (T, shape only, optional); outputs Out (T),
// Count (int64), Extra (T, optional); all attribute types.
void ManyShape(InferShapeContext& context) {
  context.SetOutput("Out", context.inputs("Xs")[0]);
  context.SetOutput("Count", DDim({1}));
  context.SetOutput("Extra", context.input("Index"));
}
void ManySchema(OpSchema& op) {
  op.TypeVar("T", {DType::kFloat32, DType::kFloat64});
  op.TypeVar("S", {DType::kInt32, DType::kInt64});
  op.Input("Index", "S", "");
  op.Input("Xs", "T", "", {.variadic = true});
  op.Input("Bias", "T", "", {.optional = true});
  op.Input("Flag", "bool", "", {.optional = true, .host = true});
  op.Input("Like", "T", "", {.optional = true, .shape_only = true});
  op.Output("Out", "T", "").Output("Count", "int64", "");
  op.Output("Extra", "T", "", {.optional = true});
  op.Attr<int64_t>("number", "");
  op.Attr<bool>("flag", "").Default(false);
  op.Attr<double>("ratio", "").Default(0.5).AtLeast(0).AtMost(1);
  op.Attr<std::string>("mode", "")
      .Default(std::string("near"))
      .OneOf({"near", "far"});
  op.Attr<std::vector<int64_t>>("sizes", "")
      .Default(std::vector<int64_t>{})
      .AtLeast(0);
  op.Attr<std::vector<double>>("weights", "")
      .Default(std::vector<double>{})
      .AtLeast(0);
  op.Attr<std::vector<std::string>>("names", "")
      .Default(std::vector<std::string>{});
  op.Attr<DType>("out_dtype", "").Default(DType::kFloat32);
  op.InferShape(ManyShape);
}
template <typename T>
class ManyKernel final : public OpKernel {
  using OpKernel::OpKernel;
  void Compute(OpKernelContext& context) const override {
    const auto xs = context.Inputs("Xs");
    Tensor& out = context.AllocateOutput("Out", xs[0]->dims());
    std::memcpy(out.raw_data(), xs[0]->raw_data(), xs[0]->bytes());
    int64_t count = static_cast<int64_t>(xs.size());
    if (context.HasInput("Bias")) count += 10;
    if (context.HasInput("Like")) count += 100;
    if (context.HasOutput("Extra")) {
      const Tensor& index = context.Input("Index");
      Tensor& extra = context.AllocateOutput("Extra", index.dims());
      std::fill_n(extra.data<T>(), extra.numel(), T{7});
      count += 1000;
    }
    context.AllocateOutput("Count", {1}).template data<int64_t>()[0] = count;
  }
};

// Ten times the default estimate of the plain kernel, and a tenth of it.
KernelWork Slow(const KernelQuery& query) {
  KernelWork work = DefaultKernelWork(query);
  work.flops *= 10;
  work.bytes *= 10;
  return work;
}
KernelWork Fast(const KernelQuery& query) {
  KernelWork work = DefaultKernelWork(query);
  work.flops /= 10;
  work.bytes /= 10;
  return work;
}

}  // namespace

REGISTER_OPERATOR(test_add, AddSchema);
REGISTER_OP_CPU_KERNEL(test_add, AddKernel<float>, AddKernel<double>);
REGISTER_OP_KERNEL(test_add,
                   PLAIN,
                   CPUPlace,
                   wrong,
                   KernelTraits().Estimate(&Slow),
                   WrongAddKernel<float>,
                   WrongAddKernel<double>);
REGISTER_OP_KERNEL(test_add,
                   PLAIN,
                   CPUPlace,
                   picky,
                   KernelTraits().Estimate(&Fast).When(&AtLeast100),
                   AddKernel<float>);
REGISTER_OPERATOR(test_fail, FailSchema);
REGISTER_OP_CPU_KERNEL(test_fail, FailKernel<float>, FailKernel<double>);
REGISTER_OPERATOR(test_divide, OneInput);
REGISTER_OP_CPU_KERNEL(test_divide, DivideKernel<float>, DivideKernel<double>);
REGISTER_OPERATOR(test_some, SomeSchema);
REGISTER_OP_CPU_KERNEL(test_some, SomeKernel<float>);
REGISTER_OP_KERNEL(
    test_some, PLAIN, FPGAPlace, plain, KernelTraits(), SomeKernel<float>);
REGISTER_OPERATOR(test_scratch, OneInput);
REGISTER_OP_CPU_KERNEL(test_scratch,
                       ScratchKernel<float>,
                       ScratchKernel<double>);
REGISTER_OP_KERNEL(test_scratch,
                   PLAIN,
                   CPUPlace,
                   reluctant,
                   KernelTraits().Estimate(&Fast),
                   ReluctantKernel<float>);
REGISTER_OP_KERNEL(test_scratch,
                   PLAIN,
                   CPUPlace,
                   half,
                   KernelTraits().Estimate(&Slow),
                   HalfKernel<float>);
REGISTER_OPERATOR(test_update, UpdateSchema);
REGISTER_OP_CPU_KERNEL(test_update, UpdateKernel<float>, UpdateKernel<double>);
REGISTER_OPERATOR(test_commit, CommitSchema);
REGISTER_OP_CPU_KERNEL(test_commit, SureUpdateKernel<float>);
REGISTER_OPERATOR(test_views, ViewsSchema);
REGISTER_OP_CPU_KERNEL(test_views, ViewsKernel<float>, ViewsKernel<double>);
REGISTER_OPERATOR(test_many, ManySchema);
REGISTER_OP_CPU_KERNEL(test_many, ManyKernel<float>, ManyKernel<double>);

void UseTestOps() {
  static const bool done = [] {
    auto& registry = Registry::Global();
    SLUICE_USE_OPERATOR(test_add);
    SLUICE_USE_CPU_KERNEL(test_add);
    SluiceRegisterKernel_test_add_CPUPlace_PLAIN_wrong(registry);
    SluiceRegisterKernel_test_add_CPUPlace_PLAIN_picky(registry);
    SLUICE_USE_OPERATOR(test_fail);
    SLUICE_USE_CPU_KERNEL(test_fail);
    SLUICE_USE_OPERATOR(test_divide);
    SLUICE_USE_CPU_KERNEL(test_divide);
    SLUICE_USE_OPERATOR(test_some);
    SLUICE_USE_CPU_KERNEL(test_some);
    SluiceRegisterKernel_test_some_FPGAPlace_PLAIN_plain(registry);
    SLUICE_USE_OPERATOR(test_scratch);
    SLUICE_USE_CPU_KERNEL(test_scratch);
    SluiceRegisterKernel_test_scratch_CPUPlace_PLAIN_half(registry);
    SluiceRegisterKernel_test_scratch_CPUPlace_PLAIN_reluctant(registry);
    SLUICE_USE_OPERATOR(test_update);
    SLUICE_USE_CPU_KERNEL(test_update);
    SLUICE_USE_OPERATOR(test_commit);
    SLUICE_USE_CPU_KERNEL(test_commit);
    SLUICE_USE_OPERATOR(test_views);
    SLUICE_USE_CPU_KERNEL(test_views);
    SLUICE_USE_OPERATOR(test_many);
    SLUICE_USE_CPU_KERNEL(test_many);
    return true;
  }();
  static_cast<void>(done);
}

FailTestOps::FailTestOps(int calls) {
  calls_before_failing = calls;
  ++failing;
}
FailTestOps::~FailTestOps() {
  --failing;
}

std::string Append(Program* program,
                   std::string_view op,
                   Program::ArgList inputs,
                   AttributeMap attributes,
                   std::string_view hint) {
  const auto& added =
      program->AppendOp(op, std::move(inputs), std::move(attributes));
  std::string output = added.outputs[0].second[0];
  if (!hint.empty()) program->Hint(hint);
  return output;
}

Tensor Floats(const DDim& dims, const std::vector<float>& values) {
  return Tensor::FromVector(dims, values);
}

Tensor Iota(const DDim& dims) {
  std::vector<float> values(static_cast<size_t>(dims.numel()));
  std::iota(values.begin(), values.end(), 0.0f);
  return Tensor::FromVector(dims, values);
}

}  // namespace sluice::testing
