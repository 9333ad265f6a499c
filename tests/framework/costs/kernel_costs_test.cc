#include "sluice/framework/costs/kernel_costs.h"

#include "tests/testing/expect_error.h"
#include <gtest/gtest.h>

#include "sluice/framework/costs/machine.h"
#include "sluice/platform/error.h"

namespace sluice::testing {
namespace {

double Cost(const KernelCosts& costs,
            const std::string& row,
            std::string_view count,
            DType dtype = DType::kFloat32) {
  const CountCosts& all = costs.Of(row, dtype);
  for (size_t i = 0; i < all.size(); ++i) {
    if (kWorkCounts[i].name == count) return all[i];
  }
  return -1;
}

std::string File(std::string_view rows, std::string_view machine = "") {
  return Format(R"({{"kind": "costs", "machine": "{}", "costs": {}}})", machine,
                rows);
}

TEST(KernelCosts, AnUnknownRowIsTheDefault) {
  const KernelCosts& costs = KernelCosts::Default();
  EXPECT_EQ(Cost(costs, "default", "flops"), 4);
  EXPECT_EQ(costs.Of("no such/PLAIN/plain", DType::kFloat32),
            costs.Of("default", DType::kFloat64));
}

TEST(KernelCosts, ARowHasTheDefaultOfWhatItLacks) {
  const KernelCosts costs(
      File(R"({"default": {"moves": 7}, "a": {"runs": 3}})"));
  EXPECT_EQ(Cost(costs, "a", "runs"), 3);
  EXPECT_EQ(Cost(costs, "a", "moves"), 7);
  EXPECT_EQ(Cost(costs, "a", "flops"), 4);
}

TEST(KernelCosts, ARowForADTypeComesFirst) {
  const KernelCosts costs(
      File(R"({"a": {"runs": 3, "moves": 5}, "a float16": {"runs": 4}})"));
  EXPECT_EQ(Cost(costs, "a", "runs"), 3);
  EXPECT_EQ(Cost(costs, "a", "runs", DType::kFloat16), 4);
  EXPECT_EQ(Cost(costs, "a", "moves", DType::kFloat16), 5);
}

TEST(KernelCosts, AFileOverridesSingleCosts) {
  const KernelCosts costs(File(R"({"matmul": {"dots": 9}})"));
  const KernelCosts& built_in = KernelCosts::Default();
  EXPECT_EQ(Cost(costs, "matmul", "dots"), 9);
  EXPECT_NE(Cost(built_in, "matmul", "dots"), 9);
  EXPECT_EQ(Cost(costs, "matmul", "flops"), Cost(built_in, "matmul", "flops"));
  EXPECT_EQ(costs.Of("conv2d_rows", DType::kFloat32),
            built_in.Of("conv2d_rows", DType::kFloat32));
}

TEST(KernelCosts, AFileForThisMachineIsTaken) {
  const KernelCosts costs(File(R"({"a": {"runs": 3}})", MachineId().text));
  EXPECT_EQ(Cost(costs, "a", "runs"), 3);
}

TEST(KernelCosts, RefusesWhatIsNoTableOfCosts) {
  const auto refused = [](const char* id, std::string_view text,
                          std::string_view why) {
    ExpectError(ErrorCode::kInvalidArgument, id, {why},
                [&] { KernelCosts{text}; });
  };
  const std::string whole = File(R"({"a": {"runs": 3}})");
  refused("costs.json", "", "not JSON");
  refused("costs.json", whole.substr(0, whole.size() - 3),
          "its end is missing");
  refused("costs.json", File(R"({"a": {"runs": NaN}})"), "not JSON");
  refused("costs.kind", "[1]", "not a file of costs");
  refused("costs.kind", R"({"kind": "record", "costs": {}})", "of costs");
  refused("costs.kind", R"({"kind": "costs", "costs": []})", "object");
  refused("costs.machine", File("{}", "Another CPU"), "\"Another CPU\"");
  refused("costs.machine", R"({"kind": "costs", "machine": 1, "costs": {}})",
          "machine \"number\"");
  const std::string deep(100'000, '[');
  refused("costs.machine",
          R"({"kind": "costs", "costs": {}, "machine": )" + deep +
              std::string(deep.size(), ']') + "}",
          "\"array\"");
  refused("costs.machine", File("{}", std::string(100'000, 'x')), "xxx\"");
  refused("costs.row", File(R"({"a": 3})"), "row 'a'");
  refused("costs.count", File(R"({"a": {"flips": 3}})"),
          "unknown count 'flips'");
  refused("costs.cost", File(R"({"a": {"runs": -1}})"), "'runs' is -1");
  refused("costs.cost", File(R"({"a": {"runs": "3"}})"), "'runs' is string");
  refused("costs.cost", File(R"({"a": {"runs": null}})"), "'runs' is null");
  refused("costs.cost", File(R"({"a": {"runs": 1e30}})"), "to 1e+09");
}

}  // namespace
}  // namespace sluice::testing
