#include "sluice/framework/op/near_names.h"

#include <chrono>

#include <gtest/gtest.h>

namespace sluice {
namespace {

TEST(NearNamesTest, SuggestsWhatIsNear) {
  EXPECT_EQ(SuggestNames("crob", {"crop", "crop_grad", "scale"}),
            "; did you mean crop?");
  EXPECT_EQ(SuggestNames("top", {"topk", "to", "scale"}),
            "; did you mean topk or to?");
}

TEST(NearNamesTest, SuggestsTheNearestFour) {
  std::vector<std::string> names;
  for (int i = 10; i < 99; ++i) {
    names.push_back("fc_" + std::to_string(i));
  }
  EXPECT_EQ(SuggestNames("fc_77x", names),
            "; did you mean fc_77 or fc_17 or fc_27 or fc_37?");
}

TEST(NearNamesTest, ListsAShortListOtherwise) {
  EXPECT_EQ(SuggestNames("zzz", {"a", "b"}), "; there are a, b");
  EXPECT_EQ(SuggestNames("zzz", {}), "");
  EXPECT_EQ(SuggestNames("zzz", std::vector<std::string>(13, "a")), "");
}

TEST(NearNamesTest, TakesNoNameForOneWithoutACommonLetter) {
  EXPECT_EQ(SuggestNames("Q", {"X", "Y"}), "; there are X, Y");
  EXPECT_EQ(SuggestNames("Xs", {"X", "Y"}), "; did you mean X?");
  EXPECT_EQ(SuggestNames("", {"X"}), "; there are X");
}

TEST(NearNamesTest, AllowsAThirdOfTheLength) {
  EXPECT_EQ(SuggestNames("manhatan_distnce", {"manhattan_distance"}),
            "; did you mean manhattan_distance?");
  EXPECT_EQ(SuggestNames("manhattan", {"manhattan_distance"}),
            "; there are manhattan_distance");
}

TEST(NearNamesTest, SwappedLettersAreNear) {
  EXPECT_EQ(SuggestNames("fgpa", {"cpu", "cuda", "fpga"}),
            "; did you mean fpga?");
  EXPECT_EQ(SuggestNames("rleu", {"relu", "crop", "scale"}),
            "; did you mean relu?");
  EXPECT_EQ(SuggestNames("palin", {"plain", "tiled"}), "; did you mean plain?");
}

TEST(NearNamesTest, AMegabyteIsNearNothing) {
  const std::vector<std::string> names(1000, std::string(100, 'a'));
  const auto begin = std::chrono::steady_clock::now();
  EXPECT_EQ(SuggestNames(std::string(1 << 20, 'a'), names), "");
  const std::vector<std::string> long_names(13, std::string(1 << 20, 'b'));
  EXPECT_EQ(SuggestNames(std::string(1 << 20, 'a'), long_names), "");
  // A comparison letter by letter would take minutes.
  EXPECT_LT(std::chrono::steady_clock::now() - begin, std::chrono::seconds(5));
}

}  // namespace
}  // namespace sluice
