#include "sluice/onnx/export/value_types.h"

#include <algorithm>

#include "sluice/framework/op/near_names.h"
#include "sluice/onnx/export/graph_writer.h"
#include "sluice/onnx/import/tensor_values.h"
#include "sluice/onnx/onnx.pb.h"

namespace sluice::onnx {

namespace {

::onnx::TensorShapeProto* ShapeOf(::onnx::ValueInfoProto& value) {
  return value.mutable_type()->mutable_tensor_type()->mutable_shape();
}

bool HasShape(const ::onnx::ValueInfoProto& value) {
  return value.type().tensor_type().has_shape();
}

bool IsOpen(const ::onnx::ValueInfoProto& value, int dim) {
  const auto& shape = value.type().tensor_type().shape();
  return dim < shape.dim_size() && !shape.dim(dim).has_dim_value();
}

}  // namespace

void SetType(const VarDesc& var,
             const std::string& name,
             ::onnx::ValueInfoProto* to) {
  to->set_name(name);
  auto* type = to->mutable_type()->mutable_tensor_type();
  type->set_elem_type(OnnxDataType(var.dtype));
  if (!var.dims.rank_known()) return;
  auto* shape = type->mutable_shape();
  for (const int64_t size : var.dims) {
    auto* dim = shape->add_dim();
    if (size >= 0) dim->set_dim_value(size);
  }
}

void NameSizes(const std::map<std::string, std::vector<std::string>>& given,
               GraphProto* graph) {
  auto& inputs = *graph->mutable_input();
  for (const auto& entry : given) {
    const auto input =
        std::find_if(inputs.begin(), inputs.end(), [&](const auto& value) {
          return value.name() == entry.first && HasShape(value);
        });
    const int dims = input == inputs.end()
                         ? -1
                         : input->type().tensor_type().shape().dim_size();
    if (dims < 0) {
      std::vector<std::string> known;
      for (const auto& value : inputs) {
        if (HasShape(value)) known.push_back(value.name());
      }
      Raise(ErrorCode::kInvalidArgument, "onnx.save_size_names",
            "names are given for the sizes of {}, which is no input "
            "of the model{}",
            Shown(entry.first), SuggestNames(entry.first, known));
    }
    SLUICE_ENFORCE(static_cast<int>(entry.second.size()) == dims,
                   ErrorCode::kInvalidArgument, "onnx.save_size_count",
                   "{} has {} dims, and {} names are given for their sizes; "
                   "expected one for each",
                   Shown(entry.first), dims, entry.second.size());
  }
  const auto open =
      std::count_if(inputs.begin(), inputs.end(),
                    [](const auto& value) { return IsOpen(value, 0); });
  for (auto& input : inputs) {
    if (!HasShape(input)) continue;
    const auto names = given.find(input.name());
    for (int i = 0; i < ShapeOf(input)->dim_size(); ++i) {
      if (!IsOpen(input, i)) continue;
      std::string name =
          i == 0 && open == 1 ? "batch" : Format("{}_{}", input.name(), i);
      const auto at = static_cast<size_t>(i);
      if (names != given.end() && at < names->second.size() &&
          !names->second[at].empty()) {
        name = names->second[at];
      }
      ShapeOf(input)->mutable_dim(i)->set_dim_param(name);
    }
  }
}

}  // namespace sluice::onnx
