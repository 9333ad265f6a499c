#include "sluice/laboratory/measure/text_table.h"

#include "tests/testing/lines_of.h"
#include <gtest/gtest.h>

namespace sluice {
namespace {

TEST(TextTable, AlignsTextLeftAndFiguresRight) {
  TextTable table("<>", {"op", "us"});
  table.Add({"relu", "7"});
  table.Add({"conv2d", "120"});
  EXPECT_EQ(table.Text(),
            "op       us\n"
            "relu      7\n"
            "conv2d  120\n");
  EXPECT_EQ(table.size(), 2u);
}

TEST(TextTable, CutsLongCellsInTheMiddleDownToTheLeastWidth) {
  TextTable table("<>", {"op", "us"});
  table.Add({"softmax_with_cross_entropy_grad", "120"});
  EXPECT_EQ(table.Text(25),
            "op                     us\n"
            "softmax_w..ropy_grad  120\n");
  EXPECT_EQ(table.Text(10, 12),
            "op             us\n"
            "softm.._grad  120\n");
}

TEST(TextTable, LeavesFiguresWhole) {
  TextTable table("<>", {"op", std::string(30, 'f')});
  table.Add({std::string(300, 'o'), "1"});
  for (const std::string& line : testing::LinesOf(table.Text(50))) {
    EXPECT_LE(line.size(), 50u);
  }
  EXPECT_NE(table.Text(50).find(std::string(30, 'f')), std::string::npos);
}

ExplainTable OneRow(const std::string& op) {
  ExplainTable report;
  report.head = {{"  " + std::string(74, 'a') + " twelve more"},
                 WholeLine("A:   as it is")};
  report.columns = {{"#", true}, {"op"}};
  report.rows = {{{"12", op}, Emphasis::kBad, 12}};
  report.foot = {WholeLine(""), {"... 3 more"}};
  return report;
}

TEST(Report, HasLinesAboveAndBelowItsTable) {
  EXPECT_EQ(ReportText(OneRow("relu")), "  " + std::string(74, 'a') +
                                            "\n"
                                            "    twelve more\n"
                                            "A:   as it is\n"
                                            "\n"
                                            " #  op\n"
                                            "12  relu\n"
                                            "\n"
                                            "... 3 more\n");
}

TEST(Report, CutsLongCellsInItsTextOnly) {
  const std::string op = "a" + std::string(100, 'o') + "z";
  const auto lines = testing::LinesOf(ReportText(OneRow(op)));
  EXPECT_EQ(lines.at(5).size(), 80u);
  EXPECT_NE(lines.at(5).find("o..o"), std::string::npos);
  const std::string json = ReportJson(OneRow(op));
  for (const std::string& part :
       {'"' + op + '"', std::string(R"("emphasis": "bad")"),
        std::string(R"("op": 12)"), std::string(R"("right": true)")}) {
    EXPECT_NE(json.find(part), std::string::npos) << json;
  }
}

TEST(Wrapped, BreaksAtSpacesAndWordsThatAreTooLong) {
  EXPECT_EQ(Wrapped(""), "");
  EXPECT_EQ(Wrapped("a b"), "a b\n");
  EXPECT_EQ(Wrapped(std::string(70, 'a') + " " + std::string(20, 'b'), 1, 3),
            " " + std::string(70, 'a') + "\n   " + std::string(20, 'b') + "\n");
  EXPECT_EQ(Wrapped(std::string(100, 'a')),
            std::string(80, 'a') + "\n  " + std::string(20, 'a') + "\n");
}

}  // namespace
}  // namespace sluice
