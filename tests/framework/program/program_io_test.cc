#include "sluice/framework/program/program_io.h"

#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <random>
#include <sstream>

#include "tests/framework/test_ops.h"
#include "tests/testing/expect_error.h"
#include "tests/testing/temp_folder.h"
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "sluice/platform/error.h"

namespace sluice {
namespace {

using sluice::testing::Append;
using sluice::testing::ExpectError;

// A program with everything that a program can contain.
Program Rich() {
  sluice::testing::UseTestOps();
  Program program;
  program.Data("x", DType::kFloat64, {-1, 4});
  program.Data("anything", DType::kFloat64, DDim::UnknownRank());
  program.Data("i", DType::kInt32, {});
  program.Persistable("w", DType::kFloat64, {3, 4});
  program.AppendOp("test_many", {{"Index", {"i"}}, {"Xs", {"x", "w"}}},
                   {{"number", int64_t{-12345678901}},
                    {"flag", true},
                    {"ratio", 0.125},
                    {"mode", std::string("far")},
                    {"sizes", std::vector<int64_t>{0, 1, int64_t{1} << 60}},
                    {"weights", std::vector<double>{0.5, 1e300}},
                    {"names", std::vector<std::string>{"", "\xC3\xA9 z"}},
                    {"out_dtype", DType::kBFloat16}},
                   {"main.cc", 42});
  program.Hint("prefer variant=plain");
  program.AppendOp("test_update",
                   {{"Param", {"w"}}, {"Delta", {"test_many_1.Out"}}}, {}, {},
                   {{"ParamOut", {"w"}}});
  return program;
}

uint64_t Checksum(const std::string& bytes) {
  uint64_t hash = 14695981039346656037u;
  for (const char byte : bytes) {
    hash = (hash ^ static_cast<uint8_t>(byte)) * 1099511628211u;
  }
  return hash;
}

std::string Varint(uint64_t value) {
  std::string bytes;
  for (; value >= 128; value >>= 7) {
    bytes += static_cast<char>(value | 128);
  }
  return bytes + static_cast<char>(value);
}

std::string Field(int number, const std::string& bytes) {
  return Varint(static_cast<uint64_t>(number) << 3 | 2) + Varint(bytes.size()) +
         bytes;
}

// The file as program.proto describes it, written by hand.
std::string Seal(const std::string& content, uint64_t version = 1) {
  std::string file = Field(1, "sluice program");
  file += Varint(2 << 3) + Varint(version);
  file += Varint(3 << 3 | 1);
  const uint64_t checksum = Checksum(content);
  for (int i = 0; i < 8; ++i)
    file += static_cast<char>(checksum >> (8 * i));
  return file + Field(4, content);
}

// Returns the content that Seal was called with.
std::string Unseal(const std::string& file) {
  const size_t head = Seal("").size() - 1;  // without the length
  size_t at = head;
  while (file[at] & 128)
    ++at;
  return file.substr(at + 1);
}

TEST(ProgramIoTest, KeepsEverything) {
  const Program program = Rich();
  const Program loaded = ParseProgram(SerializeProgram(program));
  EXPECT_EQ(ToString(loaded), ToString(program));
  ASSERT_EQ(loaded.block().ops.size(), 2u);
  for (size_t i = 0; i < 2; ++i) {
    const OpDesc& before = program.block().ops[i];
    const OpDesc& after = loaded.block().ops[i];
    EXPECT_EQ(after.type, before.type);
    EXPECT_EQ(after.inputs, before.inputs);
    EXPECT_EQ(after.outputs, before.outputs);
    EXPECT_EQ(after.attributes, before.attributes);
    EXPECT_EQ(after.hint, before.hint);
    EXPECT_EQ(after.location.file, before.location.file);
    EXPECT_EQ(after.location.line, before.location.line);
  }
  EXPECT_FALSE(loaded.FindVar("anything").dims.rank_known());
  EXPECT_TRUE(loaded.FindVar("x").is_data);
  EXPECT_TRUE(loaded.FindVar("w").persistable);
}

TEST(ProgramIoTest, TheSameProgramGivesTheSameBytes) {
  const std::string bytes = SerializeProgram(Rich());
  EXPECT_EQ(SerializeProgram(Rich()), bytes);
  EXPECT_EQ(SerializeProgram(ParseProgram(bytes)), bytes);
  EXPECT_EQ(Seal(Unseal(bytes)), bytes);
}

TEST(ProgramIoTest, KeepsSettingsOfTheVariablesThatThereAre) {
  const VariableSettings settings = {
      {"w", {{"rate", 1.0 / 3}, {"kind", std::string("far")}}},
      {"test_many_1.Out", {{"limit", int64_t{3}}}},
      {"missing", {{"flag", true}}}};
  const std::string bytes = SerializeProgram(Rich(), settings);
  VariableSettings loaded = {{"old", {}}};
  const Program program = ParseProgram(bytes, "a test", &loaded);
  VariableSettings expected = settings;
  expected.erase("missing");
  EXPECT_EQ(loaded, expected);
  EXPECT_EQ(SerializeProgram(program, loaded), bytes);
  EXPECT_EQ(SerializeProgram(program), SerializeProgram(Rich()));
  EXPECT_EQ(bytes, Seal(Unseal(bytes), 3));
  EXPECT_EQ(ToString(ParseProgram(bytes)), ToString(Rich()));
}

TEST(ProgramIoTest, ALoadedProgramCanGrowOn) {
  Program loaded = ParseProgram(SerializeProgram(Rich()));
  EXPECT_EQ(Append(&loaded, "test_divide", {{"X", {"test_many_1.Out"}}}),
            "test_divide_1.Out");
  EXPECT_EQ(Append(&loaded, "test_many", {{"Index", {"i"}}, {"Xs", {"x"}}},
                   {{"number", int64_t{1}}}),
            "test_many_2.Out");
}

TEST(ProgramIoTest, EveryBitThatFlipsIsNoticed) {
  const VariableSettings settings = {{"w", {{"rate", 0.5}}}};
  for (const std::string& bytes :
       {SerializeProgram(Rich()), SerializeProgram(Rich(), settings)}) {
    for (size_t bit = 0; bit < bytes.size() * 8; ++bit) {
      std::string damaged = bytes;
      damaged[bit / 8] = static_cast<char>(damaged[bit / 8] ^ (1 << (bit % 8)));
      EXPECT_THROW(ParseProgram(damaged), Error) << "bit " << bit;
    }
  }
}

TEST(ProgramIoTest, EveryCutIsNoticed) {
  const std::string bytes = SerializeProgram(Rich());
  for (size_t size = 0; size < bytes.size(); ++size) {
    EXPECT_THROW(ParseProgram(bytes.substr(0, size)), Error) << size;
  }
  EXPECT_THROW(ParseProgram(bytes + bytes), Error);
  EXPECT_THROW(ParseProgram(bytes + '\0'), Error);
}

TEST(ProgramIoTest, NamesWhatIsNoProgram) {
  for (const char* text : {"", "hello", "\x08\x01"}) {
    ExpectError(ErrorCode::kDataLoss, "program_io.magic",
                {"no Sluice program", "in the program of model.slp"},
                [&] { ParseProgram(text, "model.slp"); });
  }
}

TEST(ProgramIoTest, NamesDamage) {
  std::string bytes = SerializeProgram(Rich());
  bytes.back() ^= 1;
  ExpectError(ErrorCode::kDataLoss, "program_io.checksum", {"damaged"},
              [&] { ParseProgram(bytes); });
  const std::string good = SerializeProgram(Rich());
  ExpectError(ErrorCode::kDataLoss, "program_io.checksum", {},
              [&] { ParseProgram(Seal(Unseal(good), 0)); });
  ExpectError(ErrorCode::kDataLoss, "program_io.format", {"has format 3"},
              [&] { ParseProgram(Seal(Unseal(good), 3)); });
}

TEST(ProgramIoTest, RefusesANewerFormat) {
  const std::string content = Unseal(SerializeProgram(Rich()));
  ExpectError(ErrorCode::kUnimplemented, "program_io.newer_format",
              {"format 4", "reads up to 3"},
              [&] { ParseProgram(Seal(content, 4)); });
}

TEST(ProgramIoTest, RefusesMoreThanAGiB) {
  constexpr size_t kSize = (size_t{1} << 30) + 1;
  void* zeros = mmap(nullptr, kSize, PROT_READ,
                     MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  ASSERT_NE(zeros, MAP_FAILED);
  ExpectError(ErrorCode::kResourceExhausted, "program_io.too_large",
              {"at most 1073741824 bytes"}, [&] {
                ParseProgram({static_cast<char*>(zeros), kSize});
              });
  munmap(zeros, kSize);
}

TEST(ProgramIoTest, RefusesContentThatIsNoProgram) {
  ExpectError(ErrorCode::kDataLoss, "program_io.content", {},
              [] { ParseProgram(Seal("\x0a\x7f")); });
  ExpectError(ErrorCode::kDataLoss, "program_io.first_block", {"0 blocks"},
              [] { ParseProgram(Seal("\x48\x01")); });  // a field 9
}

// --- sealed content, written by hand: fields as in program.proto
std::string Int(int number, uint64_t value) {
  return Varint(static_cast<uint64_t>(number) << 3) + Varint(value);
}
const std::string kFirst = Int(1, ~uint64_t{0});  // parent -1

std::string Data(const char* name, const char* dtype, uint64_t kind = 1) {
  return Field(
      2, Field(1, name) + Field(2, dtype) + Field(4, Varint(4)) + Int(5, kind));
}
std::string Divide(const char* x, const std::string& more = "") {
  return Field(3, Field(1, "test_divide") +
                      Field(2, Field(1, "X") + Field(2, x)) + more);
}
std::string File(const std::string& block) {
  return Seal(Field(1, block));
}

TEST(ProgramIoTest, ReadsWhatTheFormatSays) {
  sluice::testing::UseTestOps();
  const Program program =
      ParseProgram(File(kFirst + Data("x", "float32") + Divide("x")));
  EXPECT_EQ(ToString(program),
            "block 0 {\n  x = data(float32 [2])\n"
            "  test_divide_1.Out = test_divide(X=x)  -> float32 [2]\n}\n");
}

TEST(ProgramIoTest, NamesUnknownOpsVariablesAttributesAndDTypes) {
  sluice::testing::UseTestOps();
  ExpectError(
      ErrorCode::kNotFound, "registry.unknown_op",
      {"no operator ofuture", "in op 0", "in the program of a string"},
      [] { ParseProgram(File(kFirst + Field(3, Field(1, "ofuture")))); });
  ExpectError(
      ErrorCode::kNotFound, "program.unknown_var", {"zz", "in op 1"}, [] {
        ParseProgram(
            File(kFirst + Data("x", "float32") + Divide("x") + Divide("zz")));
      });
  ExpectError(ErrorCode::kNotFound, "op.unknown_attribute", {"depth"}, [] {
    ParseProgram(File(kFirst + Data("x", "float32") +
                      Divide("x", Field(4, Field(1, "depth") + Int(2, 1)))));
  });
  EXPECT_THROW(ParseProgram(File(kFirst + Data("x", "float7"))), Error);
  EXPECT_THROW(ParseProgram(File(kFirst + Data("x", "float32") +
                                 Divide("x", Field(5, "no hint")))),
               Error);
}

TEST(ProgramIoTest, RefusesTextThatIsNoUtf8) {
  sluice::testing::UseTestOps();
  ExpectError(ErrorCode::kInvalidArgument, "program.var_name",
              {"x\\xff", "in variable 0", "in the program of model.slp"}, [] {
                ParseProgram(File(kFirst + Data("x\xff", "float32")),
                             "model.slp");
              });
  const std::string outputs = Field(3, Field(1, "Out") + Field(2, "\xfe"));
  ExpectError(ErrorCode::kInvalidArgument, "program.var_name", {"in op 0"},
              [&] {
                ParseProgram(
                    File(kFirst + Data("x", "float32") + Divide("x", outputs)));
              });
  ExpectError(ErrorCode::kInvalidArgument, "hint.text", {"in op 0"}, [] {
    ParseProgram(File(kFirst + Data("x", "float32") +
                      Divide("x", Field(5, "prefer variant=\xff"))));
  });
}

TEST(ProgramIoTest, RefusesAttributesThatAreNotWhole) {
  sluice::testing::UseTestOps();
  ExpectError(ErrorCode::kDataLoss, "program_io.attribute_value", {"depth"},
              [] {
                ParseProgram(File(kFirst + Data("x", "float32") +
                                  Divide("x", Field(4, Field(1, "depth")))));
              });
  const std::string attribute = Field(4, Field(1, "depth") + Int(2, 1));
  ExpectError(ErrorCode::kDataLoss, "program_io.attribute_twice", {"depth"},
              [&] {
                ParseProgram(File(kFirst + Data("x", "float32") +
                                  Divide("x", attribute + attribute)));
              });
  const std::string setting = Field(8, Field(1, "rate") + Int(2, 1));
  const std::string variable = Field(1, "x") + Field(2, "float32") + Int(5, 1);
  const std::string block = kFirst + Field(2, variable + setting + setting);
  ExpectError(ErrorCode::kDataLoss, "program_io.attribute_twice",
              {"rate", "in variable 0"},
              [&] { ParseProgram(Seal(Field(1, block), 3)); });
}

TEST(ProgramIoTest, RefusesOpsOfNoPurpose) {
  sluice::testing::UseTestOps();
  for (const uint64_t purpose : {uint64_t{3}, ~uint64_t{0}}) {
    ExpectError(ErrorCode::kDataLoss, "program_io.purpose",
                {"test_divide", "none that this build knows"}, [&] {
                  ParseProgram(File(kFirst + Data("x", "float32") +
                                    Divide("x", Int(8, purpose))));
                });
  }
}

TEST(ProgramIoTest, RefusesVariablesOfNoKind) {
  ExpectError(ErrorCode::kDataLoss, "program_io.variable_kind",
              {"x", "in variable 0"},
              [] { ParseProgram(File(kFirst + Data("x", "float32", 9))); });
}

TEST(ProgramIoTest, RefusesBlocksThatCannotBe) {
  const std::string first = Field(1, kFirst);
  ExpectError(ErrorCode::kDataLoss, "program_io.first_block", {"parent -1"},
              [] { ParseProgram(File(Int(1, 0))); });
  ExpectError(
      ErrorCode::kDataLoss, "program_io.unused_block", {"block 1"},
      [&] { ParseProgram(Seal(first + Field(1, Data("x", "float32")))); });
  // An op that runs block 5.
  const std::string block = Field(1, "then_block") + Int(3, 2 * 5);
  const std::string op = Field(1, "if") + Field(4, block);
  ExpectError(ErrorCode::kDataLoss, "program_io.block",
              {"1 blocks", "block 5", "in op 0"},
              [&] { ParseProgram(Seal(Field(1, kFirst + Field(3, op)))); });
  EXPECT_THROW(ParseProgram(Seal(first + Field(1, Int(1, 9)))), Error);
}

// 2,000 files: some bytes of a valid one are changed, removed or repeated.
// Every second one is sealed again, so that the damage reaches the reader.
TEST(ProgramIoTest, NoFileEndsTheProcess) {
  const std::string good = SerializeProgram(Rich());
  std::mt19937 random(3);
  int refused = 0;
  for (int round = 0; round < 2000; ++round) {
    const bool seal = round % 2 == 0;
    std::string bytes = seal ? Unseal(good) : good;
    for (int change = static_cast<int>(random() % 4); change >= 0; --change) {
      if (bytes.empty()) break;
      const size_t at = random() % bytes.size();
      const size_t count = random() % 8;
      switch (random() % 4) {
        case 0:
          bytes[at] = static_cast<char>(random());
          break;
        case 1:
          bytes[at] = static_cast<char>(bytes[at] ^ (1 << count));
          break;
        case 2:
          bytes.erase(at, count);
          break;
        default:
          bytes.insert(at, bytes.substr(random() % bytes.size(), count));
      }
    }
    try {
      const Program program = ParseProgram(seal ? Seal(bytes) : bytes);
      ParseProgram(SerializeProgram(program));
    } catch (const Error&) {
      ++refused;
    }
  }
  EXPECT_GT(refused, 1500);
  EXPECT_LT(refused, 2000);
}

class ProgramFileTest : public ::testing::Test {
 protected:
  testing::TempFolder temp_;
  std::string folder_ = temp_.path();
  std::string path_ = folder_ + "/model.slp";
};

TEST_F(ProgramFileTest, SavesAndLoads) {
  const Program program = Rich();
  const VariableSettings settings = {{"w", {{"rate", 0.5}}}};
  SaveProgram(program, path_, settings);
  VariableSettings loaded;
  EXPECT_EQ(ToString(LoadProgram(path_, &loaded)), ToString(program));
  EXPECT_EQ(loaded, settings);
  EXPECT_EQ(temp_.Names(), std::vector<std::string>{"model.slp"});
}

TEST_F(ProgramFileTest, ReplacesAFileAsAWhole) {
  SaveProgram(Program(), path_);
  std::ifstream old(path_, std::ios::binary);
  SaveProgram(Rich(), path_);
  EXPECT_EQ(LoadProgram(path_).block().ops.size(), 2u);
  // A reader that has the old file open still reads all of it.
  std::stringstream text;
  text << old.rdbuf();
  EXPECT_EQ(text.str(), SerializeProgram(Program()));
}

TEST_F(ProgramFileTest, NamesAFileThatCannotBeRead) {
  ExpectError(ErrorCode::kNotFound, "file.open", {path_, "No such file"},
              [&] { LoadProgram(path_); });
  ExpectError(ErrorCode::kNotFound, "file.open", {folder_},
              [&] { LoadProgram(folder_); });
  mkfifo(path_.c_str(), 0600);
  ExpectError(ErrorCode::kNotFound, "file.open", {"no file"},
              [&] { LoadProgram(path_); });
}

TEST_F(ProgramFileTest, NamesAFileWhoseReadingFails) {
  ExpectError(ErrorCode::kNotFound, "file.read", {"/proc/self/mem"},
              [] { LoadProgram("/proc/self/mem"); });
}

TEST_F(ProgramFileTest, NamesAFileThatCannotBeWritten) {
  ExpectError(ErrorCode::kNotFound, "file.create", {"/nowhere/"},
              [&] { SaveProgram(Program(), folder_ + "/nowhere/a"); });
  mkdir(path_.c_str(), 0700);
  ExpectError(ErrorCode::kInvalidArgument, "file.not_regular", {path_},
              [&] { SaveProgram(Program(), path_); });
  EXPECT_EQ(temp_.Names(), std::vector<std::string>{"model.slp"});
}

TEST_F(ProgramFileTest, RefusesPathsWithAZeroByte) {
  const std::string path = path_ + std::string("\0more", 5);
  ExpectError(ErrorCode::kInvalidArgument, "file.path_nul", {"zero byte"},
              [&] { SaveProgram(Program(), path); });
  SaveProgram(Program(), path_);
  ExpectError(ErrorCode::kInvalidArgument, "file.path_nul", {"zero byte"},
              [&] { LoadProgram(path); });
}

TEST_F(ProgramFileTest, NamesTheFileInErrors) {
  std::ofstream(path_) << "not a program";
  ExpectError(ErrorCode::kDataLoss, "program_io.magic", {path_},
              [&] { LoadProgram(path_); });
}

}  // namespace
}  // namespace sluice
