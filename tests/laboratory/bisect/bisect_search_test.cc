#include "sluice/laboratory/bisect/bisect_search.h"

#include <algorithm>
#include <set>
#include <vector>

#include <gtest/gtest.h>

namespace sluice {
namespace {

using Pairs = std::vector<std::pair<size_t, size_t>>;

Pairs Found(const RangeSearchResult& result) {
  Pairs pairs;
  for (const FoundRange& range : result.found) {
    pairs.emplace_back(range.begin, range.end);
  }
  return pairs;
}

// A range differs if it contains one of `guilty`, which `named` reveals.
RangeSearch Planted(size_t suspects,
                    const std::set<size_t>& guilty,
                    bool named) {
  RangeSearch search;
  search.suspects = suspects;
  search.attempt = [=](size_t begin, size_t end) {
    const auto first = guilty.lower_bound(begin);
    RangeTrial trial;
    trial.differs = first != guilty.end() && *first < end;
    if (trial.differs && named) trial.suspect = *first;
    return trial;
  };
  return search;
}

TEST(RangeSearch, FindsEachNamedSuspectWithTwoTrials) {
  for (size_t guilty = 0; guilty < 200; ++guilty) {
    const RangeSearchResult result = Search(Planted(200, {guilty}, true));
    EXPECT_EQ(Found(result), (Pairs{{guilty, guilty + 1}}));
    EXPECT_LE(result.trials, 3);
  }
  const RangeSearchResult many =
      Search(Planted(200, {0, 17, 18, 99, 199}, true));
  EXPECT_EQ(Found(many),
            (Pairs{{0, 1}, {17, 18}, {18, 19}, {99, 100}, {199, 200}}));
  EXPECT_LE(many.trials, 11);
  EXPECT_TRUE(many.complete);
}

TEST(RangeSearch, HalvesWhereNothingIsNamed) {
  for (size_t guilty = 0; guilty < 200; ++guilty) {
    const RangeSearchResult result = Search(Planted(200, {guilty}, false));
    EXPECT_EQ(Found(result), (Pairs{{guilty, guilty + 1}}));
    EXPECT_LE(result.trials, 17);
  }
  EXPECT_EQ(Found(Search(Planted(7, {1, 5, 6}, false))),
            (Pairs{{1, 2}, {5, 6}, {6, 7}}));
}

TEST(RangeSearch, LooksFurtherWhereTheNamedOneIsInnocent) {
  RangeSearch search;
  search.suspects = 50;
  search.attempt = [](size_t begin, size_t end) {
    // The difference of 20 appears at 30, which is named.
    RangeTrial trial;
    trial.differs = begin <= 20 && 20 < end;
    if (trial.differs && end > 30) trial.suspect = 30;
    return trial;
  };
  EXPECT_EQ(Found(Search(search)), (Pairs{{20, 21}}));
}

TEST(RangeSearch, NamesARangeOfWhichNoneDiffersAlone) {
  RangeSearch search;
  search.suspects = 8;
  search.attempt = [](size_t begin, size_t end) {
    return RangeTrial{begin <= 3 && end > 4, std::nullopt};
  };
  EXPECT_EQ(Found(Search(search)), (Pairs{{0, 8}}));
}

TEST(RangeSearch, LooksBeforeTheNamedOneWhereThereIsNoOrder) {
  RangeSearch search;
  search.suspects = 10;
  search.ordered = false;
  search.attempt = [](size_t begin, size_t end) {
    RangeTrial trial;
    for (const size_t guilty : {7, 2}) {
      if (begin <= guilty && guilty < end && !trial.differs) {
        trial = {true, guilty};
      }
    }
    return trial;
  };
  EXPECT_EQ(Found(Search(search)), (Pairs{{2, 3}, {7, 8}}));
}

TEST(RangeSearch, EndsWithItsTrials) {
  RangeSearch search = Planted(200, {3, 50, 70}, false);
  search.most_trials = 9;
  const RangeSearchResult result = Search(search);
  EXPECT_EQ(result.trials, 9);
  EXPECT_FALSE(result.complete);
}

TEST(RangeSearch, FindsNothingInRangesThatCouldNotBeTried) {
  RangeSearch search;
  search.suspects = 8;
  search.attempt = [](size_t begin, size_t end) {
    const bool all = end - begin == 8;
    return RangeTrial{.differs = all, .tried = all};
  };
  const RangeSearchResult result = Search(search);
  EXPECT_TRUE(Found(result).empty());
  EXPECT_FALSE(result.complete);
}

TEST(RangeSearch, TriesNothingWithoutSuspects) {
  RangeSearch search = Planted(0, {}, true);
  EXPECT_EQ(Search(search).trials, 0);
  EXPECT_EQ(Search(Planted(5, {}, true)).trials, 1);
}

}  // namespace
}  // namespace sluice
