// Costs that small files must not cause: memory and time for declared sizes.
#include <filesystem>
#include <thread>

#include "tests/onnx/model_builder.h"
#include "tests/testing/expect_error.h"
#include "tests/testing/resource_limit.h"
#include "tests/testing/temp_folder.h"
#include <gtest/gtest.h>
#include <pthread.h>

#include "sluice/platform/cancel.h"

namespace sluice::testing {
namespace {

using ::onnx::AttributeProto;
using ::onnx::FunctionProto;
using ::onnx::GraphProto;
using ::onnx::NodeProto;

constexpr int64_t kHuge = int64_t{1} << 40;

void ExpectTooMuchMemory(const ModelBuilder& builder,
                         std::initializer_list<std::string_view> words,
                         const onnx::OnnxOptions& options = {}) {
  ExpectError(ErrorCode::kResourceExhausted, "onnx.import_memory", words,
              [&] { builder.Load(options); });
}

// The ops of the program, by their types.
std::vector<std::string> OpTypes(const onnx::OnnxModel& model) {
  std::vector<std::string> types;
  for (const OpDesc& op : model.program.block().ops) {
    types.push_back(op.type);
  }
  return types;
}

ModelBuilder Splitting(bool sizes) {
  ModelBuilder builder;
  builder.Input("x", {kHuge});
  builder.Input("sizes", {kHuge});
  builder.graph()
      .mutable_input(1)
      ->mutable_type()
      ->mutable_tensor_type()
      ->set_elem_type(::onnx::TensorProto::INT64);
  NodeProto& split = builder.Node("SplitToSequence", {"x"}, {"list"}, "parts");
  if (sizes) split.add_input("sizes");
  builder.Node("SequenceLength", {"list"}, {"y"});
  builder.Output("y");
  return builder;
}

TEST(OnnxLimits, SequencesHaveNotAPartForEachDeclaredElement) {
  ExpectTooMuchMemory(
      Splitting(false),
      {"its parts", "OnnxOptions::limits.memory_bytes", "node parts"});
  ExpectTooMuchMemory(Splitting(true), {"its parts", "node parts"});
}

// A file of 200 bytes may ask for this many.
TEST(OnnxLimits, EqualPartsOfASequenceCostMoreThanTheirOps) {
  ModelBuilder builder;
  builder.Input("x", {65'536});
  builder.Node("SplitToSequence", {"x"}, {"list"}, "parts");
  builder.Node("SequenceLength", {"list"}, {"y"});
  builder.Output("y");
  ExpectTooMuchMemory(builder, {"its parts would take 2147483648 bytes"});
}

// Parts are copied, not computed by one op each.
TEST(OnnxLimits, PartsOfAConstantTakeNoOperations) {
  onnx::OnnxOptions options;
  options.limits.folded_operations = 4 * onnx::kFoldOperations;
  for (const bool new_axis : {false, true}) {
    ModelBuilder builder;
    builder.Ints("shape", {1000, 2});
    builder.Ints("one", {1}).clear_dims();
    builder.Node("ConstantOfShape", {"shape"}, {"x"});
    NodeProto& split = builder.Node("SplitToSequence", {"x"}, {"list"});
    SetInt(split, "keepdims", new_axis ? 0 : 1);
    NodeProto& concat = builder.Node("ConcatFromSequence", {"list"}, {"y"});
    SetInt(concat, "axis", 0);
    SetInt(concat, "new_axis", new_axis ? 1 : 0);
    builder.Output("y");
    const onnx::OnnxModel model = builder.Load(options);
    EXPECT_EQ(OpTypes(model), std::vector<std::string>());
    EXPECT_EQ(model.program.FindVar("y").dims, (DDim{1000, 2}));
  }
  options.limits.memory_bytes = 100 * onnx::kOpBytes;
  options.limits.memory_bytes_per_file_byte = 0;
  ModelBuilder many;
  many.Ints("shape", {1000, 2});
  many.Ints("sizes", std::vector<int64_t>(1000, 1));
  many.Node("ConstantOfShape", {"shape"}, {"x"});
  many.Node("SplitToSequence", {"x", "sizes"}, {"list"}, "parts");
  many.Node("SequenceLength", {"list"}, {"y"});
  many.Output("y");
  ExpectTooMuchMemory(many, {"its parts", "node parts"}, options);
}

TEST(OnnxLimits, ANodeOfManyOpsHearsACancelRequest) {
  ModelBuilder builder;
  builder.Input("x", {200'000, 1});
  builder.Node("Relu", {"x"}, {"y"});
  builder.Node("SplitToSequence", {"x"}, {"list"});  // the last node
  builder.Output("y");
  std::thread canceller([] {
    std::this_thread::sleep_for(std::chrono::milliseconds(100));
    SetCancelRequested(true);
  });
  EXPECT_THROW(builder.Load(), Error);
  canceller.join();
  SetCancelRequested(false);
}

TEST(OnnxLimits, SequencesThatGrowTakeMemoryInProportion) {
  ModelBuilder builder;
  builder.Input("x", {1});
  builder.Node("SequenceEmpty", {}, {"list0"});
  const int count = 20'000;
  for (int i = 0; i < count; ++i) {
    builder.Node("SequenceInsert", {"list" + std::to_string(i), "x"},
                 {"list" + std::to_string(i + 1)});
  }
  builder.Node("SequenceLength", {"list" + std::to_string(count)}, {"y"});
  builder.Output("y");
  if (AddressSpaceCanBeLimited()) {
    const ResourceLimit limit(RLIMIT_AS, AddressSpace() + (rlim_t{1} << 29));
    EXPECT_EQ(builder.Load().program.FindVar("y").dims, DDim{});
  }
  // Each is read twice, so that all are kept.
  for (int i = 0; i < count; ++i) {
    builder.Node("SequenceLength", {"list" + std::to_string(i)},
                 {"length" + std::to_string(i)});
  }
  onnx::OnnxOptions options;
  options.limits.memory_bytes = 1 << 26;
  ExpectTooMuchMemory(builder, {"sequences would take"}, options);
}

TEST(OnnxLimits, FramesOfASignalHaveNoTableWithoutEnd) {
  ModelBuilder builder(17);
  builder.Input("x", {1, kHuge, 1});
  builder.Ints("step", {1});
  builder.Ints("length", {1 << 20});
  builder.Node("STFT", {"x", "step", "", "length"}, {"y"}, "frames");
  builder.Output("y");
  ExpectTooMuchMemory(builder, {"its table of indices", "node frames"});
}

TEST(OnnxLimits, HeadsOfAttentionHaveNoTableWithoutEnd) {
  ModelBuilder builder(23);
  for (const char* name : {"q", "k", "v"}) {
    builder.Input(name, {1, 2, -1});
  }
  NodeProto& node = builder.Node("Attention", {"q", "k", "v"}, {"y"}, "heads");
  SetInt(node, "q_num_heads", kHuge);
  SetInt(node, "kv_num_heads", 1);
  SetFloat(node, "scale", 1);
  builder.Output("y");
  ExpectTooMuchMemory(builder, {"its table of indices", "node heads"});
}

TEST(OnnxLimits, DiagonalsTakeNoTable) {
  ModelBuilder builder;
  const int64_t size = int64_t{1} << 32;
  builder.Input("x", {size, size});
  SetString(builder.Node("Einsum", {"x"}, {"y"}), "equation", "ii->i");
  builder.Output("y");
  ExpectError(ErrorCode::kOutOfRange, "ddim.overflow", {"node 0 (Einsum)"},
              [&] { builder.Load(); });
  auto* shape = builder.graph()
                    .mutable_input(0)
                    ->mutable_type()
                    ->mutable_tensor_type()
                    ->mutable_shape();
  for (int i = 0; i < 2; ++i) {
    shape->mutable_dim(i)->set_dim_value(1'000'000);
  }
  EXPECT_EQ(builder.Load().program.FindVar("y").dims, DDim{1'000'000});
}

TEST(OnnxLimits, DiagonalsAreThoseOfTheLastDimsAndOfOthers) {
  const auto diagonal = [](const char* equation,
                           std::initializer_list<int64_t> dims) {
    ModelBuilder builder;
    builder.Input("x", dims);
    SetString(builder.Node("Einsum", {"x"}, {"y"}), "equation", equation);
    builder.Output("y");
    std::vector<float> x(DDim(dims).numel());
    for (size_t i = 0; i < x.size(); ++i) {
      x[i] = static_cast<float>(i);
    }
    return builder.Run({x})[0];
  };
  using Floats = std::vector<float>;
  EXPECT_EQ(diagonal("ii->i", {3, 3}), (Floats{0, 4, 8}));
  EXPECT_EQ(diagonal("ii", {3, 3}), (Floats{12}));
  EXPECT_EQ(diagonal("iji->ji", {2, 3, 2}), (Floats{0, 7, 2, 9, 4, 11}));
  EXPECT_EQ(diagonal("iij->ij", {2, 2, 2}), (Floats{0, 1, 6, 7}));
  EXPECT_EQ(diagonal("iijj->ij", {2, 2, 2, 2}), (Floats{0, 3, 12, 15}));
  EXPECT_EQ(diagonal("iii->i", {2, 2, 2}), (Floats{0, 7}));
  EXPECT_EQ(diagonal("ii->i", {1, 1}), (Floats{0}));
  EXPECT_EQ(diagonal("bii->bi", {2, 0, 0}), (Floats{}));
  EXPECT_EQ(diagonal("bii->b", {2, 0, 0}), (Floats{0, 0}));
}

// They are computed when the model runs, if it does.
TEST(OnnxLimits, LargeConstantsAreNotComputedWhileImporting) {
  ModelBuilder fill;
  fill.Ints("shape", {kHuge});
  fill.Node("ConstantOfShape", {"shape"}, {"y"});
  fill.Output("y");
  EXPECT_EQ(OpTypes(fill.Load()), std::vector<std::string>{"expand"});

  ModelBuilder expand;
  expand.Floats("x", {1}, {1});
  expand.Ints("shape", {kHuge});
  expand.Node("Expand", {"x", "shape"}, {"y"});
  expand.Output("y");
  EXPECT_EQ(OpTypes(expand.Load()), std::vector<std::string>{"expand"});

  ModelBuilder range;
  for (const auto& [name, value] :
       {std::pair("start", int64_t{0}), {"end", kHuge}, {"step", int64_t{1}}}) {
    range.Ints(name, {value}).clear_dims();
  }
  range.Node("Range", {"start", "end", "step"}, {"y"});
  range.Output("y");
  EXPECT_EQ(OpTypes(range.Load()), std::vector<std::string>{"range"});

  ModelBuilder eye;
  eye.Input("x", {1 << 20, 1 << 20});
  eye.Node("EyeLike", {"x"}, {"y"});
  eye.Output("y");
  EXPECT_EQ(OpTypes(eye.Load()),
            (std::vector<std::string>{"expand", "trilu", "trilu"}));

  ModelBuilder reverse;
  reverse.Input("x", {kHuge, 1});
  reverse.Ints("length", {3});
  reverse.Node("ReverseSequence", {"x", "length"}, {"y"});
  reverse.Output("y");
  EXPECT_EQ(reverse.Load().program.FindVar("y").dims, (DDim{kHuge, 1}));
}

TEST(OnnxLimits, ConstantsThatTakeManyOperationsAreComputedLater) {
  ModelBuilder builder;
  builder.Input("x", {1});
  builder.Floats("a", {2, 2}, {1, 2, 3, 4});
  builder.Node("MatMul", {"a", "a"}, {"b"});
  builder.Node("Add", {"b", "x"}, {"y"});
  builder.Output("y");
  EXPECT_EQ(OpTypes(builder.Load()),
            std::vector<std::string>{"elementwise_add"});
  onnx::OnnxOptions options;
  options.limits.folded_operations = 10;
  options.limits.folded_operations_per_file_byte = 0;
  EXPECT_EQ(OpTypes(builder.Load(options)),
            (std::vector<std::string>{"matmul", "elementwise_add"}));
}

// Even if almost all work of an op is writing its output.
TEST(OnnxLimits, ElementsThatAreMadeOfNothingAreOperations) {
  struct Case {
    const char* type;
    std::vector<std::pair<std::string, std::vector<int64_t>>> inputs;
    const char* op;
  };
  const int64_t many = 1'000'000;
  for (const auto& [type, inputs, op] : std::vector<Case>{
           {"ConstantOfShape", {{"shape", {many}}}, "expand"},
           {"Expand", {{"one", {1}}, {"shape", {many}}}, "expand"},
           {"Tile", {{"one", {1}}, {"times", {many}}}, "tile"},
           {"OneHot",
            {{"at", {0}}, {"depth", {many}}, {"values", {0, 1}}},
            "one_hot"},
           {"Pad", {{"one", {1}}, {"pads", {0, many}}}, "pad"},
           {"Range", {{"start", {0}}, {"end", {many}}, {"step", {1}}}, "range"},
       }) {
    SCOPED_TRACE(type);
    ModelBuilder builder;
    NodeProto& node = builder.Node(type, {}, {"y"});
    for (const auto& [name, values] : inputs) {
      auto& tensor = builder.Ints(name, values);
      if (std::string_view(type) == "Range") tensor.clear_dims();
      node.add_input(name);
    }
    builder.Output("y");
    onnx::OnnxOptions options;
    EXPECT_EQ(OpTypes(builder.Load(options)), std::vector<std::string>());
    options.limits.folded_operations = onnx::kFoldOperations + many;
    options.limits.folded_operations_per_file_byte = 0;
    const auto types = OpTypes(builder.Load(options));
    EXPECT_EQ(std::count(types.begin(), types.end(), op), 1);
  }
}

TEST(OnnxLimits, PairsOfBoxesAreOperations) {
  ModelBuilder builder;
  builder.Ints("four", {1, 60'000, 4});
  builder.Ints("one", {1, 1, 60'000});
  builder.Ints("most", {60'000}).clear_dims();
  builder.Node("ConstantOfShape", {"four"}, {"boxes"});
  builder.Node("ConstantOfShape", {"one"}, {"scores"});
  builder.Node("NonMaxSuppression", {"boxes", "scores", "most"}, {"y"});
  builder.Output("y");
  EXPECT_EQ(OpTypes(builder.Load()),
            std::vector<std::string>{"non_max_suppression"});
}

TEST(OnnxLimits, MemoryIsWhatTheCallerAllows) {
  ModelBuilder builder = Small();
  onnx::OnnxOptions options;
  options.limits.memory_bytes = 100;
  options.limits.memory_bytes_per_file_byte = 0;
  ExpectTooMuchMemory(builder,
                      {"its ops would take", "100 are left of the 100",
                       "limits={\"memory_bytes\": ...} of sl.onnx.load",
                       "OnnxOptions::limits.memory_bytes in C++"},
                      options);
  options.limits.memory_bytes_per_file_byte = 1000;
  EXPECT_EQ(builder.Load(options).outputs.size(), 1u);
}

TEST(OnnxLimits, ExternalDataIsNotReadWithoutEnd) {
  const TempFolder folder;
  folder.Write("data", std::string(1 << 16, '\0'));
  ModelBuilder builder;
  builder.Input("x", {1});
  for (int i = 0; i < 100; ++i) {
    auto& tensor = builder.Floats("w" + std::to_string(i), {1 << 14}, {});
    tensor.clear_raw_data();
    tensor.set_data_location(::onnx::TensorProto::EXTERNAL);
    auto* location = tensor.add_external_data();
    location->set_key("location");
    location->set_value("data");
  }
  builder.Node("Relu", {"x"}, {"y"});
  builder.Output("y");
  onnx::OnnxOptions options;
  options.folder = std::filesystem::path(folder.File("data")).parent_path();
  EXPECT_EQ(builder.Load(options).outputs.size(), 1u);
  options.limits.memory_bytes = 10 << 16;
  options.limits.memory_bytes_per_file_byte = 0;
  ExpectTooMuchMemory(builder, {"external data that is read several times"},
                      options);
}

TEST(OnnxLimits, NumbersOfWindowsDoNotOverflow) {
  for (const char* attribute : {"strides", "dilations", "pads"}) {
    ModelBuilder builder;
    builder.Input("x", {1, 1, 5, 5});
    builder.Floats("w", {1, 1, 2, 2}, {1, 1, 1, 1});
    NodeProto& node = builder.Node("Conv", {"x", "w"}, {"y"});
    if (attribute[0] == 'p') {
      SetInts(node, attribute, {0, 0, INT64_MAX, 0});
    } else {
      SetInts(node, attribute, {INT64_MAX, 1});
      SetString(node, "auto_pad", "SAME_UPPER");
    }
    builder.Output("y");
    ExpectError(ErrorCode::kInvalidArgument, "onnx.window_number",
                {attribute, "9223372036854775807", "at most 1073741824"},
                [&] { builder.Load(); });
  }
}

// f0 has `depth` nested branches, f1 the same number around a call of f0, and
// so on.
ModelBuilder NestedFunctions(int functions, int depth) {
  ModelBuilder builder;
  builder.Input("x", {1});
  builder.Floats("zero", {}, {0});
  builder.Node("Greater", {"x", "zero"}, {"c"});
  for (int i = 0; i < functions; ++i) {
    FunctionProto& function = *builder.model.add_functions();
    function.set_domain("mine");
    function.set_name("f" + std::to_string(i));
    function.add_input("c");
    function.add_input("a");
    function.add_output("y");
    function.add_opset_import()->set_version(13);
    NodeProto* node = function.add_node();
    for (int level = 0; level < depth; ++level) {
      node->set_op_type("If");
      node->add_input("c");
      node->add_output(level == 0 ? "y" : "y" + std::to_string(level));
      GraphProto* graphs[2];
      int which = 0;
      for (const char* branch : {"else_branch", "then_branch"}) {
        AttributeProto& attribute = *node->add_attribute();
        attribute.set_name(branch);
        attribute.set_type(AttributeProto::GRAPH);
        graphs[which] = attribute.mutable_g();
        graphs[which]->add_output()->set_name(
            which == 0 ? "a" : "y" + std::to_string(level + 1));
        ++which;
      }
      node = graphs[1]->add_node();
    }
    node->add_output(depth == 0 ? "y" : "y" + std::to_string(depth));
    if (i == 0) {
      node->set_op_type("Neg");
      node->add_input("a");
    } else {
      node->set_op_type("f" + std::to_string(i - 1));
      node->set_domain("mine");
      node->add_input("c");
      node->add_input("a");
    }
  }
  NodeProto& call =
      builder.Node("f" + std::to_string(functions - 1), {"c", "x"}, {"y"});
  call.set_domain("mine");
  builder.Output("y");
  return builder;
}

// Runs `work` on a stack of 512 KiB.
void RunOnSmallStack(void (*work)()) {
  pthread_attr_t attributes;
  pthread_attr_init(&attributes);
  pthread_attr_setstacksize(&attributes, size_t{512} << 10);
  pthread_t thread{};
  ASSERT_EQ(pthread_create(
                &thread, &attributes,
                [](void* body) -> void* {
                  reinterpret_cast<void (*)()>(body)();
                  return nullptr;
                },
                reinterpret_cast<void*>(work)),
            0);
  pthread_join(thread, nullptr);
  pthread_attr_destroy(&attributes);
}

TEST(OnnxLimits, GraphsOfFunctionsAreCountedBeforeTheyAreInPlace) {
  if (!AddressSpaceCanBeLimited()) GTEST_SKIP() << "frames are larger";
  RunOnSmallStack([] {
    for (const int depth : {15, 26}) {
      ExpectError(ErrorCode::kInvalidArgument, "onnx.nesting",
                  {"graphs lie in one another; expected at most 16"},
                  [&] { NestedFunctions(64, depth).Load(); });
    }
  });
  EXPECT_EQ(NestedFunctions(5, 3).Load().outputs.size(), 1u);
}

// Empty messages take two bytes in a file and hundreds in memory.
TEST(OnnxLimits, FunctionsAreCountedByTheMemoryThatTheyTake) {
  ModelBuilder builder;
  builder.Input("x", {1});
  FunctionProto& function = *builder.model.add_functions();
  function.set_domain("mine");
  function.set_name("f");
  function.add_input("a");
  function.add_output("y");
  function.add_opset_import()->set_version(13);
  NodeProto& body = *function.add_node();
  body.set_op_type("Neg");
  body.add_input("a");
  body.add_output("y");
  AttributeProto& many = *body.add_attribute();
  for (int i = 0; i < 10'000; ++i) {
    many.add_tensors();
  }
  std::string last = "x";
  for (int i = 0; i < 10'000; ++i) {
    const std::string next = "y" + std::to_string(i);
    builder.Node("f", {last}, {next}).set_domain("mine");
    last = next;
  }
  builder.Output(last);
  const auto refused = [&] {
    ExpectTooMuchMemory(builder, {"functions, in the place of their calls"});
  };
  if (!AddressSpaceCanBeLimited()) return refused();
  const ResourceLimit limit(RLIMIT_AS, AddressSpace() + (rlim_t{1} << 31));
  refused();
}

}  // namespace
}  // namespace sluice::testing
