#include "sluice/framework/values/text_table.h"

#include <string>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

namespace sluice {
namespace {

TEST(TextTable, EqualStringsHaveOneNumber) {
  const auto table = TextTable::Make();
  EXPECT_EQ(table->NumberOf("a"), 0);
  EXPECT_EQ(table->NumberOf(""), 1);
  EXPECT_EQ(table->NumberOf(std::string("a\0", 2)), 2);
  EXPECT_EQ(table->NumberOf("a"), 0);
  EXPECT_EQ(table->size(), 3);
  EXPECT_EQ(*table->Find(2), std::string("a\0", 2));
  EXPECT_EQ(table->Find(3), nullptr);
  EXPECT_EQ(table->Find(-1), nullptr);
}

TEST(TextTable, RunsShareTheTableBelow) {
  const auto below = TextTable::Make();
  below->NumberOf("known");
  const auto one = TextTable::Make(below), two = TextTable::Make(below);
  EXPECT_EQ(one->NumberOf("known"), 0);
  EXPECT_EQ(one->NumberOf("first"), 1);
  EXPECT_EQ(two->NumberOf("second"), 1);
  EXPECT_EQ(*one->Find(1), "first");
  EXPECT_EQ(*two->Find(1), "second");
  EXPECT_EQ(*two->Find(0), "known");
  EXPECT_EQ(below->size(), 1);
}

TEST(TextTable, AHandleEndsWithItsTable) {
  auto table = TextTable::Make();
  const int64_t handle = table->handle();
  EXPECT_EQ(TextTable::Of(handle), table);
  table.reset();
  EXPECT_EQ(TextTable::Of(handle), nullptr);
  EXPECT_NE(TextTable::Make()->handle(), handle);
}

TEST(TextTable, TakesStringsOfManyThreads) {
  const auto table = TextTable::Make();
  std::vector<std::vector<int64_t>> numbers(4);
  std::vector<std::thread> threads;
  for (auto& own : numbers) {
    threads.emplace_back([&table, &own] {
      for (int i = 0; i < 2000; ++i) {
        own.push_back(table->NumberOf(std::to_string(i)));
        if (*table->Find(own.back()) != std::to_string(i)) own.clear();
      }
    });
  }
  for (std::thread& thread : threads) {
    thread.join();
  }
  EXPECT_EQ(table->size(), 2000);
  for (const auto& own : numbers) {
    EXPECT_EQ(own, numbers[0]);
  }
}

}  // namespace
}  // namespace sluice
