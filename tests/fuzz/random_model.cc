#include "tests/fuzz/random_model.h"

#include <algorithm>
#include <array>
#include <iterator>
#include <sstream>
#include <string_view>
#include <utility>
#include <vector>

namespace sluice::fuzz {

using ::onnx::AttributeProto;
using ::onnx::GraphProto;
using ::onnx::ModelProto;
using ::onnx::NodeProto;
using ::onnx::TensorProto;

namespace {

struct OperatorRow {
  const char* type;
  const char* domain;
  int min_inputs, max_inputs, min_outputs, max_outputs;
  const char* attributes;  // "axis:i pads:I", see write_operators.py
};

constexpr OperatorRow kOperators[] = {
#include "tests/fuzz/onnx_operators.inc"
};

constexpr int64_t kSizes[] = {1, 2, 3, 4, 5, 2, 3, 1, 0, 7};
constexpr int64_t kNumbers[] = {0,  1, 2, 3, -1, -2, 4, 5, 1,  0,  1,
                                10, 2, 1, 0, 6,  7,  8, 9, 16, 100};
constexpr int64_t kExtremes[] = {
    1 << 16,          1 << 20,          int64_t{1} << 31,
    int64_t{1} << 32, int64_t{1} << 40, int64_t{1} << 62,
    INT64_MAX,        INT64_MIN,        -(int64_t{1} << 31)};
constexpr const char* kTexts[] = {"NOTSET",
                                  "SAME_UPPER",
                                  "SAME_LOWER",
                                  "VALID",
                                  "linear",
                                  "nearest",
                                  "cubic",
                                  "bilinear",
                                  "constant",
                                  "reflect",
                                  "edge",
                                  "wrap",
                                  "zeros",
                                  "border",
                                  "mean",
                                  "sum",
                                  "none",
                                  "max",
                                  "min",
                                  "mul",
                                  "add",
                                  "LEFT",
                                  "RIGHT",
                                  "DCR",
                                  "CRD",
                                  "forward",
                                  "reverse",
                                  "bidirectional",
                                  "Tanh",
                                  "Sigmoid",
                                  "Relu",
                                  "half_pixel",
                                  "asymmetric",
                                  "align_corners",
                                  "floor",
                                  "ceil",
                                  "stretch",
                                  "not_larger",
                                  "not_smaller",
                                  "round_prefer_floor",
                                  "tanh",
                                  "silu",
                                  "gated",
                                  "delta",
                                  "v0",
                                  "v1",
                                  "ij,jk->ik",
                                  "ii->i",
                                  "...ii->...i",
                                  "i,i",
                                  "bij,bjk",
                                  "...i,...j->...",
                                  "a,b,c",
                                  "ijk->kji",
                                  "",
                                  "x",
                                  "LOWER",
                                  "UPPER",
                                  "TF",
                                  "TFIDF",
                                  ".",
                                  "[a-z]+",
                                  "(x|NOT){1,9}",
                                  "(x",
                                  "\xC3\xA9x X",
                                  "\xC3"};

int64_t Number(Choices* choices) {
  return choices->Once(12) ? choices->Of(kExtremes) : choices->Of(kNumbers);
}

int32_t DataType(Choices* choices) {
  static constexpr std::array kUsual = {
      TensorProto::FLOAT, TensorProto::FLOAT,  TensorProto::FLOAT,
      TensorProto::INT64, TensorProto::BOOL,   TensorProto::INT32,
      TensorProto::UINT8, TensorProto::DOUBLE, TensorProto::FLOAT16};
  if (choices->Once(8)) return static_cast<int32_t>(choices->Next(30));
  return choices->Of(kUsual);
}

using Sizes = std::vector<int64_t>;

Sizes RandomSizes(Choices* choices) {
  Sizes sizes(choices->Next(6));
  for (int64_t& size : sizes) {
    size = choices->Of(kSizes);
  }
  return sizes;
}

// Refers to a random range of kDataFile.
void AddExternalData(Choices* choices, TensorProto* tensor) {
  tensor->set_data_location(TensorProto::EXTERNAL);
  const auto add = [tensor](const char* key, const std::string& value) {
    auto* entry = tensor->add_external_data();
    entry->set_key(key);
    entry->set_value(value);
  };
  add("location", choices->Once(8) ? choices->Of(kTexts) : kDataFile);
  if (choices->Once(2)) add("offset", std::to_string(Number(choices)));
  if (choices->Once(4)) add("length", std::to_string(Number(choices)));
}

// The elements usually match the shape.
void FillTensor(Choices* choices,
                const Sizes& sizes,
                int32_t type,
                TensorProto* tensor) {
  tensor->set_data_type(type);
  int64_t count = 1;
  for (const int64_t size : sizes) {
    tensor->add_dims(size);
    count *= size;
  }
  if (choices->Once(40)) ++count;
  if (choices->Once(24)) return AddExternalData(choices, tensor);
  for (int64_t i = 0; i < count; ++i) {
    switch (type) {
      case TensorProto::FLOAT:
        tensor->add_float_data(static_cast<float>(Number(choices)));
        break;
      case TensorProto::DOUBLE:
        tensor->add_double_data(static_cast<double>(Number(choices)));
        break;
      case TensorProto::INT64:
        tensor->add_int64_data(Number(choices));
        break;
      case TensorProto::UINT32:
      case TensorProto::UINT64:
        tensor->add_uint64_data(static_cast<uint64_t>(Number(choices)));
        break;
      case TensorProto::STRING:
        tensor->add_string_data(choices->Of(kTexts));
        break;
      default:
        tensor->add_int32_data(static_cast<int32_t>(choices->Next(3)));
    }
  }
}

bool TakesStrings(std::string_view type) {
  return type.starts_with("String") || type == "RegexFullMatch" ||
         type == "Tokenizer";
}

class Builder {
 public:
  explicit Builder(Choices* choices)
      : choices_(*choices),
        base_(RandomSizes(choices)),
        type_(DataType(choices)) {
    model_.set_ir_version(10);
    for (const char* domain :
         {"", "ai.onnx.preview", "ai.onnx.preview.training"}) {
      auto* opset = model_.add_opset_import();
      opset->set_domain(domain);
      opset->set_version(1);
    }
    model_.mutable_opset_import(0)->set_version(
        choices_.Once(3) ? 7 + static_cast<int64_t>(choices_.Next(22)) : 21);
  }

