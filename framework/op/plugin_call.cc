#include "sluice/framework/op/plugin_call.h"

#include "sluice/framework/op/op_schema.h"

namespace sluice {
namespace {

const Attribute* Find(const AttributeMap& attributes, const char* name) {
  const auto found = attributes.find(name);
  return found == attributes.end() ? nullptr : &found->second;
}

// Returns the attribute as T, or null with the reason in `status`.
template <typename T>
const T* FindAs(const AttributeMap& attributes,
                const char* name,
                SluiceStatus* status) {
  const Attribute* attribute = Find(attributes, name);
  const T* value = attribute == nullptr ? nullptr : std::get_if<T>(attribute);
  *status = attribute == nullptr ? SLUICE_NOT_FOUND
            : value == nullptr   ? SLUICE_INVALID_ARGUMENT
                                 : SLUICE_OK;
  return value;
}

template <typename T>
SluiceStatus GetList(const AttributeMap& attributes,
                     const char* name,
                     const T** values,
                     size_t* size) {
  SluiceStatus status = SLUICE_OK;
  if (const auto* list = FindAs<std::vector<T>>(attributes, name, &status)) {
    *values = list->data();
    *size = list->size();
  }
  return status;
}

std::vector<SluiceTensorView> MakeViews(const std::vector<DDim>& dims,
                                        std::span<const DType> dtypes) {
  std::vector<SluiceTensorView> views;
  for (size_t i = 0; i < dims.size(); ++i) {
    SluiceTensorView view{};
    view.struct_size = sizeof(view);
    view.dims = dims[i].begin();
    view.rank = dims[i].rank();
    view.dtype = static_cast<int32_t>(dtypes[i]);
    if (dims[i].known()) {
      view.bytes = static_cast<size_t>(dims[i].numel()) * SizeOf(dtypes[i]);
    }
    views.push_back(view);
  }
  return views;
}

// Names the views and returns their indices in the order of the schema.
template <typename GetVars>
std::vector<int> NameViews(const std::vector<ArgDef>& defs,
                           GetVars get_vars,
                           std::vector<SluiceTensorView>* views) {
  std::vector<int> order;
  int next = 0;
  for (const ArgDef& def : defs) {
    const size_t count = get_vars(def.name).size();
    if (count == 0 && !def.traits.variadic) order.push_back(-1);
    for (size_t i = 0; i < count; ++i) {
      (*views)[next].name = def.name.c_str();
      (*views)[next].on_host = def.traits.host ? 1 : 0;
      order.push_back(next++);
    }
  }
  return order;
}

std::vector<const SluiceTensorView*> Show(
    const std::vector<SluiceTensorView>& views, const std::vector<int>& order) {
  std::vector<const SluiceTensorView*> shown;
  shown.reserve(order.size());
  for (const int index : order) {
    shown.push_back(index < 0 ? nullptr : &views[index]);
  }
  return shown;
}

}  // namespace

SluiceStatus PluginAttributes::Bool(const char* name, int32_t* value) const {
  SluiceStatus status = SLUICE_OK;
  const bool* found = FindAs<bool>(attributes_, name, &status);
  if (found != nullptr) *value = *found ? 1 : 0;
  return status;
}

SluiceStatus PluginAttributes::Int(const char* name, int64_t* value) const {
  SluiceStatus status = SLUICE_OK;
  const DType* dtype = FindAs<DType>(attributes_, name, &status);
  if (dtype != nullptr) *value = static_cast<int64_t>(*dtype);
  if (status != SLUICE_INVALID_ARGUMENT) return status;
  const int64_t* found = FindAs<int64_t>(attributes_, name, &status);
  if (found != nullptr) *value = *found;
  return status;
}

SluiceStatus PluginAttributes::Float(const char* name, double* value) const {
  SluiceStatus status = SLUICE_OK;
  const int64_t* integer = FindAs<int64_t>(attributes_, name, &status);
  if (integer != nullptr) *value = static_cast<double>(*integer);
  if (status != SLUICE_INVALID_ARGUMENT) return status;
  const double* found = FindAs<double>(attributes_, name, &status);
  if (found != nullptr) *value = *found;
  return status;
}

SluiceStatus PluginAttributes::String(const char* name,
                                      const char** value,
                                      size_t* size) const {
  SluiceStatus status = SLUICE_OK;
  if (const auto* found = FindAs<std::string>(attributes_, name, &status)) {
    *value = found->c_str();
    *size = found->size();
  }
  return status;
}

SluiceStatus PluginAttributes::Ints(const char* name,
                                    const int64_t** values,
                                    size_t* size) const {
  return GetList(attributes_, name, values, size);
}

SluiceStatus PluginAttributes::Floats(const char* name,
                                      const double** values,
                                      size_t* size) const {
  return GetList(attributes_, name, values, size);
}

SluiceStatus PluginAttributes::StringAt(const char* name,
                                        size_t index,
                                        const char** value,
                                        size_t* size) const {
  SluiceStatus status = SLUICE_OK;
  const auto* list =
      FindAs<std::vector<std::string>>(attributes_, name, &status);
  if (list == nullptr) return status;
  if (index >= list->size()) return SLUICE_OUT_OF_RANGE;
  *value = (*list)[index].c_str();
  *size = (*list)[index].size();
  return SLUICE_OK;
}

PluginArguments::PluginArguments(const KernelQuery& query)
    : input_dims_(query.inputs.begin(), query.inputs.end()),
      output_dims_(query.outputs.begin(), query.outputs.end()),
      inputs_(MakeViews(input_dims_, query.input_dtypes)),
      outputs_(MakeViews(output_dims_, query.output_dtypes)),
      input_order_(NameViews(
          query.schema.inputs(),
          [&](const std::string& name) { return query.op.Input(name); },
          &inputs_)),
      output_order_(NameViews(
          query.schema.outputs(),
          [&](const std::string& name) { return query.op.Output(name); },
          &outputs_)) {}

PluginCall::PluginCall(const PluginArguments& arguments,
                       const SluiceAttributes& given)
    : inputs_(arguments.inputs_),
      outputs_(arguments.outputs_),
      shown_inputs_(Show(inputs_, arguments.input_order_)),
      shown_outputs_(Show(outputs_, arguments.output_order_)) {
  raw_.struct_size = sizeof(raw_);
  raw_.op_index = -1;
  raw_.input_count = shown_inputs_.size();
  raw_.inputs = shown_inputs_.data();
  raw_.output_count = shown_outputs_.size();
  raw_.outputs = shown_outputs_.data();
  raw_.attributes = &given;
}

}  // namespace sluice
