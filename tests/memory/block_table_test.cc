#include "sluice/memory/block_table.h"

#include <map>
#include <random>
#include <vector>

#include <gtest/gtest.h>

namespace sluice {
namespace {

void* Address(uintptr_t number) {
  return reinterpret_cast<void*>((number + 1) * 64);
}

TEST(BlockTableTest, AnEmptyTableFindsNothing) {
  const BlockTable table;
  EXPECT_EQ(table.Find(Address(1)), nullptr);
  EXPECT_EQ(table.Find(nullptr), nullptr);
}

TEST(BlockTableTest, FindsExactlyTheStartOfABlock) {
  BlockTable table;
  Block block{Address(7), 128, 0, nullptr, false};
  table.Reserve();
  table.Insert(&block);
  EXPECT_EQ(table.Find(Address(7)), &block);
  EXPECT_EQ(table.Find(static_cast<char*>(Address(7)) + 1), nullptr);
  EXPECT_EQ(table.Find(Address(8)), nullptr);
}

// Compares with std::map, with erasures in the middle of full ranges.
TEST(BlockTableTest, BehavesLikeAMap) {
  BlockTable table;
  std::vector<Block> blocks(500);
  std::map<const void*, Block*> expected;
  std::mt19937 random(1);
  for (uintptr_t i = 0; i < blocks.size(); ++i) {
    blocks[i].pointer = Address(i * i % 8192 * 3 + i);
  }
  for (int step = 0; step < 20000; ++step) {
    Block* block = &blocks[random() % blocks.size()];
    if (expected.erase(block->pointer) != 0) {
      table.Erase(block);
    } else {
      table.Reserve();
      table.Insert(block);
      expected[block->pointer] = block;
    }
    const void* wanted = blocks[random() % blocks.size()].pointer;
    const auto found = expected.find(wanted);
    ASSERT_EQ(table.Find(wanted),
              found == expected.end() ? nullptr : found->second);
    ASSERT_EQ(table.size(), expected.size());
  }
  size_t visited = 0;
  table.ForEach([&](Block* block) {
    EXPECT_EQ(expected.at(block->pointer), block);
    ++visited;
  });
  EXPECT_EQ(visited, expected.size());
}

}  // namespace
}  // namespace sluice
