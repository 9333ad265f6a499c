#include "sluice/onnx/import/handlers.h"

#include <algorithm>
#include <map>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include "sluice/framework/op/operand.h"

namespace sluice::onnx {

namespace {

using Versions = std::map<int64_t, Handler>;
using Table = std::map<std::string_view, Versions>;

const Table& AllHandlers() {
  static const Table* const kTable = [] {
    auto* rows = new Table();  // never freed: it may be read at exit
    for (const auto& family : {kAttentionHandlers,    kContractionHandlers,
                               kControlFlowHandlers,  kConvHandlers,
                               kCropHandlers,         kElementwiseHandlers,
                               kFeatureHandlers,      kFusedAttentionHandlers,
                               kFusedHandlers,        kGroupedAttentionHandlers,
                               kImageHandlers,        kIndexingHandlers,
                               kLinearHandlers,       kLossHandlers,
                               kMovementHandlers,     kNormHandlers,
                               kOldHandlers,          kPackedWeightHandlers,
                               kQuantizationHandlers, kRandomHandlers,
                               kRecurrentHandlers,    kResizeHandlers,
                               kRotaryHandlers,       kSequenceHandlers,
                               kSignalHandlers,       kStringHandlers,
                               kTrainingHandlers,     kTreeHandlers}) {
      for (const HandlerRow& row : family) {
        for (const std::string_view type : WordsOf(row.types)) {
          (*rows)[type][row.since_version] = row.handler;
        }
      }
    }
    return rows;
  }();
  return *kTable;
}

}  // namespace

std::vector<std::string_view> WordsOf(std::string_view text) {
  std::vector<std::string_view> words;
  size_t begin = 0;
  for (size_t end = 0; end < text.size(); begin = end + 1) {
    end = std::min(text.find(' ', begin), text.size());
    words.push_back(text.substr(begin, end - begin));
  }
  return words;
}

Handler FindHandler(std::string_view type, int64_t version) {
  const auto versions = AllHandlers().find(type);
  if (versions == AllHandlers().end()) return nullptr;
  const auto next = versions->second.upper_bound(version);
  return next == versions->second.begin() ? nullptr : std::prev(next)->second;
}

int64_t OldestHandled(std::string_view type) {
  const auto versions = AllHandlers().find(type);
  if (versions == AllHandlers().end()) return 0;
  return versions->second.begin()->first;
}

namespace {

// Imports what is an input in newer opsets and an attribute in Sluice: as the
// attribute if it is constant, else as the operand.
void ImportOperand(const OpSchema& schema,
                   const ArgDef& def,
                   int index,
                   Node& node,
                   Inputs* inputs,
                   AttributeMap* attributes) {
  if (!node.HasInput(index)) return;
  if (const Tensor* constant = node.Constant(index)) {
    node.cost().Need("its attributes", constant->bytes());
    (*attributes)[def.attribute] = OperandValue(
        schema.name(), def, *schema.FindAttr(def.attribute), *constant);
  } else {
    inputs->emplace_back(def.name, ArgVars{node.In(index)});
  }
}

}  // namespace

const OpSchema* FindCounterpart(std::string_view type) {
  if (type.empty()) return nullptr;
  // Operator libraries may be loaded at any time and are never unloaded. So
  // hits are cached, and misses are looked up again.
  static std::mutex mutex;
  static auto* const kFound =
      new std::map<std::string, const OpSchema*, std::less<>>();
  const std::lock_guard lock(mutex);
  const auto known = kFound->find(type);
  if (known != kFound->end()) return known->second;
  const Registry& registry = Registry::Global();
  // Most names differ by case at most: the other ops need not be registered.
  std::vector<std::string> names = registry.OpNames();
  std::ranges::stable_partition(names, [&](const std::string& name) {
    return std::ranges::equal(name, type, {}, {}, [](char letter) {
      return letter >= 'A' && letter <= 'Z' ? letter - 'A' + 'a' : +letter;
    });
  });
  for (const std::string& name : names) {
    const OpSchema& schema = registry.Schema(name);
    if (schema.onnx().op_type != type) continue;
    return kFound->emplace(type, &schema).first->second;
  }
  return nullptr;
}

void ImportCounterpart(const OpSchema& schema, Node& node) {
  node.AllowOutputs(1);
  AttributeMap attributes;
  for (const std::string& theirs : node.attributes().names()) {
    const auto& renamed = schema.onnx().attributes;
    const auto found = renamed.find(theirs);
    const AttrDef* attr =
        schema.FindAttr(found == renamed.end() ? theirs : found->second);
    if (attr == nullptr) continue;  // CheckAllAsked reports it
    attributes[attr->name] = node.attributes().As(attr->type, theirs);
  }
  Inputs inputs;
  int index = 0;
  for (const ArgDef& def : schema.inputs()) {
    if (!def.attribute.empty()) {
      ImportOperand(schema, def, index++, node, &inputs, &attributes);
      continue;
    }
    ArgVars vars;
    const int end = def.traits.variadic ? node.input_count() : index + 1;
    for (; index < end; ++index) {
      if (node.HasInput(index) || !def.traits.optional) {
        vars.push_back(node.In(index));
      }
    }
    if (!vars.empty()) inputs.emplace_back(def.name, vars);
  }
  for (int more = index; more < node.input_count(); ++more) {
    if (node.HasInput(more)) {
      Node::Unsupported("{} inputs; {} are known", node.input_count(), index);
    }
  }
  node.Finish(schema.name(), inputs, attributes, schema.outputs()[0].name);
}

}  // namespace sluice::onnx
