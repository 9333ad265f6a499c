#include <random>

#include "tests/framework/checkpoint/checkpoint_fixture.h"
#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

namespace sluice::testing {
namespace {

// --- what cannot be loaded
TEST_F(CheckpointTest, NamesAFileThatCannotBeRead) {
  ExpectRefused(ErrorCode::kNotFound, "file.open", {path_, "No such file"});
  mkfifo(path_.c_str(), 0600);
  ExpectRefused(ErrorCode::kNotFound, "file.open", {"it is no file"});
}

TEST_F(CheckpointTest, EveryCutIsNoticed) {
  Save();
  const std::string bytes = Bytes();
  Fill(&scope_, 2);
  const std::string before = Values(scope_);
  for (size_t size = bytes.size(); size-- > 0;) {
    ASSERT_EQ(truncate(path_.c_str(), static_cast<off_t>(size)), 0);
    EXPECT_THROW(Load(), platform::Error) << size;
  }
  Write(bytes + '\0');
  ExpectRefused(ErrorCode::kDataLoss, "checkpoint.size", {"damaged", path_});
  Write(bytes + bytes);
  EXPECT_THROW(Load(), platform::Error);
  EXPECT_EQ(Values(scope_), before);
  Write(bytes.substr(0, 5));
  ExpectRefused(ErrorCode::kDataLoss, "file.ends", {"3 bytes too early"});
  Write(bytes.substr(0, 300));
  ExpectRefused(ErrorCode::kDataLoss, "checkpoint.header_size", {"cut off"});
}

TEST_F(CheckpointTest, EveryBitThatFlipsIsNoticed) {
  Save();
  const std::string bytes = Bytes();
  Fill(&scope_, 2);
  const std::string before = Values(scope_);
  const int file = open(path_.c_str(), O_WRONLY);
  for (size_t i = 0; i < bytes.size(); ++i) {
    for (int bit = 0; bit < 8; ++bit) {
      const char damaged = static_cast<char>(bytes[i] ^ (1 << bit));
      ASSERT_EQ(pwrite(file, &damaged, 1, static_cast<off_t>(i)), 1);
      EXPECT_THROW(Load(), platform::Error) << "bit " << bit << " of " << i;
    }
    ASSERT_EQ(pwrite(file, &bytes[i], 1, static_cast<off_t>(i)), 1);
  }
  close(file);
  EXPECT_EQ(Values(scope_), before);
  Load();
}

TEST_F(CheckpointTest, NamesDamage) {
  Save();
  const std::string bytes = Bytes();
  const auto replace = [&](const std::string& from, const std::string& to) {
    std::string changed = bytes;
    changed.replace(changed.find(from), from.size(), to);
    Write(changed);
  };
  replace("\"step\":\"41\"", "\"step\":\"42\"");
  ExpectRefused(ErrorCode::kDataLoss, "checkpoint.header_checksum", {path_});
  replace("F64", "G64");
  ExpectRefused(ErrorCode::kDataLoss, "checkpoint.header", {"dtype"});
  replace("\"format\":\"sluice\"", "\"format\":\"pt\"    ");
  ExpectRefused(ErrorCode::kDataLoss, "checkpoint.header", {"at byte"});
  std::string changed = bytes;
  changed.back() ^= 1;
  Write(changed);
  ExpectRefused(ErrorCode::kDataLoss, "checkpoint.tensor_checksum", {"flag"});
}

TEST_F(CheckpointTest, RefusesANewerFormat) {
  Save();
  std::string bytes = Bytes();
  const std::string version = "\"format_version\":\"";
  bytes.replace(bytes.find(version) + version.size(), 1, "2");
  Write(bytes);
  ExpectRefused(ErrorCode::kUnimplemented, "checkpoint.newer_format",
                {"format 2", "reads up to 1", "newer Sluice"});
}

TEST_F(CheckpointTest, RefusesTheFileOfAnotherProgram) {
  Save();
  Program other;
  other.Persistable("b", DType::kFloat32, {4});
  other.Persistable("w", DType::kFloat32, {2, 2});
  other.Persistable("v", DType::kFloat32, {1});
  other.Persistable("none", DType::kFloat32, {0, 4});
  Scope scope;
  ExpectError(ErrorCode::kInvalidArgument, "checkpoint.other_program",
              {"it lacks v;", "the program has no count, flag;",
               "b is float32 [4] in the program, float32 [3] in the file",
               "w is float32 [2, 2] in the program, float64 [2, 2]", path_},
              [&] { LoadParameters(path_, other, scope); });
  EXPECT_TRUE(scope.LocalVarNames().empty());
  for (int i = 0; i < 20; ++i) {
    other.Persistable(platform::Format("u{:02}", i), DType::kBool, {1});
  }
  ExpectError(ErrorCode::kInvalidArgument, "checkpoint.other_program",
              {"and 13 more"}, [&] { LoadParameters(path_, other, scope); });
}

// Bytes changed, removed and repeated: an error, or the values as they were.
TEST_F(CheckpointTest, NoFileEndsTheProcess) {
  Save();
  const std::string good = Bytes();
  const std::string saved = Values(scope_);
  std::mt19937 random(5);
  for (int round = 0; round < 500; ++round) {
    std::string bytes = good;
    for (int change = static_cast<int>(random() % 4); change >= 0; --change) {
      const size_t at = random() % bytes.size();
      const size_t count = random() % 8;
      switch (random() % 3) {
        case 0:
          bytes[at] = static_cast<char>(random());
          break;
        case 1:
          bytes.erase(at, count);
          break;
        default:
          bytes.insert(at, bytes.substr(random() % bytes.size(), count));
      }
      if (bytes.empty()) break;
    }
    Write(bytes);
    try {
      Load();
    } catch (const platform::Error&) {
    }
    ASSERT_EQ(Values(scope_), saved);
  }
}

}  // namespace
}  // namespace sluice::testing
