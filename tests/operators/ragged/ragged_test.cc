#include <gtest/gtest.h>

#include "sluice/framework/program/ragged_rows.h"

namespace sluice {
namespace {

TEST(RowCapacity, GrowsByAQuarter) {
  EXPECT_EQ(RowCapacity(0), 0);
  EXPECT_EQ(RowCapacity(1), 16);
  EXPECT_EQ(RowCapacity(16), 16);
  EXPECT_EQ(RowCapacity(17), 20);
  EXPECT_EQ(RowCapacity(26), 31);
}

}  // namespace
}  // namespace sluice
