#include "sluice/onnx/save_onnx.h"

#include <algorithm>
#include <filesystem>
#include <new>
#include <set>

#include "sluice/framework/files/file.h"
#include "sluice/framework/program/prune.h"
#include "sluice/onnx/export/graph_writer.h"
#include "sluice/onnx/export/op_export.h"
#include "sluice/onnx/import/model_file.h"
#include "sluice/onnx/onnx.pb.h"
#include "sluice/platform/diagnostics/version.h"

namespace sluice::onnx {

namespace {

// The IR version that onnx.helper uses for these opsets.
int64_t IrVersionOf(int64_t opset) {
  if (opset <= 22) return 10;
  if (opset <= 24) return opset - 12;
  return opset <= 27 ? 13 : 14;
}

void CheckOnce(const Names& names, const char* what) {
  std::set<std::string_view> seen;
  for (const std::string& name : names) {
    SLUICE_ENFORCE(seen.insert(name).second, ErrorCode::kInvalidArgument,
                   "onnx.save_twice",
                   "variable {} is in the list of {} twice; each has a name of "
                   "its own in a model",
                   Shown(name), what);
  }
}

// Outputs of forward ops that no forward op reads.
Names DefaultOutputs(const Program& program) {
  std::set<std::string_view> read;
  const auto is_forward = [](const OpDesc& op) {
    return op.purpose == OpPurpose::kForward;
  };
  for (const OpDesc& op : program.block().ops) {
    if (!is_forward(op)) continue;
    for (const auto& [argument, vars] : op.inputs) {
      read.insert(vars.begin(), vars.end());
    }
  }
  Names outputs;
  for (const OpDesc& op : program.block().ops) {
    if (!is_forward(op)) continue;
    Names unread;
    bool is_last = true;
    for (const auto& [argument, vars] : op.outputs) {
      for (const std::string& var : vars) {
        is_last = is_last && !read.contains(var);
        if (!program.FindVar(var).persistable) unread.push_back(var);
      }
    }
    if (is_last) outputs.insert(outputs.end(), unread.begin(), unread.end());
  }
  // Keeps the last of several ops that write one variable.
  std::set<std::string> seen;
  std::erase_if(outputs,
                [&](const auto& name) { return !seen.insert(name).second; });
  return outputs;
}

Names InputsOf(const Program& whole,
               const Program& pruned,
               const Names& given) {
  Names needed;
  for (const VarDesc& var : pruned.block().vars()) {
    if (var.is_data) needed.push_back(var.name);
  }
  if (given.empty()) return needed;
  for (const std::string& name : given) {
    SLUICE_ENFORCE(
        whole.FindVar(name).is_data, ErrorCode::kInvalidArgument,
        "onnx.save_input",
        "variable {} cannot be an input of the model: it is {}, "
        "expected one that is fed (sl.data)",
        Shown(name),
        whole.FindVar(name).persistable ? "a parameter" : "made by an op");
  }
  for (const std::string& name : needed) {
    SLUICE_ENFORCE(
        std::find(given.begin(), given.end(), name) != given.end(),
        ErrorCode::kInvalidArgument, "onnx.save_input_missing",
        "the outputs are computed from {}, which is not in the list of inputs",
        Shown(name));
  }
  return given;
}

void AddProperty(const std::string& key,
                 const std::string& value,
                 ::onnx::ModelProto* model) {
  auto* property = model->add_metadata_props();
  property->set_key(key);
  property->set_value(value);
}

void DescribeModel(const OnnxSaveOptions& options, ::onnx::ModelProto* model) {
  model->set_ir_version(IrVersionOf(options.opset));
  auto* opset = model->add_opset_import();
  opset->set_domain("");
  opset->set_version(options.opset);
  model->set_producer_name("sluice");
  model->set_producer_version(std::string(SluiceVersion()));
  model->set_doc_string(options.description);
  model->mutable_graph()->set_name(options.name);
  for (const auto& [key, value] : options.properties) {
    AddProperty(key, value, model);
  }
  if (options.plan == nullptr) return;
  for (const auto& [key, value] : NotesOfPlan(*options.plan)) {
    AddProperty(key, value, model);
  }
}

void CheckOptions(const OnnxSaveOptions& options) {
  SLUICE_ENFORCE(
      options.opset >= kDefaultSavedOpset && options.opset <= kNewestSavedOpset,
      ErrorCode::kUnimplemented, "onnx.save_opset",
      "opset {} cannot be written; expected {} to {}", options.opset,
      kDefaultSavedOpset, kNewestSavedOpset);
  CheckOnce(options.inputs, "inputs");
  CheckOnce(options.outputs, "outputs");
}

// Writes everything but the parameters. Returns the pruned program.
Program WriteGraph(const Program& program,
                   const OnnxSaveOptions& options,
                   ::onnx::ModelProto* model) {
  CheckOptions(options);
  const Names outputs =
      options.outputs.empty() ? DefaultOutputs(program) : options.outputs;
  SLUICE_ENFORCE(!outputs.empty(), ErrorCode::kInvalidArgument,
                 "onnx.save_nothing",
                 "the program makes nothing that a model could give: it has {} "
                 "ops",
                 program.block().ops.size());
  Program pruned = Prune(program, outputs);
  const Names inputs = InputsOf(program, pruned, options.inputs);
  auto* graph = model->mutable_graph();
  DescribeModel(options, model);
  OpsWriter ops(program, options);
  GraphWriter writer(
      pruned, outputs, options.opset,
      [&ops](GraphWriter* of_block) { ops.Write(of_block); }, graph);
  writer.Write();
  ops.RaiseRefused();
  for (const std::string& name : inputs) {
    writer.AddInput(program.FindVar(name), name);
  }
  NameSizes(options.size_names, graph);
  for (const std::string& name : outputs) {
    writer.AddOutput(pruned.FindVar(name), name);
  }
  writer.AddValueInfo();
  return pruned;
}

namespace fs = std::filesystem;

// Returns whether a file is external data of the model, or an unfinished file
// of a killed saver: net.onnx.data, net.onnx.1.data, net.onnx.1.data.saving,
// ...
bool IsDataFile(std::string_view file, std::string_view model) {
  constexpr std::string_view kData = ".data";
  if (!file.starts_with(model)) return false;
  file.remove_prefix(model.size());
  if (file.ends_with(".saving")) file.remove_suffix(7);
  if (!file.ends_with(kData)) return false;
  file.remove_suffix(kData.size());
  return file.empty() || (file.size() > 1 && file[0] == '.' &&
                          file.find_first_not_of("0123456789", 1) == file.npos);
}

std::vector<fs::path> DataFilesOf(const fs::path& path) {
  std::vector<fs::path> files;
  const std::string name = path.filename().string();
  const fs::path folder = path.has_parent_path() ? path.parent_path() : ".";
  std::error_code error;
  fs::directory_iterator file(folder, error);
  for (; !error && file != fs::directory_iterator(); file.increment(error)) {
    if (IsDataFile(file->path().filename().string(), name)) {
      files.push_back(file->path());
    }
  }
  return files;
}

// Returns a file name for the data of a new model beside the old one's.
std::string UnusedDataFile(const std::string& path) {
  std::string file = path + ".data";
  std::error_code ignored;
  for (int i = 1; fs::exists(fs::symlink_status(file, ignored)); ++i) {
    file = Format("{}.{}.data", path, i);
  }
  return file;
}

// Deletes the data files of earlier models at `path`, and unfinished files of
// killed savers. `saved` is the new model, whose data is in `data`.
void DeleteOldData(const FileReplacement& saved,
                   const std::string& path,
                   const std::string& data) try {
  std::vector<fs::path> files = DataFilesOf(path);
  std::erase_if(files, [&](const fs::path& file) {
    return file.filename() == fs::path(data).filename();
  });
  if (files.empty() || !saved.IsInPlace()) return;
  // The lock keeps other savers of this model from using one of the names. If
  // another saver has it, that one deletes the files later.
  const FileReplacement turn(path, /*patience_seconds=*/0);
  if (!saved.IsInPlace()) return;
  std::error_code ignored;
  for (const fs::path& file : files) {
    fs::remove(file, ignored);
  }
} catch (const Error&) {
  // The model is saved. The next saver deletes the files.
}

std::string BytesOf(const ::onnx::ModelProto& model, const std::string& what) {
  CheckFileSize(model.ByteSizeLong(), what);
  return model.SerializeAsString();
}

}  // namespace

void SaveOnnx(const Program& program,
              const Scope& scope,
              const std::string& path,
              const OnnxSaveOptions& options) try {
  // Limit of parameters in the model: protobuf's 2 GiB, 64 MiB for the rest.
  constexpr uint64_t kMostBytes = (uint64_t{1} << 31) - (uint64_t{1} << 26);
  ::onnx::ModelProto model;
  const Parameters parameters =
      ParametersOf(WriteGraph(program, options, &model), scope);
  const bool external =
      options.external_data || BytesOf(parameters) > kMostBytes;
  // Other savers of this model wait from here on.
  FileReplacement file(path);
  std::string data = external ? UnusedDataFile(path) : "";
  const auto content = AddParameters(
      parameters, fs::path(data).filename().string(), model.mutable_graph());
  const std::string bytes = BytesOf(model, path);
  if (content.empty()) data.clear();
  if (!data.empty()) ReplaceFile(data, content);
  try {
    file.Write({bytes});
  } catch (...) {
    std::error_code ignored;
    if (!data.empty()) fs::remove(data, ignored);
    throw;
  }
  DeleteOldData(file, path, data);
} catch (const std::bad_alloc&) {
  RaiseOutOfMemory();
}

std::string SerializeOnnx(const Program& program,
                          const Scope& scope,
                          const OnnxSaveOptions& options) try {
  ::onnx::ModelProto model;
  const Parameters parameters =
      ParametersOf(WriteGraph(program, options, &model), scope);
  const std::string what = "the model, as bytes,";
  CheckFileSize(BytesOf(parameters), what);
  AddParameters(parameters, "", model.mutable_graph());
  return BytesOf(model, what);
} catch (const std::bad_alloc&) {
  RaiseOutOfMemory();
}

}  // namespace sluice::onnx
