#include "sluice/onnx/save_onnx.h"

#include <cstring>
#include <ctime>
#include <filesystem>
#include <map>
#include <vector>

#include "examples/digits_program.h"
#include "tests/testing/expect_error.h"
#include "tests/testing/resource_limit.h"
#include "tests/testing/temp_folder.h"
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include "sluice/framework/run/executor.h"
#include "sluice/onnx/load_onnx.h"
#include "sluice/onnx/onnx.pb.h"

namespace sluice::testing {
namespace {

using onnx::OnnxModel;
using onnx::OnnxSaveOptions;
using onnx::ParseOnnx;
using onnx::SaveOnnx;
using onnx::SerializeOnnx;

Tensor Counted(const DDim& dims) {
  std::vector<float> values(static_cast<size_t>(dims.numel()));
  for (size_t i = 0; i < values.size(); ++i) {
    values[i] = static_cast<float>(i) / 4 - 2;
  }
  return Tensor::FromVector(dims, values);
}

// y = relu(x w), of a program that trains w.
class SaveOnnxTest : public ::testing::Test {
 protected:
  SaveOnnxTest() {
    program_.Data("x", DType::kFloat32, {-1, 2});
    program_.Persistable("w", DType::kFloat32, {2, 3});
    Append("mul", {{"X", {"x"}}, {"Y", {"w"}}}, "h");
    Append("relu", {{"X", {"h"}}}, "y");
    Set("w", Counted({2, 3}));
  }

  void Append(const std::string& type,
              const Program::ArgList& inputs,
              const std::string& out,
              const AttributeMap& attributes = {}) {
    program_.AppendOp(type, inputs, attributes, {"net.py", 7},
                      {{"Out", {out}}});
  }

  void Set(const std::string& name, const Tensor& value) {
    *scope_.Var(name).GetMutable<Tensor>() = value;
  }

  ::onnx::ModelProto Message(const OnnxSaveOptions& options = {}) {
    ::onnx::ModelProto model;
    EXPECT_TRUE(
        model.ParseFromString(SerializeOnnx(program_, scope_, options)));
    return model;
  }

  void ExpectRefused(ErrorCode code,
                     std::string_view id,
                     std::initializer_list<std::string_view> fragments,
                     const OnnxSaveOptions& options = {}) {
    const std::string path = folder_.File("refused.onnx");
    ExpectError(code, id, fragments,
                [&] { SaveOnnx(program_, scope_, path, options); });
    EXPECT_FALSE(std::filesystem::exists(path));
    EXPECT_FALSE(std::filesystem::exists(path + ".data"));
  }

  // Expects model and program to compute the same bits.
  void ExpectSame(const OnnxModel& model,
                  const Program& program,
                  const Feeds& feeds) {
    Fetches names;
    for (const auto& output : model.outputs) {
      names.emplace_back(output.name);
    }
    Executor there, here;
    model.PutParameters(there.scope());
    const auto got = there.Run(model.program, feeds, names);
    for (const auto& var : program.block().vars()) {
      if (!var.persistable) continue;
      *here.scope().Var(var.name).GetMutable<Tensor>() =
          *scope_.FindVar(var.name)->Get<Tensor>();
    }
    const auto want = here.Run(program, feeds, names);
    for (size_t i = 0; i < model.outputs.size(); ++i) {
      ASSERT_EQ(got[i].dims(), want[i].dims());
      ASSERT_EQ(got[i].dtype(), want[i].dtype());
      EXPECT_EQ(
          std::memcmp(got[i].raw_data(), want[i].raw_data(), want[i].bytes()),
          0)
          << model.outputs[i].name;
    }
  }

