#include "sluice/framework/near_names.h"

#include <gtest/gtest.h>

namespace sluice::framework {
namespace {

TEST(NearNamesTest, SuggestsWhatIsNear) {
  EXPECT_EQ(SuggestNames("crob", {"crop", "crop_grad", "scale"}),
            "; did you mean crop?");
  EXPECT_EQ(SuggestNames("top", {"topk", "to", "scale"}),
            "; did you mean topk or to?");
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

}  // namespace
}  // namespace sluice::framework