  void AddNode() { AddNodeTo(&graph(), 0); }

  ModelProto Finish() {
    for (const std::string& name : made_) {
      graph().add_output()->set_name(name);
    }
    return std::move(model_);
  }

 private:
  GraphProto& graph() { return *model_.mutable_graph(); }

  std::string NewName() { return "v" + std::to_string(count_++); }

  // Half of all values have the same shape.
  // Most of them have the same dtype.
  int32_t NewType() { return choices_.Once(5) ? DataType(&choices_) : type_; }
  Sizes NewSizes() { return choices_.Once(2) ? base_ : RandomSizes(&choices_); }

  std::string NewInput() {
    auto* input = graph().add_input();
    input->set_name(NewName());
    auto* type = input->mutable_type()->mutable_tensor_type();
    type->set_elem_type(NewType());
    if (choices_.Once(24)) return input->name();
    type->mutable_shape();
    for (const int64_t size : NewSizes()) {
      auto* dim = type->mutable_shape()->add_dim();
      if (choices_.Once(12)) {
        dim->set_dim_param("n");
      } else {
        dim->set_dim_value(choices_.Once(24) ? choices_.Of(kExtremes) : size);
      }
    }
    return input->name();
  }

  std::string NewConstant() {
    TensorProto* tensor = graph().add_initializer();
    tensor->set_name(NewName());
    Sizes sizes = NewSizes();
    if (choices_.Once(2)) sizes = {static_cast<int64_t>(choices_.Next(5))};
    if (choices_.Once(4)) sizes.clear();
    FillTensor(&choices_, sizes,
               choices_.Once(2) ? TensorProto::INT64 : NewType(), tensor);
    return tensor->name();
  }

  std::string AnyValue() {
    if (!values_.empty() && choices_.Once(2)) return choices_.Of(values_);
    values_.push_back(choices_.Once(3) ? NewConstant() : NewInput());
    return values_.back();
  }

