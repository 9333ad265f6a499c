#include "sluice/fluid/program_file.h"

#include <string>

#include "tests/testing/expect_error.h"
#include <gtest/gtest.h>

#include "sluice/sluice.h"

namespace sluice::fluid {
namespace {

using ::sluice::testing::ExpectError;

ProgramFile OneOp() {
  ProgramFile program{.version = 1008005};
  FileBlock block;
  block.variables = {{.name = "x",
                      .kind = static_cast<int32_t>(VariableKind::kLodTensor),
                      .tensor = {.dtype = 5, .dims = {-1, 3}},
                      .lod_level = 1,
                      .persistable = true},
                     {.name = "a",
                      .kind = static_cast<int32_t>(VariableKind::kTensorArray),
                      .tensor = {.dtype = 3, .dims = {2}}},
                     {.name = "s",
                      .kind = static_cast<int32_t>(VariableKind::kSelectedRows),
                      .tensor = {.dtype = 6, .dims = {4, 2}}}};
  block.ops = {{.type = "relu",
                .inputs = {{"X", {"x"}}, {"None", {}}},
                .outputs = {{"Out", {"x"}}}}};
  block.ops[0].attributes = {
      {"int", AttributeType::kInt, int64_t{-7}},
      {"float", AttributeType::kFloat, 0.5},
      {"string", AttributeType::kString, std::string("text")},
      {"ints", AttributeType::kInts, std::vector<int64_t>{1, -1}},
      {"floats", AttributeType::kFloats, std::vector<double>{0.25, 4}},
      {"strings", AttributeType::kStrings, std::vector<std::string>{"a", ""}},
      {"bool", AttributeType::kBool, true},
      {"bools", AttributeType::kBools, std::vector<bool>{true, false}},
      {"long", AttributeType::kLong, int64_t{1} << 40},
      {"longs", AttributeType::kLongs, std::vector<int64_t>{-5, 1LL << 50}},
      {"float64s", AttributeType::kFloat64s, std::vector<double>{0.1}},
      {"variable", AttributeType::kVariable, std::string("x")},
      {"variables", AttributeType::kVariables, std::vector<std::string>{"x"}},
      {"float64", AttributeType::kFloat64, 0.1}};
  program.blocks = {block};
  return program;
}

FileAttribute BlockAttribute(int64_t block) {
  return {"sub_block", AttributeType::kBlock, block};
}

// Two blocks: the first has an op with the attribute `runs`, and `parent` is
// the parent of the second.
ProgramFile TwoBlocks(int32_t parent, FileAttribute runs) {
  ProgramFile program = OneOp();
  program.blocks[0].ops[0].attributes = {std::move(runs)};
  program.blocks.push_back({.parent = parent});
  return program;
}

ProgramFile Parsed(const ProgramFile& program) {
  return ParseProgramFile(SerializeProgramFile(program), "the file");
}

TEST(ProgramFile, IsReadAsItWasWritten) {
  const ProgramFile parsed = Parsed(OneOp());
  const ProgramFile expected = OneOp();
  EXPECT_EQ(parsed.version, 1008005);
  ASSERT_EQ(parsed.blocks.size(), 1U);
  ASSERT_EQ(parsed.blocks[0].variables.size(), 3U);
  for (size_t i = 0; i < 3; ++i) {
    const FileVariable& got = parsed.blocks[0].variables[i];
    const FileVariable& wanted = expected.blocks[0].variables[i];
    EXPECT_EQ(got.name, wanted.name);
    EXPECT_EQ(got.kind, wanted.kind);
    EXPECT_EQ(got.tensor.dtype, wanted.tensor.dtype);
    EXPECT_EQ(got.tensor.dims, wanted.tensor.dims);
    EXPECT_EQ(got.lod_level, wanted.lod_level);
    EXPECT_EQ(got.persistable, wanted.persistable);
  }
  const FileOp& op = parsed.blocks[0].ops.at(0);
  EXPECT_EQ(op.type, "relu");
  EXPECT_EQ(op.inputs, expected.blocks[0].ops[0].inputs);
  EXPECT_EQ(op.outputs, expected.blocks[0].ops[0].outputs);
  const auto& attributes = expected.blocks[0].ops[0].attributes;
  ASSERT_EQ(op.attributes.size(), attributes.size());
  for (size_t i = 0; i < attributes.size(); ++i) {
    EXPECT_EQ(op.attributes[i].name, attributes[i].name);
    EXPECT_EQ(op.attributes[i].type, attributes[i].type);
    EXPECT_EQ(op.attributes[i].value, attributes[i].value)
        << attributes[i].name;
  }
}

TEST(ProgramFile, MayHaveBlocksInsideEarlierOnes) {
  EXPECT_EQ(Parsed(TwoBlocks(0, BlockAttribute(1))).blocks[1].parent, 0);
  const FileAttribute several{"blocks", AttributeType::kBlocks,
                              std::vector<int64_t>{1}};
  EXPECT_EQ(Parsed(TwoBlocks(0, several)).blocks.size(), 2U);
}

TEST(ProgramFile, RefusesBlocksThatDoNotLieInEachOther) {
  for (const int32_t parent : {1, -1, 7}) {
    ExpectError(ErrorCode::kInvalidArgument, "fluid.block_parent",
                {"block 1 says"},
                [&] { Parsed(TwoBlocks(parent, BlockAttribute(1))); });
  }
  for (const int64_t block : {0, 2, -1}) {
    ExpectError(ErrorCode::kInvalidArgument, "fluid.block_of_op",
                {"op relu of block 0 runs block"},
                [&] { Parsed(TwoBlocks(0, BlockAttribute(block))); });
  }
}

TEST(ProgramFile, RefusesDamagedBytes) {
  const std::string whole = SerializeProgramFile(OneOp());
  for (const std::string& bytes : {whole.substr(0, whole.size() - 1),
                                   "\xff" + whole, std::string("PK\x03\x04")}) {
    ExpectError(ErrorCode::kDataLoss, "fluid.not_a_program",
                {"the file is no program"},
                [&] { ParseProgramFile(bytes, "the file"); });
  }
  ExpectError(ErrorCode::kInvalidArgument, "fluid.no_block", {"has 0 blocks"},
              [] { ParseProgramFile("", "the file"); });
  ExpectError(ErrorCode::kDataLoss, "fluid.tensor_desc", {"the file"},
              [] { ParseTensorDesc("\xff\xff", "the file"); });
}

TEST(ProgramFile, RefusesWhatHasNoNameOrType) {
  ProgramFile program = OneOp();
  program.blocks[0].ops[0].type = "";
  ExpectError(ErrorCode::kInvalidArgument, "fluid.op_type",
              {"an op has no type"}, [&] { Parsed(program); });
  for (const char* name : {"", "x"}) {
    program = OneOp();
    program.blocks[0].variables[1].name = name;
    ExpectError(ErrorCode::kInvalidArgument, "fluid.variable_name",
                {"declares variable"}, [&] { Parsed(program); });
  }
  program = OneOp();
  program.blocks[0].ops[0].attributes[0].type = static_cast<AttributeType>(40);
  ExpectError(ErrorCode::kUnimplemented, "fluid.attribute_type",
              {"attribute int of op relu has type 40"},
              [&] { Parsed(program); });
}

TEST(ProgramFile, HasLessThan2GiB) {
  CheckProgramBytes((uint64_t{1} << 31) - 1);
  ExpectError(ErrorCode::kInvalidArgument, "fluid.too_large", {"2147483648"},
              [] { CheckProgramBytes(uint64_t{1} << 31); });
}

TEST(ProgramFile, DescriptionsOfTensorsAreReadAsTheyWereWritten) {
  const FileTensor tensor{.dtype = 5, .dims = {4, 0}};
  const FileTensor parsed =
      ParseTensorDesc(SerializeTensorDesc(tensor), "the file");
  EXPECT_EQ(parsed.dtype, 5);
  EXPECT_EQ(parsed.dims, tensor.dims);
}

}  // namespace
}  // namespace sluice::fluid
