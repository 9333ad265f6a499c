#include "sluice/onnx/load_onnx.h"

#include <filesystem>
#include <memory>
#include <mutex>
#include <new>

#include "sluice/framework/files/file.h"
#include "sluice/framework/values/scope_lock.h"
#include "sluice/onnx/import/functions.h"
#include "sluice/onnx/import/graph_check.h"
#include "sluice/onnx/import/graph_values.h"
#include "sluice/onnx/import/import_nodes.h"
#include "sluice/onnx/import/model_file.h"
#include "sluice/onnx/import/subgraphs.h"
#include "sluice/onnx/import/value_map.h"
#include "sluice/onnx/onnx.pb.h"

namespace sluice::onnx {

namespace {

OnnxMetadata MetadataOf(const ::onnx::ModelProto& model) {
  OnnxMetadata metadata;
  metadata.ir_version = model.ir_version();
  metadata.model_version = model.model_version();
  metadata.producer_name = model.producer_name();
  metadata.producer_version = model.producer_version();
  metadata.domain = model.domain();
  metadata.description = model.doc_string();
  metadata.graph_name = model.graph().name();
  metadata.graph_description = model.graph().doc_string();
  for (const auto& opset : model.opset_import()) {
    metadata.opsets.emplace_back(opset.domain(), opset.version());
  }
  for (const auto& property : model.metadata_props()) {
    metadata.properties.emplace_back(property.key(), property.value());
  }
  return metadata;
}

OnnxModel Import(std::string_view bytes,
                 const std::string& name,
                 const std::string& folder,
                 const OnnxLimits& limits) {
  ::onnx::ModelProto model;
  ParseModel(bytes, name, &model);
  MakeSparseInitialisersNodes(&model);
  CheckNames(model.graph());
  ImportCost cost(limits, bytes.size());
  InlineFunctions(&model, &cost);
  if (model.functions_size() > 0) CheckNames(model.graph());
  MakeNamesUnique(model.mutable_graph());
  ValueMap values(model.graph(), &cost);
  OnnxModel result;
  result.metadata = MetadataOf(model);
  AddInitialisers(folder, model.mutable_graph(), &values);
  result.inputs = AddInputs(model.graph(), name, &values);
  ImportNodes(model, name, &values);
  result.outputs = FindOutputs(model.graph(), &values);
  result.program = values.TakeProgram();
  result.parameters = values.TakeParameters();
  return result;
}

OnnxModel ImportNamed(std::string_view bytes,
                      const std::string& name,
                      const std::string& folder,
                      const OnnxLimits& limits) try {
  return Import(bytes, name, folder, limits);
} catch (Error& error) {
  if (std::string_view(error.what()).find(name) == std::string_view::npos) {
    error.AddContext(Format("in {}", name));
  }
  throw;
} catch (const std::bad_alloc&) {
  RaiseOutOfMemory();
}

}  // namespace

void OnnxModel::PutParameters(Scope& scope) const try {
  std::vector<Tensor*> to;
  const ScopeLock lock(&scope, ScopeAccess::kWrite);
  to.reserve(parameters.size());
  for (const auto& [name, value] : parameters) {
    to.push_back(scope.Var(name).GetMutable<Tensor>());
  }
  for (size_t i = 0; i < to.size(); ++i) {
    *to[i] = parameters[i].second;
  }
} catch (const std::bad_alloc&) {
  RaiseOutOfMemory();
}

OnnxModel LoadOnnx(const std::string& path, const OnnxOptions& options) {
  const std::filesystem::path file = path;
  const std::string folder =
      file.has_parent_path() ? file.parent_path().string() : ".";
  InputFile input(path);
  const std::string name =
      options.name.empty() ? file.filename().string() : options.name;
  CheckFileSize(input.size(), name);  // before reading the file
  const std::string bytes = input.ReadAll();
  return ImportNamed(bytes, name,
                     options.folder.empty() ? folder : options.folder,
                     options.limits);
}

OnnxModel ParseOnnx(std::string_view bytes, const OnnxOptions& options) {
  return ImportNamed(bytes,
                     options.name.empty() ? "the ONNX model" : options.name,
                     options.folder, options.limits);
}

}  // namespace sluice::onnx
