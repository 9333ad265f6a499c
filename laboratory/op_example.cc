#include "sluice/laboratory/op_example.h"

#include <algorithm>
#include <functional>
#include <map>
#include <utility>

#include "sluice/framework/op/op_check.h"
#include "sluice/platform/error.h"

namespace sluice {

namespace {

using ByOp = std::map<std::string, std::vector<OpExample>, std::less<>>;

const ByOp& Builtin() {
  static const ByOp* const kExamples = [] {
    auto* by_op = new ByOp();
    for (OpExample& example :
         ParseExamples(BuiltinExampleLines(), "built-in")) {
      (*by_op)[example.op].push_back(std::move(example));
    }
    return by_op;
  }();
  return *kExamples;
}

// Checks an example against its op's schema, except sizes and dtypes.
void CheckNames(const OpExample& example) {
  const OpSchema& schema = Registry::Global().Schema(example.op);
  OpDesc op;
  op.type = example.op;
  op.attributes = example.attributes;
  for (const std::string& name : example.dtype_attributes) {
    op.attributes[name] = DType::kFloat32;
  }
  for (const ExampleInput& input : example.inputs) {
    const auto same = std::find_if(
        op.inputs.begin(), op.inputs.end(),
        [&](const auto& bound) { return bound.first == input.argument; });
    if (same == op.inputs.end()) {
      op.inputs.push_back({input.argument, {input.argument}});
    } else {
      same->second.push_back(input.argument);
    }
  }
  for (const ArgDef& output : schema.outputs()) {
    op.outputs.push_back({output.name, {output.name}});
  }
  CompleteOp(schema, &op);
}

using EachExample =
    std::function<void(OpExample example, const std::string& where)>;

void ForEachExample(std::string_view lines,
                    std::string_view file,
                    const EachExample& each) {
  int number = 0;
  while (!lines.empty()) {
    const size_t end = std::min(lines.find('\n'), lines.size());
    const std::string_view line = lines.substr(0, end);
    lines.remove_prefix(std::min(end + 1, lines.size()));
    ++number;
    if (line.empty() || line.front() == '#') continue;
    const std::string where = Format("{}:{}", file, number);
    each(ExampleFromJson(line, where), where);
  }
}

}  // namespace

std::vector<OpExample> ParseExamples(std::string_view lines,
                                     std::string_view file) {
  std::vector<OpExample> examples;
  ForEachExample(lines, file, [&](OpExample example, const std::string&) {
    examples.push_back(std::move(example));
  });
  return examples;
}

std::vector<OpExample> ParseKnownExamples(std::string_view lines,
                                          std::string_view file) {
  std::vector<OpExample> examples;
  ForEachExample(lines, file, [&](OpExample example, const std::string& where) {
    try {
      CheckNames(example);
    } catch (const Error& error) {
      throw Error(error.code(), error.check_id(),
                  Format("{}: {}", where, error.what()));
    }
    examples.push_back(std::move(example));
  });
  return examples;
}

std::vector<std::string> OpsWithExamples() {
  std::vector<std::string> ops;
  for (const auto& [op, unused] : Builtin()) {
    ops.push_back(op);
  }
  return ops;
}

const std::vector<OpExample>& BuiltinExamples(std::string_view op) {
  static const std::vector<OpExample> kNone;
  const auto found = Builtin().find(op);
  return found == Builtin().end() ? kNone : found->second;
}

std::string ToString(const OpExample& example, DType dtype) {
  std::string text;
  const auto add = [&text](const std::string& part) {
    text += (text.empty() ? "" : ", ") + part;
  };
  for (const ExampleInput& input : example.inputs) {
    add(Format("{} {} {}", input.argument,
               input.of_kernel ? dtype : input.dtype, input.dims));
  }
  for (const auto& [name, value] : example.attributes) {
    add(Format("{} = {}", name, ToString(value)));
  }
  for (const std::string& name : example.dtype_attributes) {
    add(Format("{} = {}", name, dtype));
  }
  return text;
}

}  // namespace sluice