  TempFolder folder_;
  Program program_;
  Scope scope_;
};

TEST_F(SaveOnnxTest, WhatWasWrittenIsReadAgain) {
  const std::string path = folder_.File("net.onnx");
  SaveOnnx(program_, scope_, path,
           {.name = "net",
            .description = "what it does",
            .properties = {{"author", "somebody"}}});
  const OnnxModel model = onnx::LoadOnnx(path);
  ASSERT_EQ(model.inputs.size(), 1u);
  EXPECT_EQ(model.inputs[0].name, "x");
  EXPECT_EQ(model.inputs[0].shape[0].symbol, "batch");
  EXPECT_EQ(model.inputs[0].shape[1].size, 2);
  ASSERT_EQ(model.outputs.size(), 1u);
  EXPECT_EQ(model.outputs[0].name, "y");
  ASSERT_EQ(model.parameters.size(), 1u);
  EXPECT_EQ(model.parameters[0].first, "w");
  EXPECT_EQ(model.metadata.producer_name, "sluice");
  EXPECT_FALSE(model.metadata.producer_version.empty());
  EXPECT_EQ(model.metadata.ir_version, 10);
  EXPECT_EQ(model.metadata.opsets[0].second, 21);
  EXPECT_EQ(model.metadata.graph_name, "net");
  EXPECT_EQ(model.metadata.description, "what it does");
  EXPECT_EQ(model.metadata.properties[0].second, "somebody");
  ExpectSame(model, program_, {{"x", Counted({5, 2})}});
}

TEST_F(SaveOnnxTest, NodesAreNamedAfterWhatTheyMakeAndSayWhereTheyCameFrom) {
  const auto graph = Message().graph();
  ASSERT_EQ(graph.node_size(), 2);
  EXPECT_EQ(graph.node(0).op_type(), "MatMul");
  EXPECT_EQ(graph.node(0).name(), "h");
  EXPECT_EQ(graph.node(1).name(), "y");
  EXPECT_EQ(graph.node(1).doc_string(), "created at net.py:7");
  ASSERT_EQ(graph.value_info_size(), 1);
  EXPECT_EQ(graph.value_info(0).name(), "h");
}

// Names were once tried one by one, which took a minute here.
TEST_F(SaveOnnxTest, ManyConstantsTakeTimeInProportion) {
  OnnxSaveOptions options;
  for (int64_t i = 0; i < 20000; ++i) {
    options.outputs.push_back("row" + std::to_string(i));
    Append("slice", {{"X", {"y"}}}, options.outputs.back(),
           {{"starts", std::vector<int64_t>{i}},
            {"ends", std::vector<int64_t>{i + 1}}});
  }
  const std::clock_t begin = std::clock();
  EXPECT_GT(Message(options).graph().initializer_size(), 20000);
  EXPECT_LT(std::clock() - begin, 10 * CLOCKS_PER_SEC);
}

TEST_F(SaveOnnxTest, TheDigitsExampleGivesTheSame) {
  Program digits;
  const auto vars = examples::BuildDigits(&digits);
  const Feeds feeds = examples::DigitsFeeds("examples/data");
  const OnnxModel model = ParseOnnx(
      SerializeOnnx(digits, scope_,
                    {.outputs = {vars.predicted.name(), vars.accuracy.name(),
                                 vars.distance.name()}}));
  // Two inputs may have different numbers of images.
  EXPECT_EQ(model.inputs[0].shape[0].symbol, "images_0");
  EXPECT_EQ(model.inputs[1].shape[0].symbol, "known_0");
  ExpectSame(model, digits, feeds);
}

TEST_F(SaveOnnxTest, AVariableThatIsWrittenTwiceHasItsLastValue) {
  Append("square", {{"X", {"y"}}}, "h");
  const OnnxModel model =
      ParseOnnx(SerializeOnnx(program_, scope_, {.outputs = {"h", "y"}}));
  ExpectSame(model, program_, {{"x", Counted({3, 2})}});
}

TEST_F(SaveOnnxTest, OnlyWhatTheOutputsNeedIsWritten) {
  program_.Data("z", DType::kFloat32, {3});
  program_.Persistable("unused", DType::kFloat32, {3});
  Append("atan2", {{"X", {"y"}}, {"Y", {"z"}}}, "angle");
  const auto graph = Message({.outputs = {"y"}}).graph();
  EXPECT_EQ(graph.node_size(), 2);
  EXPECT_EQ(graph.input_size(), 1);
  EXPECT_EQ(graph.initializer_size(), 1);
}

TEST_F(SaveOnnxTest, AnOutputThatIsWrittenTwiceIsOneOutput) {
  Append("square", {{"X", {"h"}}}, "a variable with a long name");
  Append("square", {{"X", {"h"}}}, "another one with a long name");
  Append("abs", {{"X", {"h"}}}, "a variable with a long name");
  const auto graph = Message().graph();
  ASSERT_EQ(graph.output_size(), 3);
  EXPECT_EQ(graph.output(0).name(), "y");
  EXPECT_EQ(graph.output(1).name(), "a variable with a long name");
  EXPECT_EQ(graph.output(2).name(), "another one with a long name");
}

TEST_F(SaveOnnxTest, InputsComeInTheOrderAskedFor) {
  program_.Data("z", DType::kFloat32, {3});
  Append("elementwise_add", {{"X", {"y"}}, {"Y", {"z"}}}, "sum");
  const auto graph = Message({.inputs = {"z", "x"}}).graph();
  EXPECT_EQ(graph.input(0).name(), "z");
  EXPECT_EQ(graph.input(1).name(), "x");
}

TEST_F(SaveOnnxTest, LargeParametersMayHaveAFileOfTheirOwn) {
  program_.Persistable("large", DType::kFloat32, {3, 700});
  Append("mul", {{"X", {"y"}}, {"Y", {"large"}}}, "wide");
  Set("large", Counted({3, 700}));
  const std::string path = folder_.File("net.onnx");
  SaveOnnx(program_, scope_, path, {.external_data = true});
  EXPECT_EQ(std::filesystem::file_size(path + ".data"), 3u * 700 * 4);
  EXPECT_LT(std::filesystem::file_size(path), 1500u);
  ExpectSame(onnx::LoadOnnx(path), program_, {{"x", Counted({5, 2})}});
}

// A model whose weights are all `number`, which its description is, too.
class SaveOnnxAgainTest : public SaveOnnxTest {
 protected:
  static constexpr int64_t kColumns = 1 << 14;

