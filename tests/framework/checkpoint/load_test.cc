#include <random>

#include "tests/framework/checkpoint/checkpoint_fixture.h"
#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include "sluice/framework/program/program_io.h"

namespace sluice::testing {
namespace {

// --- files that cannot be loaded
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
    EXPECT_THROW(Load(), Error) << size;
  }
  Write(bytes + '\0');
  ExpectRefused(ErrorCode::kDataLoss, "checkpoint.size", {"damaged", path_});
  Write(bytes + bytes);
  EXPECT_THROW(Load(), Error);
  EXPECT_EQ(Values(scope_), before);
  Write(bytes.substr(0, 5));
  ExpectRefused(ErrorCode::kDataLoss, "file.ends", {"3 bytes too early"});
  Write(bytes.substr(0, 300));
  ExpectRefused(ErrorCode::kDataLoss, "checkpoint.header_size", {"cut off"});
}

TEST_F(CheckpointTest, AProgramIsNamed) {
  Write(SerializeProgram(program_));
  ExpectRefused(ErrorCode::kInvalidArgument, "checkpoint.program",
                {"expected parameters, got a program", path_});
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
      EXPECT_THROW(Load(), Error) << "bit " << bit << " of " << i;
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
    other.Persistable(Format("u{:02}", i), DType::kBool, {1});
  }
  ExpectError(ErrorCode::kInvalidArgument, "checkpoint.other_program",
              {"and 13 more"}, [&] { LoadParameters(path_, other, scope); });
}

TEST_F(CheckpointTest, RefusesAPartOfAProgramWithNothingInCommon) {
  Save();
  Program other;
  other.Persistable("v", DType::kFloat32, {1});
  Scope scope;
  ExpectError(ErrorCode::kInvalidArgument, "checkpoint.no_variable",
              {"b, count, flag, none, w", "the program has v", path_},
              [&] { LoadParameters(path_, other, scope, {.partial = true}); });
  EXPECT_TRUE(scope.LocalVarNames().empty());
}

// --- files of other programs

// A file with the header's size, the header, and data.
std::string File(const std::string& header, size_t data_bytes) {
  const uint64_t size = header.size();
  std::string bytes(reinterpret_cast<const char*>(&size), sizeof(size));
  bytes += header;
  for (size_t i = 0; i < data_bytes; ++i) {
    bytes += static_cast<char>(i);
  }
  return bytes;
}

// The variables as Python's safetensors writes them: other order and keys,
// spaces, and foreign metadata.
constexpr const char* kForeign =
    R"({ "__metadata__" : {"format":"pt"},
"none":{"shape":[0,4],"dtype":"F32","data_offsets":[8,8]},
"w":{"dtype":"F64","shape":[2,2],"data_offsets":[8,40]},
"count":{"dtype":"I64","shape":[],"data_offsets":[0,8]},
"b":{"data_offsets":[40,52],"dtype":"F32","shape":[3]},
"flag":{"dtype":"BOOL","shape":[1],"data_offsets":[52,53]}}  )";

TEST_F(CheckpointTest, LoadsTheFilesOfOthers) {
  Write(File(kForeign, 53));
  Load();
  EXPECT_EQ(scope_.step(), 41U);  // as before
  EXPECT_EQ(scope_.FindVar("count")->Get<Tensor>()->ToVector<int64_t>()[0],
            0x0706050403020100);
  const auto* b = static_cast<const uint8_t*>(
      scope_.FindVar("b")->Get<Tensor>()->raw_data());
  EXPECT_EQ(b[0], 40);
  EXPECT_EQ(b[11], 51);
  // Metadata that resembles ours, and none.
  std::string header = kForeign;
  header.replace(header.find("\"format\""), 8, "\"checksum\":\"7\",\"format\"");
  Write(File(header, 53));
  Load();
  header = kForeign;
  header.erase(header.find("\"__metadata__\""), 34);
  Write(File(header, 53));
  Load();
}

TEST_F(CheckpointTest, NamesWhatIsWrongWithTheFilesOfOthers) {
  const auto refused = [&](const std::string& from, const std::string& to,
                           std::initializer_list<std::string_view> fragments,
                           std::string_view id = "checkpoint.foreign_header",
                           ErrorCode code = ErrorCode::kDataLoss) {
    std::string header = kForeign;
    header.replace(header.find(from), from.size(), to);
    SCOPED_TRACE(header);
    Write(File(header, 53));
    ExpectRefused(code, id, fragments);
  };
  refused("\"F64\"", "\"C64\"", {"tensor w", "C64"}, "checkpoint.foreign_dtype",
          ErrorCode::kUnimplemented);
  refused("[8,40]", "[8,48]", {"tensor w", "40 bytes, expected 32"});
  refused("[8,40]", "[9,41]", {"tensor w", "begins at byte 9, expected 8"});
  refused("[8,40]", "[8]", {"tensor w", "lacks"});
  refused("[8,40]", "[8,40,40]", {"tensor w", "lacks"});
  refused("[2,2]", "[2,-2]", {"\"shape\" at tensor w"});
  refused("[2,2]", "[2,18446744073709551615]", {"\"shape\" at tensor w"});
  refused("[2,2]", "[[2],2]", {"\"shape\" at tensor w"});
  refused("[2,2]", "{}", {"shape is an object"});
  refused("[2,2]", "null", {"\"shape\" at tensor w"});
  refused("\"dtype\":\"F64\",", "", {"tensor w lacks dtype"});
  refused("\"w\"", "\"count\"", {"count twice"});
  refused("\"w\":{", "\"w\"{", {"no JSON at byte"});
  refused("\"w\":{", "\"w\":7,\"v\":{", {"unexpected value of \"w\""});
  refused("[8,40]", "[8,18446744073709551615]", {"tensor w"});
  refused("\"w\"", "\"v\"", {"it lacks w", "no v"}, "checkpoint.other_program",
          ErrorCode::kInvalidArgument);
  refused("\"dtype\":\"F64\"", "\"dtype\":\"F64\",\"dtype\":\"F64\"",
          {"tensor w has dtype twice"});
  refused("\"shape\":[2,2]", "\"shape\":[2],\"shape\":[2]",
          {"tensor w has shape twice"});
  Write(File(kForeign + std::string("\0x", 2), 53));
  ExpectRefused(ErrorCode::kDataLoss, "checkpoint.foreign_header",
                {"byte of 0"});
  Write(File(kForeign, 52));
  ExpectRefused(ErrorCode::kDataLoss, "checkpoint.size", {"53 bytes"});
  Write(File("[]", 0));
  EXPECT_THROW(Load(), Error);
  Write(File("7", 0));
  EXPECT_THROW(Load(), Error);
}

// Changed, removed or repeated bytes: loading raises, or values are right.
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
    } catch (const Error&) {
    }
    ASSERT_EQ(Values(scope_), saved);
  }
}

}  // namespace
}  // namespace sluice::testing