  void AddNodeTo(GraphProto* to, int depth) {
    const OperatorRow* picked = &choices_.Of(kOperators);
    if (!sequences_.empty() && choices_.Once(2)) {
      picked = std::find_if(
          std::begin(kOperators) +
              static_cast<std::ptrdiff_t>(choices_.Next(std::size(kOperators))),
          std::end(kOperators) - 1, [](const OperatorRow& row) {
            return std::string_view(row.type).find("Sequence") !=
                   std::string_view::npos;
          });
    }
    const OperatorRow& row = *picked;
    NodeProto node;
    node.set_op_type(row.type);
    node.set_domain(row.domain);
    const int more = row.max_inputs - row.min_inputs;
    const int inputs =
        row.min_inputs +
        static_cast<int>(choices_.Next(static_cast<size_t>(more) + 1));
    const std::string_view type = row.type;
    const bool makes_sequence = MakesSequence(type);
    const bool takes_sequence =
        type != "SequenceConstruct" &&
        (type.starts_with("Sequence") || type == "ConcatFromSequence");
    // More inputs of a map, and what a loop carries.
    const int first_more = type == "SequenceMap" ? 1
                           : type == "Loop"      ? 2
                                                 : inputs;
    const int32_t usual = type_;
    if (TakesStrings(type)) type_ = TensorProto::STRING;
    for (int i = 0; i < inputs; ++i) {
      const bool left_out = i >= row.min_inputs && choices_.Once(4);
      const bool sequence = ((i == 0 && takes_sequence) ||
                             (i >= first_more && choices_.Once(2))) &&
                            !sequences_.empty();
      node.add_input(left_out   ? ""
                     : sequence ? choices_.Of(sequences_)
                                : AnyValue());
    }
    type_ = usual;
    std::istringstream attributes(row.attributes);
    for (std::string attribute; attributes >> attribute;) {
      if (choices_.Once(3)) AddAttribute(attribute, depth, &node);
    }
    const int outputs =
        row.min_outputs +
        (choices_.Once(3) ? row.max_outputs - row.min_outputs : 0);
    for (int i = 0; i < std::max(outputs, 1); ++i) {
      node.add_output(NewName());
      if (depth > 0) continue;
      if (makes_sequence) {
        sequences_.push_back(node.output(i));
      } else {
        made_.push_back(node.output(i));
        values_.push_back(node.output(i));
      }
    }
    to->add_node()->Swap(&node);
  }

  static bool MakesSequence(std::string_view type) {
    return type == "SplitToSequence" ||
           (type.starts_with("Sequence") && type != "SequenceAt" &&
            type != "SequenceLength");
  }

  // `what` has the form "axis:i".
  void AddAttribute(const std::string& what, int depth, NodeProto* node) {
    const size_t colon = what.find(':');
    AttributeProto added;
    added.set_name(what.substr(0, colon));
    const char type = what[colon + 1];
    const size_t count = choices_.Next(5);
    switch (type) {
      case 'i':
        added.set_type(AttributeProto::INT);
        added.set_i(Number(&choices_));
        break;
      case 'f':
        added.set_type(AttributeProto::FLOAT);
        added.set_f(static_cast<float>(Number(&choices_)) / 4);
        break;
      case 's':
        added.set_type(AttributeProto::STRING);
        added.set_s(choices_.Of(kTexts));
        break;
      case 'I':
        added.set_type(AttributeProto::INTS);
        for (size_t i = 0; i < count; ++i) {
          added.add_ints(Number(&choices_));
        }
        break;
      case 'F':
        added.set_type(AttributeProto::FLOATS);
        for (size_t i = 0; i < count; ++i) {
          added.add_floats(static_cast<float>(Number(&choices_)));
        }
        break;
      case 'S':
        added.set_type(AttributeProto::STRINGS);
        for (size_t i = 0; i < count; ++i) {
          added.add_strings(choices_.Of(kTexts));
        }
        break;
      case 'T': {
        added.set_type(AttributeProto::SPARSE_TENSOR);
        auto* sparse = added.mutable_sparse_tensor();
        for (const int64_t size : NewSizes()) {
          sparse->add_dims(size);
        }
        const auto values = static_cast<int64_t>(choices_.Next(3));
        FillTensor(&choices_, {values}, NewType(), sparse->mutable_values());
        FillTensor(&choices_,
                   choices_.Once(2) ? Sizes{values}
                                    : Sizes{values, sparse->dims_size()},
                   TensorProto::INT64, sparse->mutable_indices());
        break;
      }
      case 't':
        added.set_type(AttributeProto::TENSOR);
        FillTensor(&choices_, choices_.Once(2) ? Sizes{1} : NewSizes(),
                   NewType(), added.mutable_t());
        break;
      default:
        if (depth > 2) return;
        added.set_type(AttributeProto::GRAPH);
        FillSubgraph(depth + 1, added.mutable_g());
    }
    node->add_attribute()->Swap(&added);
  }

  void FillSubgraph(int depth, GraphProto* subgraph) {
    const size_t before = values_.size();
    const size_t sequences = sequences_.size();
    for (size_t i = choices_.Next(5); i > 0; --i) {
      auto& known = choices_.Once(4) ? sequences_ : values_;
      known.push_back(NewName());
      subgraph->add_input()->set_name(known.back());
    }
    AddNodeTo(subgraph, depth);
    const NodeProto& node = subgraph->node(0);
    for (size_t i = choices_.Next(3) + 1; i > 0; --i) {
      const bool own = values_.empty() || choices_.Once(2);
      subgraph->add_output()->set_name(own ? node.output(0)
                                           : choices_.Of(values_));
    }
    // Inputs and constants of its nodes remain in the outermost graph.
    values_.erase(values_.begin() + static_cast<std::ptrdiff_t>(before),
                  values_.end());
    sequences_.resize(sequences);
  }