  SaveOnnxAgainTest() : path_(folder_.File("net.onnx")) {
    program_.Persistable("large", DType::kFloat32, {3, kColumns});
    Append("mul", {{"X", {"y"}}, {"Y", {"large"}}}, "wide");
  }

  void Save(int number, const std::string& more = "", bool external = true) {
    Set("large",
        Tensor::FromVector(
            DDim{3, kColumns},
            std::vector<float>(3 * kColumns, static_cast<float>(number))));
    OnnxSaveOptions options;
    options.external_data = external;
    options.description = std::to_string(number) + more;
    SaveOnnx(program_, scope_, path_, options);
  }

  // The number of the saved model, whose parts must all belong together.
  int Number() const {
    const OnnxModel model = onnx::LoadOnnx(path_);
    const int number = std::stoi(model.metadata.description);
    for (const auto& [name, value] : model.parameters) {
      if (name != "large") continue;
      EXPECT_EQ(value.data<float>()[0], static_cast<float>(number));
      EXPECT_EQ(value.data<float>()[3 * kColumns - 1],
                static_cast<float>(number));
    }
    return number;
  }

  size_t Files() const {
    const auto folder = std::filesystem::path(path_).parent_path();
    return static_cast<size_t>(
        std::distance(std::filesystem::directory_iterator(folder),
                      std::filesystem::directory_iterator()));
  }

