#include <string>

#include "tests/operators/harness/op_case.h"
#include <gtest/gtest.h>

#include "sluice/framework/run/run_op.h"

namespace sluice {
namespace {

// What the op prints.
std::string Printed(const Tensor& x, const AttributeMap& attributes = {}) {
  ::testing::internal::CaptureStderr();
  RunOp("print", {{"X", x}}, attributes);
  return ::testing::internal::GetCapturedStderr();
}

TEST(Print, WritesNameDtypeShapeAndValues) {
  const Tensor x = Tensor::FromVector<float>({1, 3}, {1, -2.5F, 0.1F});
  EXPECT_EQ(Printed(x, {{"message", std::string("here:")},
                        {"print_tensor_name", false}}),
            "here: float32 [1, 3]: [1, -2.5, 0.1]\n");
  EXPECT_EQ(Printed(x, {{"summarize", int64_t{2}},
                        {"print_tensor_name", false},
                        {"print_tensor_type", false},
                        {"print_tensor_shape", false}}),
            "[1, -2.5, ...]\n");
  EXPECT_NE(Printed(x).find("X"), std::string::npos);
}

TEST(Print, WritesEveryKindOfNumber) {
  const AttributeMap plain = {{"print_tensor_name", false},
                              {"print_tensor_shape", false}};
  EXPECT_EQ(Printed(Tensor::FromVector<uint8_t>({2}, {65, 0}), plain),
            "uint8: [65, 0]\n");
  EXPECT_EQ(Printed(Tensor::FromVector<bool>({2}, {true, false}), plain),
            "bool: [true, false]\n");
  testing::Array half({1});
  half(0) = 0.5;
  EXPECT_EQ(Printed(testing::ToTensor(half, DType::kFloat16), plain),
            "float16: [0.5]\n");
  EXPECT_EQ(Printed(Tensor::FromVector<double>({0}, {}), plain),
            "float64: []\n");
}

TEST(Print, WritesNothingInAnotherPhaseOrAfterTheFirst) {
  const Tensor x = Tensor::FromVector<float>({1}, {1});
  EXPECT_EQ(Printed(x, {{"print_phase", std::string("backward")}}), "");
  EXPECT_EQ(Printed(x, {{"first_n", int64_t{0}}}), "");
}

}  // namespace
}  // namespace sluice
