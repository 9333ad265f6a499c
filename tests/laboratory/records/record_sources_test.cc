#include "sluice/laboratory/records/record_sources.h"

#include <cstdlib>

#include "tests/laboratory/records/record_fixture.h"
#include "tests/testing/expect_error.h"
#include <gtest/gtest.h>

namespace sluice::testing {
namespace {

// Restores the environment variables that it changes.
class RecordSourcesTest : public RecordTest {
 protected:
  RecordSourcesTest() {
    for (Saved& variable : saved_) {
      const char* value = std::getenv(variable.name);
      variable.was_set = value != nullptr;
      variable.value = value == nullptr ? "" : value;
      unsetenv(variable.name);
    }
    setenv("HOME", "/home/someone", 1);
  }
  ~RecordSourcesTest() override {
    for (const Saved& variable : saved_) {
      if (variable.was_set) {
        setenv(variable.name, variable.value.c_str(), 1);
      } else {
        unsetenv(variable.name);
      }
    }
  }

  static RecordSources With(const char* mode) {
    setenv("SLUICE_RECORDS", mode, 1);
    return RecordSourcesOfEnvironment();
  }

 private:
  struct Saved {
    const char* name;
    bool was_set = false;
    std::string value{};
  };
  Saved saved_[4] = {{"SLUICE_RECORDS"},
                     {"SLUICE_RECORDS_PATH"},
                     {"XDG_CACHE_HOME"},
                     {"HOME"}};
};

TEST_F(RecordSourcesTest, TheUsersFileIsInTheCacheFolder) {
  const std::string below_home = "/home/someone/.cache/sluice/records.jsonl";
  EXPECT_EQ(RecordSourcesOfEnvironment().user, below_home);
  setenv("XDG_CACHE_HOME", "relative", 1);
  EXPECT_EQ(RecordSourcesOfEnvironment().user, below_home);
  setenv("XDG_CACHE_HOME", "/var/cache", 1);
  EXPECT_EQ(RecordSourcesOfEnvironment().user,
            "/var/cache/sluice/records.jsonl");
  unsetenv("XDG_CACHE_HOME");
  unsetenv("HOME");
  EXPECT_EQ(RecordSourcesOfEnvironment().user, "");
}

TEST_F(RecordSourcesTest, SystemFilesComeFromTheFoldersOfThePathByName) {
  for (const char* name : {"b.jsonl", "a.jsonl", "readme.md"}) {
    std::ofstream(folder_ + "/" + name) << "";
  }
  setenv("SLUICE_RECORDS_PATH", (":/nowhere:" + folder_).c_str(), 1);
  const RecordSources sources = RecordSourcesOfEnvironment();
  ASSERT_GE(sources.system.size(), 2U);
  EXPECT_EQ(sources.system[0], folder_ + "/a.jsonl");
  EXPECT_EQ(sources.system[1], folder_ + "/b.jsonl");
}

TEST_F(RecordSourcesTest, BothCanBeSwitchedOff) {
  std::ofstream(folder_ + "/a.jsonl") << "";
  setenv("SLUICE_RECORDS_PATH", folder_.c_str(), 1);
  EXPECT_FALSE(With("both").system.empty());
  EXPECT_NE(With("both").user, "");
  EXPECT_FALSE(With("system").system.empty());
  EXPECT_EQ(With("system").user, "");
  EXPECT_TRUE(With("user").system.empty());
  EXPECT_NE(With("user").user, "");
  EXPECT_TRUE(With("off").system.empty());
  EXPECT_EQ(With("off").user, "");
}

TEST_F(RecordSourcesTest, APathStandsInPlaceOfBoth) {
  setenv("SLUICE_RECORDS_PATH", folder_.c_str(), 1);
  EXPECT_EQ(With("./mine.jsonl").user, "./mine.jsonl");
  EXPECT_TRUE(With("./mine.jsonl").system.empty());
}

TEST_F(RecordSourcesTest, OtherWordsAreRefused) {
  ExpectError(ErrorCode::kInvalidArgument, "records.mode",
              {"'of'", "both, system, user, off"}, [] { With("of"); });
}

}  // namespace
}  // namespace sluice::testing
