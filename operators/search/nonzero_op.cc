#include <array>

#include "sluice/operators/registration.h"
#include "sluice/platform/number_format.h"

namespace sluice {
namespace {

void NonzeroShape(InferShapeContext& context) {
  const DDim x = context.input("X");
  const int64_t rank = x.rank_known() ? x.rank() : kUnknownDim;
  context.SetOutput("Out", DDim({rank, kUnknownDim}));
}

void NonzeroSchema(OpSchema& op) {
  op.Doc(
      "Where the elements are that are not zero: np.stack(np.nonzero(X)). NaN "
      "is none, -0 is zero. How many there are is known when it has run: what "
      "reads Out is prepared then.");
  op.TypeVar("T", AllDTypes());
  op.Input("X", "T", "Of any shape.");
  op.Output("Out", "int64",
            "[rank of X, number of elements that are not zero]: their indices, "
            "a dimension a row, in row-major order.");
  op.InferShape(NonzeroShape).Onnx({"NonZero", {}});
  op.Torch("torch.nonzero(X).T");
}

template <typename Code, typename IsNonzero>
void FindNonzero(OpKernelContext& context, IsNonzero is_nonzero) {
  const Tensor& x = context.Input(0);
  const auto* codes = static_cast<const Code*>(x.raw_data());
  const int64_t size = x.numel();
  int64_t count = 0;
  for (int64_t i = 0; i < size; ++i) {
    count += is_nonzero(codes[i]) ? 1 : 0;
  }
  const int rank = x.dims().rank();
  auto* out = context.AllocateOutput(0, DDim({rank, count})).data<int64_t>();
  std::vector<int64_t> index(static_cast<size_t>(rank));
  int64_t column = 0;
  for (int64_t i = 0; i < size && column < count; ++i) {
    if (is_nonzero(codes[i])) {
      for (int axis = 0; axis < rank; ++axis) {
        out[axis * count + column] = index[static_cast<size_t>(axis)];
      }
      ++column;
    }
    for (int axis = rank; axis-- > 0;) {
      int64_t& at = index[static_cast<size_t>(axis)];
      if (++at < x.dims()[axis]) break;
      at = 0;
    }
  }
}

// A number is zero if all its bits, except for the sign of a float, are zero.
template <typename Code>
void FindSetBits(OpKernelContext& context) {
  const auto all = static_cast<Code>(~Code{0});
  const bool has_sign = IsFloating(context.Input(0).dtype());
  const auto mask = static_cast<Code>(has_sign ? all >> 1 : all);
  FindNonzero<Code>(context, [=](Code code) { return (code & mask) != 0; });
}

// dtypes for storage only have their own codes for zero, or none.
void FindStored(OpKernelContext& context) {
  const auto values = StoredValues(context.Input(0).dtype());
  FindNonzero<uint8_t>(context,
                       [&](uint8_t code) { return values[code] != 0; });
}

class NonzeroKernel final : public OpKernel {
 public:
  void Compute(OpKernelContext& context) const override {
    const DType dtype = context.Input(0).dtype();
    if (IsStoredNumber(dtype)) return FindStored(context);
    switch (SizeOf(dtype)) {
      case 1:
        return FindSetBits<uint8_t>(context);
      case 2:
        return FindSetBits<uint16_t>(context);
      case 4:
        return FindSetBits<uint32_t>(context);
      default:
        return FindSetBits<uint64_t>(context);
    }
  }
};

KernelWork NonzeroWork(const KernelQuery& query) {
  KernelWork work = DefaultKernelWork(query);
  work.terms = static_cast<double>(query.inputs[0].numel());
  return work;
}

}  // namespace

REGISTER_OPERATOR(nonzero, NonzeroSchema);
REGISTER_OP_CPU_KERNEL(nonzero, EstimatedBy<&NonzeroWork>, NonzeroKernel);

}  // namespace sluice