  const std::string path_;
};

TEST_F(SaveOnnxAgainTest, AModelWhoseNewFileCannotBeWrittenKeepsItsData) {
  Save(1);
  ExpectError(ErrorCode::kResourceExhausted, "file.write", {"net.onnx"}, [&] {
    // Large enough for the data, but not for the model.
    const ResourceLimit limit(RLIMIT_FSIZE, 1 << 18);
    Save(2, std::string(1 << 19, ' '));
  });
  EXPECT_EQ(Number(), 1);
  EXPECT_EQ(Files(), 2u);
}

TEST_F(SaveOnnxAgainTest, TheDataOfTheOldModelIsDeletedLast) {
  for (int number = 1; number < 6; ++number) {
    Save(number);
    EXPECT_EQ(Number(), number);
    EXPECT_EQ(Files(), 2u);
    EXPECT_EQ(std::filesystem::exists(path_ + ".data"), number % 2 == 1);
  }
}

TEST_F(SaveOnnxAgainTest, DataThatKilledSaversHaveLeftIsDeleted) {
  const auto leave = [this] {
    for (const char* end : {".data", ".1.data", ".2.data", ".3.data", ".4.data",
                            ".20.data", ".1.data.saving", ".30.data.saving"}) {
      folder_.Write("net.onnx" + std::string(end), "left");
    }
  };
  const std::vector<std::string> others = {"net.onnx.notes.data",
                                           "net.onnx.1x.data", "net.onnx..data",
                                           "another.onnx.data"};
  for (const std::string& other : others) {
    folder_.Write(other, "kept");
  }
  leave();
  Save(1);
  EXPECT_EQ(Number(), 1);
  EXPECT_EQ(Files(), others.size() + 2);
  leave();
  Save(2, "", /*external=*/false);
  EXPECT_EQ(Number(), 2);
  EXPECT_EQ(Files(), others.size() + 1);
}

TEST_F(SaveOnnxAgainTest, SaversThatRaceDeleteNoDataInUse) {
  constexpr int kSavers = 3;
  constexpr int kTimes = 40;
  Save(1);
  std::vector<pid_t> savers;
  for (int saver = 0; saver < kSavers; ++saver) {
    savers.push_back(fork());
    if (savers.back() != 0) continue;
    for (int i = 0; i < kTimes; ++i) {
      Save(2 + i);
    }
    _exit(0);
  }
  for (const pid_t saver : savers) {
    int status = 0;
    ASSERT_EQ(waitpid(saver, &status, 0), saver);
    EXPECT_EQ(status, 0);
  }
  EXPECT_GT(Number(), 1);
  Save(99);
  EXPECT_EQ(Number(), 99);
  EXPECT_EQ(Files(), 2u);
}

TEST_F(SaveOnnxAgainTest, SaversThatAreKilledLeaveAWholeModel) {
  int last = 1;
  Save(last);
  int saved = 0;
  unsigned longest = 20'000;  // microseconds
  for (int round = 0; round < 20; ++round) {
    const pid_t child = fork();
    if (child == 0) {
      for (int number = last + 1;; ++number) {
        Save(number);
      }
    }
    usleep(longest * static_cast<unsigned>(round + 1) / 20);
    kill(child, SIGKILL);
    int status = 0;
    ASSERT_EQ(waitpid(child, &status, 0), child);
    ASSERT_TRUE(WIFSIGNALED(status)) << "the child could not save";
    const int number = Number();
    ASSERT_GE(number, last);
    // On a busy machine children need more time to save.
    if (number == last) longest = std::min(longest * 2, 500'000U);
    saved += number - last;
    last = number;
  }
  EXPECT_GT(saved, 0) << "every child was killed before it had saved";
  // The next saver removes unfinished files.
  Save(last + 1);
  EXPECT_EQ(Files(), 2u);
}

TEST_F(SaveOnnxTest, NodesSayWhichKernelComputedThem) {
  Executor executor;
  const auto plan = executor.Prepare(program_, {{"x", Counted({5, 2})}}, {"y"});
  const auto model = Message({.plan = plan.get()});
  std::map<std::string, std::string> of_node, of_model;
  for (const auto& property : model.graph().node(0).metadata_props()) {
    of_node[property.key()] = property.value();
  }
  for (const auto& property : model.metadata_props()) {
    of_model[property.key()] = property.value();
  }
  EXPECT_EQ(of_node["sluice.kernel"], ToString(*plan->decisions()[0].kernel));
  EXPECT_EQ(of_node["sluice.reason"], plan->decisions()[0].reason);
  EXPECT_EQ(of_model["sluice.place"], ToString(plan->place()));
  EXPECT_FALSE(of_model["sluice.machine"].empty());
}

TEST_F(SaveOnnxTest, AllOpsWithoutCounterpartAreListed) {
  Append("atan2", {{"X", {"y"}}, {"Y", {"h"}}}, "angle");
  Append("uniform_random", {}, "noise", {{"shape", std::vector<int64_t>{3}}});
  Append("elementwise_add", {{"X", {"angle"}}, {"Y", {"noise"}}}, "sum");
  ExpectRefused(ErrorCode::kUnimplemented, "onnx.no_counterpart",
                {"2 of 5 ops", "atan2 (makes angle)", "uniform_random",
                 "random numbers", "created at net.py:7"});
}

TEST_F(SaveOnnxTest, OpsThatTrainAreRefused) {
  program_.Data("rate", DType::kFloat32, {1});
  program_.SetPurpose(OpPurpose::kBackward);
  Append("fill_constant", {}, "w@GRAD",
         {{"shape", std::vector<int64_t>{2, 3}}});
  ExpectRefused(ErrorCode::kInvalidArgument, "onnx.save_training",
                {"fill_constant", "gradient", "clone(for_test=True)"},
                {.outputs = {"w@GRAD"}});
}

TEST_F(SaveOnnxTest, AnOpThatChangesAParameterIsRefused) {
  program_.AppendOp("assign", {{"X", {"w"}}}, {}, {"net.py", 7},
                    {{"Out", {"w"}}});
  ExpectRefused(ErrorCode::kInvalidArgument, "onnx.save_training",
                {"assign", "changes parameter w"}, {.outputs = {"w"}});
}

TEST_F(SaveOnnxTest, ParametersNeedAValue) {
  program_.Persistable("bias", DType::kFloat32, {3});
  Append("elementwise_add", {{"X", {"y"}}, {"Y", {"bias"}}}, "sum");
  ExpectRefused(ErrorCode::kFailedPrecondition, "onnx.save_no_value",
                {"bias", "start-up"});
}

TEST_F(SaveOnnxTest, ParametersHaveTheShapeOfTheProgram) {
  Set("w", Counted({3, 2}));
  ExpectRefused(ErrorCode::kInvalidArgument, "onnx.save_parameter",
                {"w is float32 [2, 3]", "[3, 2] in the scope"});
}

// The dims of a row, if their shape is unknown in the model.
TEST_F(SaveOnnxTest, RowsOfAnUnknownRankAreMeasuredByTheModel) {
  program_.Data("any", DType::kFloat32, DDim::UnknownRank());
  program_.AppendOp("layer_norm", {{"X", {"any"}}},
                    {{"begin_norm_axis", int64_t{1}}}, {"net.py", 7},
                    {{"Y", {"rows"}}, {"Mean", {"m"}}, {"Variance", {"v"}}});
  const ::onnx::ModelProto model = Message({.outputs = {"rows"}});
  ASSERT_EQ(model.graph().node(0).op_type(), "Shape");
  for (const auto& attribute : model.graph().node(0).attribute()) {
    EXPECT_EQ(attribute.i(), attribute.name() == "start" ? 1 : INT64_MAX);
  }
}

TEST_F(SaveOnnxTest, SizesMayHaveNames) {
  program_.Data("z", DType::kFloat32, {-1, -1});
  Append("matmul", {{"X", {"z"}}, {"Y", {"y"}}}, "out");
  const auto graph =
      Message({.size_names = {{"z", {"", "images"}}, {"x", {"images", ""}}}})
          .graph();
  const auto name = [&](int input, int dim) {
    return graph.input(input).type().tensor_type().shape().dim(dim).dim_param();
  };
  EXPECT_EQ(name(0, 0), "images");
  EXPECT_EQ(name(1, 0), "z_0");
  EXPECT_EQ(name(1, 1), "images");
  ExpectRefused(ErrorCode::kInvalidArgument, "onnx.save_size_count",
                {"x has 2 dims", "1 names"},
                {.size_names = {{"x", {"images"}}}});
  ExpectRefused(ErrorCode::kInvalidArgument, "onnx.save_size_names",
                {"sizes of w", "no input of the model"},
                {.size_names = {{"w", {"images"}}}});
}

TEST_F(SaveOnnxTest, OpsetsOutsideOfTheRangeAreRefused) {
  ExpectRefused(ErrorCode::kUnimplemented, "onnx.save_opset",
                {"opset 20", "21 to 28"}, {.opset = 20});
}

TEST_F(SaveOnnxTest, EachInputAndOutputHasItsOwnName) {
  ExpectRefused(ErrorCode::kInvalidArgument, "onnx.save_twice",
                {"variable y", "outputs"}, {.outputs = {"y", "h", "y"}});
}

TEST_F(SaveOnnxTest, InputsAreFed) {
  ExpectRefused(ErrorCode::kInvalidArgument, "onnx.save_input",
                {"variable w", "a parameter"}, {.inputs = {"x", "w"}});
}

TEST_F(SaveOnnxTest, AllInputsThatAreNeededAreInTheList) {
  program_.Data("other", DType::kFloat32, {1});
  ExpectRefused(ErrorCode::kInvalidArgument, "onnx.save_input_missing",
                {"computed from x"}, {.inputs = {"other"}});
}

TEST_F(SaveOnnxTest, AnUnknownOutputIsAnError) {
  ExpectRefused(ErrorCode::kNotFound, "program.unknown_var", {"no variable q"},
                {.outputs = {"q"}});
}

TEST_F(SaveOnnxTest, AnEmptyProgramIsNoModel) {
  const Program empty;
  ExpectError(ErrorCode::kInvalidArgument, "onnx.save_nothing", {"0 ops"},
              [&] { SerializeOnnx(empty, scope_); });
}

TEST_F(SaveOnnxTest, AMissingFolderAndAFolderAreErrors) {
  ExpectError(ErrorCode::kNotFound, "file.create", {"cannot create"}, [&] {
    SaveOnnx(program_, scope_, folder_.File("none/net.onnx"));
  });
  const std::string folder = folder_.File("net.onnx");
  std::filesystem::create_directory(folder);
  program_.Persistable("large", DType::kFloat32, {3, 700});
  Append("mul", {{"X", {"y"}}, {"Y", {"large"}}}, "wide");
  Set("large", Counted({3, 700}));
  ExpectError(
      ErrorCode::kInvalidArgument, "file.not_regular", {"net.onnx"},
      [&] { SaveOnnx(program_, scope_, folder, {.external_data = true}); });
  EXPECT_FALSE(std::filesystem::exists(folder + ".data"));
}

TEST_F(SaveOnnxTest, TheOldFileStaysWhereTheDiskIsFull) {
  const std::string path = folder_.Write("net.onnx", "old");
  ExpectError(ErrorCode::kResourceExhausted, "file.write", {"net.onnx"}, [&] {
    const ResourceLimit limit(RLIMIT_FSIZE, 100);
    SaveOnnx(program_, scope_, path);
  });
  EXPECT_EQ(ReadFile(path), "old");
}

}  // namespace
}  // namespace sluice::testing
