#include "sluice/framework/plan/op_order.h"

#include <algorithm>

#include <gtest/gtest.h>

namespace sluice::framework {
namespace {

using Ids = std::vector<int>;

TEST(OpOrder, IsEmptyAtFirst) {
  const OpOrder order;
  EXPECT_EQ(order.ids(), Ids());
}

TEST(OpOrder, KeepsWhatIsAppendedInsertedAndRemoved) {
  OpOrder order;
  for (const int id : {2, 0, 7}) {
    order.Append(id);
  }
  EXPECT_EQ(order.ids(), (Ids{2, 0, 7}));
  order.InsertBefore(2, 1);
  order.InsertBefore(7, 3);
  EXPECT_EQ(order.ids(), (Ids{1, 2, 0, 3, 7}));
  EXPECT_TRUE(order.Precedes(1, 2));
  EXPECT_TRUE(order.Precedes(0, 3));
  EXPECT_FALSE(order.Precedes(7, 0));
  EXPECT_FALSE(order.Precedes(0, 0));
  order.Remove(2);
  order.Remove(7);
  EXPECT_EQ(order.ids(), (Ids{1, 0, 3}));
  order.Append(2);
  EXPECT_EQ(order.ids(), (Ids{1, 0, 3, 2}));
}

// The numbers between two neighbours come to an end again and again.
TEST(OpOrder, TakesAnyNumberInOnePlace) {
  OpOrder order;
  order.Append(0);
  order.Append(1);
  Ids expected = {0};
  for (int id = 2; id < 500; ++id) {
    order.InsertBefore(1, id);
    expected.push_back(id);
  }
  expected.push_back(1);
  EXPECT_EQ(order.ids(), expected);
  for (int id = 500; id < 1000; ++id) {
    order.InsertBefore(expected[1], id);
    expected.insert(expected.begin() + 1, id);
  }
  for (int id = 1000; id < 1500; ++id) {
    order.InsertBefore(expected[0], id);
    expected.insert(expected.begin(), id);
  }
  EXPECT_EQ(order.ids(), expected);
  EXPECT_TRUE(
      std::is_sorted(expected.begin(), expected.end(),
                     [&](int a, int b) { return order.Precedes(a, b); }));
}

}  // namespace
}  // namespace sluice::framework
