#include "tests/fuzz/try_model.h"

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <filesystem>
#include <fstream>
#include <set>
#include <string>
#include <vector>

#include "tests/fuzz/random_model.h"

#include "sluice/framework/op/op_schema.h"
#include "sluice/framework/op/registry.h"
#include "sluice/framework/run/executor.h"
#include "sluice/framework/values/text_table.h"
#include "sluice/onnx/load_onnx.h"
#include "sluice/onnx/save_onnx.h"
#include "sluice/platform/error.h"

namespace sluice::fuzz {

namespace {

constexpr int64_t kMostElements = 1 << 12;

// Returns whether all values are known to be small, so that a run is quick:
// only what ops make of strings has sizes that are known late.
bool IsSmall(const Program& program) {
  if (program.blocks().size() > 1) return false;
  std::set<std::string> late;
  for (const OpDesc& op : program.block().ops) {
    if (Registry::Global().Schema(op.type).family() != "text") continue;
    for (const auto& [argument, names] : op.outputs) {
      late.insert(names.begin(), names.end());
    }
  }
  const auto& vars = program.block().vars();
  return std::all_of(vars.begin(), vars.end(), [&](const auto& var) {
    if (!var.dims.known()) {
      return var.dims.rank_known() && late.contains(var.name);
    }
    int64_t left = kMostElements;
    for (const int64_t size : var.dims) {
      left /= std::max<int64_t>(size, 1);
    }
    return left > 0;
  });
}

Tensor ValueOf(const onnx::OnnxValue& input) {
  std::vector<int64_t> sizes;
  for (const onnx::OnnxDim& dim : input.shape) {
    sizes.push_back(dim.size);
  }
  Tensor value;
  value.Resize(DDim(sizes));
  auto* bytes =
      static_cast<unsigned char*>(value.mutable_data(input.dtype, CPUPlace()));
  for (size_t i = 0; i < value.bytes(); ++i) {
    bytes[i] = static_cast<unsigned char>(i % 2);
  }
  return value;
}

Tensor StringsOf(const DDim& dims, TextTable* table) {
  std::vector<int64_t> numbers(static_cast<size_t>(dims.numel()));
  for (size_t i = 0; i < numbers.size(); ++i) {
    constexpr const char* kLines[] = {"x X, \xC3\xA9\tNOT", "", "\xC3", "xxx"};
    numbers[i] = table->NumberOf(kLines[i % 4]);
  }
  return Tensor::FromVector<int64_t>(dims, numbers);
}

void Run(const onnx::OnnxModel& model) {
  Executor executor;
  model.PutParameters(executor.scope());
  Feeds feeds;
  const auto table = TextTable::Make();
  for (const std::string& text : model.texts) {
    table->NumberOf(text);
  }
  for (const onnx::OnnxValue& input : model.inputs) {
    if (!model.program.FindVar(input.name).dims.known()) return;
    Tensor value = ValueOf(input);
    if (input.of_texts) value = StringsOf(value.dims(), table.get());
    feeds.emplace_back(input.name, value);
  }
  if (!model.texts_input.empty()) {
    feeds.emplace_back(model.texts_input,
                       Tensor::FromVector<int64_t>({}, {table->handle()}));
  }
  Fetches fetches;
  for (const onnx::OnnxValue& output : model.outputs) {
    fetches.push_back(output.name);
  }
  executor.Run(model.program, feeds, fetches);
}

[[noreturn]] void Fault(const char* what) {
  std::fprintf(stderr, "fault: %s\n", what);
  std::abort();
}

// Saves the imported model and imports it again. Several copies of large
// parameters would not fit into memory.
void SaveAndLoad(const onnx::OnnxModel& model) {
  size_t bytes = 0;
  for (const auto& [name, value] : model.parameters) {
    bytes += value.bytes();
  }
  if (bytes > size_t{1} << 26) return;
  Scope scope;
  model.PutParameters(scope);
  onnx::OnnxSaveOptions options;
  for (const onnx::OnnxValue& output : model.outputs) {
    options.outputs.push_back(output.name);
  }
  onnx::ParseOnnx(onnx::SerializeOnnx(model.program, scope, options));
}

// A folder with a file of 4 KiB.
std::string FolderOfData() {
  const std::string folder = "fuzz_data";
  std::filesystem::create_directories(folder);
  std::ofstream file(folder + "/" + kDataFile, std::ios::binary);
  for (int i = 0; i < 4096; ++i) {
    file.put(static_cast<char>(i % 3));
  }
  return folder;
}

// What a caller says of inputs that are no tensors: sequences have two tensors,
// and every other optional value is absent.
onnx::OnnxOptions OptionsFor(std::string_view bytes) {
  static const std::string folder = FolderOfData();
  onnx::OnnxOptions options = {.folder = folder};
  ::onnx::ModelProto model;
  model.ParseFromArray(bytes.data(), static_cast<int>(bytes.size()));
  bool absent = false;
  for (const auto& input : model.graph().input()) {
    const auto& type = input.type();
    if (type.has_optional_type()) {
      absent = !absent;
      if (absent) options.absent_inputs.insert(input.name());
    }
    if (type.has_sequence_type() ||
        (!absent && type.optional_type().elem_type().has_sequence_type())) {
      options.sequence_lengths[input.name()] = 2;
    }
  }
  return options;
}

}  // namespace

void TryModel(std::string_view bytes) {
  try {
    static const std::string folder = FolderOfData();
    onnx::OnnxOptions options = OptionsFor(bytes);
    options.folder = folder;
    const onnx::OnnxModel model = onnx::ParseOnnx(bytes, options);
    if (IsSmall(model.program)) Run(model);
    SaveAndLoad(model);
  } catch (const Error& error) {
    const bool memory = error.check_id().starts_with("memory.");
    if (memory || error.code() == ErrorCode::kInternal) {
      Fault(error.what());
    }
  } catch (const std::exception& error) {
    Fault(error.what());
  }
}

}  // namespace sluice::fuzz
