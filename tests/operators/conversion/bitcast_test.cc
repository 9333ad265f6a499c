#include <vector>

#include <gtest/gtest.h>

#include "sluice/framework/run/run_op.h"

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