  Choices& choices_;
  ModelProto model_;
  Sizes base_;
  int32_t type_;
  std::vector<std::string> values_;  // that a node may read
  std::vector<std::string> sequences_;
  std::vector<std::string> made_;  // outputs of nodes of the outermost graph
  int count_ = 0;
};

// A node of the graph, or one of a subgraph.
NodeProto* AnyNode(Choices* choices, GraphProto* graph) {
  if (graph->node_size() == 0) return nullptr;
  NodeProto* node = graph->mutable_node(
      static_cast<int>(choices->Next(static_cast<size_t>(graph->node_size()))));
  for (AttributeProto& attribute : *node->mutable_attribute()) {
    if (attribute.has_g() && choices->Once(2)) {
      NodeProto* inner = AnyNode(choices, attribute.mutable_g());
      if (inner != nullptr) return inner;
    }
  }
  return node;
}

void ChangeAttribute(Choices* choices, NodeProto* node) {
  if (node->attribute_size() == 0) return;
  AttributeProto& attribute = *node->mutable_attribute(static_cast<int>(
      choices->Next(static_cast<size_t>(node->attribute_size()))));
  switch (choices->Next(5)) {
    case 0:
      attribute.set_i(Number(choices));
      break;
    case 1:
      attribute.add_ints(Number(choices));
      break;
    case 2:
      if (attribute.ints_size() > 0) attribute.set_ints(0, Number(choices));
      break;
    case 3:
      attribute.set_s(choices->Of(kTexts));
      break;
    default:
      attribute.set_type(
          static_cast<AttributeProto::AttributeType>(1 + choices->Next(11)));
  }
}

void ChangeShape(Choices* choices, GraphProto* graph) {
  for (auto& input : *graph->mutable_input()) {
    auto* type = input.mutable_type()->mutable_tensor_type();
    if (choices->Once(3)) type->set_elem_type(DataType(choices));
    for (auto& dim : *type->mutable_shape()->mutable_dim()) {
      if (choices->Once(2)) dim.set_dim_value(Number(choices));
    }
  }
  for (TensorProto& tensor : *graph->mutable_initializer()) {
    if (choices->Once(4)) tensor.set_data_type(DataType(choices));
    if (tensor.dims_size() > 0 && choices->Once(4)) {
      tensor.set_dims(0, Number(choices));
    }
    if (tensor.int64_data_size() > 0 && choices->Once(2)) {
      tensor.set_int64_data(0, Number(choices));
    }
  }
}

}  // namespace

ModelProto RandomModel(Choices* choices, int nodes) {
  Builder builder(choices);
  for (int i = 0; i < nodes; ++i) {
    builder.AddNode();
  }
  return builder.Finish();
}

void ChangeModel(Choices* choices, ModelProto* model) {
  GraphProto* graph = model->mutable_graph();
  NodeProto* node = AnyNode(choices, graph);
  if (node == nullptr) return;
  const auto any = [&](int size) {
    return static_cast<int>(choices->Next(static_cast<size_t>(size)));
  };
  switch (choices->Next(10)) {
    case 0:
    case 1:
      return ChangeAttribute(choices, node);
    case 2:
      return ChangeShape(choices, graph);
    case 3:
      return node->set_op_type(choices->Of(kOperators).type);
    case 4: {  // a copy, whose outputs have the same names, or others
      NodeProto copy = *node;
      for (std::string& output : *copy.mutable_output()) {
        if (!choices->Once(4)) output += "_";
      }
      graph->add_node()->Swap(&copy);
      return;
    }
    case 5: {
      const NodeProto* other = AnyNode(choices, graph);
      if (node->input_size() > 0 && other->output_size() > 0) {
        node->set_input(any(node->input_size()), other->output(0));
      }
      return;
    }
    case 6:
      return CallNodes(choices, model);
    case 7:
    case 8:
      return NestNodes(choices, model);
    default:
      model->mutable_opset_import(0)->set_version(
          7 + static_cast<int64_t>(choices->Next(22)));
  }
}

void ChangeBytes(Choices* choices, std::string* bytes) {
  for (size_t times = choices->Next(4) + 1; times > 0 && !bytes->empty();
       --times) {
    const size_t at = choices->Word() % bytes->size();
    const size_t length = choices->Next(64) + 1;
    switch (choices->Next(5)) {
      case 0:
        (*bytes)[at] = static_cast<char>((*bytes)[at] ^ 1 << choices->Next(8));
        break;
      case 1:
        (*bytes)[at] = static_cast<char>(choices->Next(256));
        break;
      case 2:
        bytes->erase(at, length);
        break;
      case 3:
        bytes->insert(at,
                      bytes->substr(choices->Word() % bytes->size(), length));
        break;
      default:
        bytes->resize(at);
    }
  }
}

}  // namespace sluice::fuzz
