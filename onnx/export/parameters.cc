#include "sluice/onnx/export/parameters.h"

#include <algorithm>
#include <array>

#include "sluice/framework/values/scope_lock.h"
#include "sluice/onnx/export/graph_writer.h"
#include "sluice/onnx/import/packed_values.h"
#include "sluice/onnx/import/tensor_values.h"
#include "sluice/onnx/onnx.pb.h"

namespace sluice::onnx {

namespace {

// Smaller tensors stay in the model.
constexpr size_t kLarge = 1024;
// Each tensor begins on a page, for readers that map the file.
constexpr size_t kPage = 4096;
constexpr std::array<char, kPage> kZeros = {};

void SetExternal(const std::string& file,
                 size_t offset,
                 size_t bytes,
                 TensorProto* to) {
  to->set_data_location(TensorProto::EXTERNAL);
  const auto add = [to](const char* key, const std::string& value) {
    auto* entry = to->add_external_data();
    entry->set_key(key);
    entry->set_value(value);
  };
  add("location", file);
  add("offset", Format("{}", offset));
  add("length", Format("{}", bytes));
}

}  // namespace

Parameters ParametersOf(const Program& program, const Scope& scope) {
  Parameters parameters;
  std::string missing;
  {
    const ScopeLock lock(&scope, ScopeAccess::kRead);
    for (const VarDesc& var : program.block().vars()) {
      if (!var.persistable) continue;
      const Variable* variable = scope.FindVar(var.name);
      const Tensor* value =
          variable == nullptr ? nullptr : variable->Get<Tensor>();
      if (value == nullptr || !value->allocated()) {
        missing += (missing.empty() ? "" : ", ") + var.name;
        continue;
      }
      SLUICE_ENFORCE(
          value->dtype() == var.dtype && value->dims() == var.dims,
          ErrorCode::kInvalidArgument, "onnx.save_parameter",
          "variable {} is {} {} in the program, but {} {} in the scope",
          var.name, var.dtype, var.dims, value->dtype(), value->dims());
      parameters.emplace_back(var.name, *value);
    }
  }
  SLUICE_ENFORCE(missing.empty(), ErrorCode::kFailedPrecondition,
                 "onnx.save_no_value",
                 "the scope has no value to save for {}: run the start-up "
                 "program first, or give the scope that has them",
                 missing);
  for (auto& [name, value] : parameters) {
    if (value.place() != PlaceKey(CPUPlace())) {
      value = value.CopyTo(CPUPlace());
    }
  }
  return parameters;
}

uint64_t BytesOf(const Parameters& parameters) {
  uint64_t bytes = 0;
  for (const auto& [name, value] : parameters) {
    bytes += value.bytes();
  }
  return bytes;
}

std::vector<std::string_view> AddParameters(const Parameters& parameters,
                                            const std::string& file,
                                            GraphProto* graph) {
  std::vector<std::string_view> content;
  size_t size = 0;
  for (const auto& [name, value] : parameters) {
    auto* tensor = graph->add_initializer();
    tensor->set_name(name);
    tensor->set_data_type(OnnxDataType(value.dtype()));
    tensor->mutable_dims()->Assign(value.dims().begin(), value.dims().end());
    if (IsPacked(value.dtype())) {
      tensor->set_raw_data(PackedBytes(value));
      continue;
    }
    const std::string_view bytes(static_cast<const char*>(value.raw_data()),
                                 value.bytes());
    if (file.empty() || bytes.size() < kLarge) {
      tensor->set_raw_data(bytes.data(), bytes.size());
      continue;
    }
    const size_t padding = (kPage - size % kPage) % kPage;
    content.emplace_back(kZeros.data(), padding);
    content.push_back(bytes);
    SetExternal(file, size + padding, bytes.size(), tensor);
    size += padding + bytes.size();
  }
  return content;
}

}  // namespace sluice::onnx
