#include "sluice/platform/place.h"

#include <cstdlib>
#include <string>
#include <unordered_set>

#include "tests/testing/expect_error.h"
#include <gtest/gtest.h>

#include "sluice/platform/error.h"

namespace sluice {
namespace {

using sluice::testing::ExpectError;

TEST(PlaceTest, ADefaultPlaceIsTheCpu) {
  EXPECT_EQ(PlaceKey(Place()), PlaceKey(CPUPlace{}));
  EXPECT_EQ(PlaceKey(), PlaceKey(CPUPlace{}));
}

TEST(PlaceTest, KeysConvertToPlacesAndBack) {
  const PlaceKind custom = InternPlaceKind("place_test");
  for (const Place& place :
       {Place(CPUPlace{}), Place(CUDAPlace{3}), Place(FPGAPlace{1}),
        Place(CustomPlace{custom, 2})}) {
    const PlaceKey key = place;
    EXPECT_TRUE(ToPlace(key) == place) << ToString(key);
  }
}

TEST(PlaceKeyTest, IsFourBytesAndHashable) {
  static_assert(sizeof(PlaceKey) == 4);
  const std::unordered_set<PlaceKey> keys{
      CPUPlace{}, CUDAPlace{0}, CUDAPlace{1}, FPGAPlace{0}, CUDAPlace{1}};
  EXPECT_EQ(keys.size(), 4u);
}

TEST(PlaceKeyTest, AnIndexThatDoesNotFitIsNoOtherDevice) {
  EXPECT_EQ(PlaceKey(CUDAPlace{65536}).index, 65535);
  EXPECT_EQ(PlaceKey(CUDAPlace{-1}).index, 65535);
}

TEST(PlaceKeyTest, PrintsAndParses) {
  InternPlaceKind("abacus");
  for (const char* text : {"cpu", "cuda:0", "fpga:12", "abacus:65534"}) {
    EXPECT_EQ(ToString(ParsePlaceKey(text)), text);
  }
  EXPECT_EQ(ParsePlaceKey("cuda"), PlaceKey(CUDAPlace{0}));
  EXPECT_EQ(ParsePlaceKey("cpu:0"), PlaceKey(CPUPlace{}));
}

TEST(PlaceKeyTest, RefusesWhatIsNoPlace) {
  for (const char* text : {"", ":0", "cuda:", "cuda:x", "cuda:1x", "cuda:-1",
                           "cuda:65535", "cuda:99999999999999", "cpu:1", "CPU",
                           "cuda 0", "cuda:0:1", "cuda:+1", "0cuda"}) {
    ExpectError(ErrorCode::kInvalidArgument, "place.text",
                {"'" + std::string(text) + "'", "cuda:0"},
                [&] { ParsePlaceKey(text); });
  }
}

TEST(PlaceKeyTest, RefusesAKindThatNobodyRegistered) {
  ExpectError(ErrorCode::kNotFound, "place.unknown_kind",
              {"'tpu'", "'tpu:1'", "cpu, cuda, fpga"},
              [] { ParsePlaceKey("tpu:1"); });
}

TEST(PlaceKeyTest, AnUnknownKindSaysWhereItWasLookedFor) {
  ExpectError(ErrorCode::kNotFound, "place.unknown_kind",
              {"libsluice_tpu.so", "SLUICE_PLUGIN_PATH"},
              [] { ParsePlaceKey("tpu:0"); });
  ExpectError(ErrorCode::kNotFound, "place.unknown_kind",
              {"did you mean cuda?"}, [] { ParsePlaceKey("gpu:0"); });
}

TEST(PlaceKeyTest, RefusalsAreCutAndQuoted) {
  ExpectError(ErrorCode::kInvalidArgument, "place.text",
              {"a...", "(100002 bytes)"},
              [] { ParsePlaceKey(std::string(100000, 'a') + ":x"); });
  ExpectError(ErrorCode::kInvalidArgument, "place.text", {"\\x1b[31m"},
              [] { ParsePlaceKey("\x1b[31mcuda"); });
}

TEST(PlaceKindTest, ANameKeepsItsNumber) {
  const PlaceKind kind = InternPlaceKind("interned");
  EXPECT_GE(kind, PlaceKind::kFirstCustom);
  EXPECT_EQ(InternPlaceKind("interned"), kind);
  EXPECT_EQ(ToString(kind), "interned");
  EXPECT_NE(InternPlaceKind("interned2"), kind);
  EXPECT_EQ(InternPlaceKind("cpu"), PlaceKind::kCPU);
  EXPECT_EQ(InternPlaceKind("fpga"), PlaceKind::kFPGA);
}

TEST(PlaceKindTest, ANumberWithoutANameIsUnknown) {
  EXPECT_EQ(ToString(static_cast<PlaceKind>(9)), "unknown");
}

TEST(PlaceKindTest, RefusesOddNames) {
  for (const char* name : {"", "Abacus", "9abacus", "a-b", "a b", "_a"}) {
    ExpectError(ErrorCode::kInvalidArgument, "place.kind_name", {name},
                [&] { InternPlaceKind(name); });
  }
}

// In a separate process, because numbers are never freed.
TEST(PlaceKindDeathTest, RefusesMoreKindsThanThereAreNumbers) {
  const auto intern_too_many = [] {
    try {
      for (int i = 0; i <= 240; ++i) {
        InternPlaceKind("kind_" + std::to_string(i));
      }
    } catch (const Error& error) {
      std::exit(error.check_id() == "place.too_many_kinds" ? 0 : 2);
    }
    std::exit(1);
  };
  EXPECT_EXIT(intern_too_many(), ::testing::ExitedWithCode(0), "");
}

}  // namespace
}  // namespace sluice
