#include <bit>
#include <cstring>
#include <vector>

#include "tests/operators/harness/op_case.h"
#include <gtest/gtest.h>

#include "sluice/framework/run/run_op.h"
#include "sluice/platform/number_format.h"

namespace sluice {
namespace {

TEST(Bitcast, KeepsTheBits) {
  const Tensor x = Tensor::FromVector<float>({2}, {1.0F, -0.0F});
  EXPECT_EQ(RunOp("bitcast", {{"X", x}}, {{"dtype", DType::kUInt32}})["Out"]
                .ToVector<uint32_t>(),
            (std::vector<uint32_t>{0x3F800000, 0x80000000}));
}

TEST(Bitcast, MakesBoolsOfBytes) {
  const Tensor x = Tensor::FromVector<uint8_t>({3}, {0, 1, 0x80});
  const Tensor out =
      RunOp("bitcast", {{"X", x}}, {{"dtype", DType::kBool}})["Out"];
  const auto* bytes = static_cast<const uint8_t*>(out.raw_data());
  EXPECT_EQ(std::vector<uint8_t>(bytes, bytes + 3),
            (std::vector<uint8_t>{0, 1, 1}));
}

}  // namespace
}  // namespace sluice

// The case with which the harness tests every kernel of the op.
namespace sluice::testing {
namespace {

std::vector<DType> OfTheSameSize(DType dtype) {
  const auto bits = [](DType of) {
    return of == DType::kBool ? 8 : int{FormatOf(of).bits};
  };
  std::vector<DType> dtypes;
  for (const DType other : kAllDTypes) {
    if (bits(other) == bits(dtype)) dtypes.push_back(other);
  }
  return dtypes;
}

std::vector<OpExample> BitcastExamples(ExampleMaker& make) {
  std::vector<OpExample> examples;
  for (const DType to : OfTheSameSize(make.dtype())) {
    for (const DDim& dims : {DDim{3, 7}, {1, 0, 2}, {}, {37, 911}}) {
      examples.push_back({{{"X", make.Values(dims)}}, {{"dtype", to}}});
    }
  }
  return examples;
}

Arrays BitcastReference(const Arrays& in, const OpDesc& op) {
  const Array& x = in.at("X");
  const auto to = GetAttr<DType>(op, "dtype");
  const Tensor bits = ToTensor(x, x.dtype);
  Tensor out;
  out.Resize(x.dims);
  void* data = out.mutable_data(to, CPUPlace());
  if (out.numel() > 0) std::memcpy(data, bits.raw_data(), out.bytes());
  if (to == DType::kBool) {
    auto* bytes = static_cast<uint8_t*>(data);
    for (int64_t i = 0; i < out.numel(); ++i) {
      bytes[i] = bytes[i] != 0 ? 1 : 0;
    }
  }
  return {{"Out", ToArray(out)}};
}

REGISTER_OP_CASE(bitcast, BitcastExamples, BitcastReference);

}  // namespace
}  // namespace sluice::testing
