#include <algorithm>
#include <cstring>
#include <random>
#include <vector>

#include "tests/operators/harness/harness.h"
#include <gtest/gtest.h>

#include "sluice/framework/run/run_op.h"

namespace sluice {
namespace {

using Ints = std::vector<int64_t>;

// Every kernel of every dtype, including oneDNN's code for blocks of 8 and 16:
// elements are moved, not computed.
TEST(TransposeTest, EveryKernelKeepsEveryBit) {
  using ::sluice::testing::KernelsOf;
  std::mt19937_64 random(1);
  for (const KernelDef* kernel : KernelsOf("transpose")) {
    if (kernel->key.dtype == DType::kBool) continue;
    for (const Ints& sizes : {Ints{8, 8, 1}, Ints{16, 5, 8}, Ints{3, 32, 16}}) {
      for (const Ints& axis : {Ints{1, 0, 2}, Ints{2, 1, 0}, Ints{0, 2, 1}}) {
        Tensor x;
        x.Resize(DDim(sizes)).mutable_data(kernel->key.dtype, CPUPlace());
        auto* bytes = static_cast<uint8_t*>(x.raw_data());
        for (size_t i = 0; i < x.bytes(); ++i) {
          bytes[i] = static_cast<uint8_t>(random());
        }
        // A signalling NaN of each size of float, and 2^24 + 1.
        const uint64_t patterns[] = {0x7FA0000100007FA1, 0x7FF4000000000001,
                                     0x0100000101000001, 0xFC017D01FF817FC1};
        std::memcpy(bytes, patterns, std::min(x.bytes(), sizeof(patterns)));
        SCOPED_TRACE(ToString(*kernel) + " " + ToString(x.dims()));
        const RunOpOptions options{.hint = ::sluice::testing::HintFor(*kernel)};
        const Tensor there =
            RunOp("transpose", {{"X", x}}, {{"axis", axis}}, options)["Out"];
        Ints back(3);
        for (int64_t i = 0; i < 3; ++i) {
          back[static_cast<size_t>(axis[static_cast<size_t>(i)])] = i;
        }
        const Tensor again = RunOp("transpose", {{"X", there}},
                                   {{"axis", back}}, options)["Out"];
        ASSERT_EQ(std::memcmp(again.raw_data(), x.raw_data(), x.bytes()), 0);
      }
    }
  }
}

}  // namespace
}  // namespace sluice
