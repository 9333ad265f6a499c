#include "sluice/framework/run/run_op.h"

#include <algorithm>
#include <new>

#include "sluice/framework/op/registry.h"
#include "sluice/framework/run/executor.h"
#include "sluice/platform/error.h"

namespace sluice {

OneOp MakeOneOp(const std::string& op,
                const std::vector<std::pair<std::string, Tensor>>& inputs,
                const AttributeMap& attributes,
                const std::vector<std::string>& outputs) {
  OneOp made;
  OpDesc desc;
  desc.type = op;
  desc.attributes = attributes;
  for (const auto& [argument, tensor] : inputs) {
    auto entry = std::find_if(desc.inputs.begin(), desc.inputs.end(),
                              [&argument = argument](auto& input) {
                                return input.first == argument;
                              });
    if (entry == desc.inputs.end()) {
      entry = desc.inputs.insert(entry, {argument, {}});
    }
    const std::string name =
        entry->second.empty()
            ? argument
            : Format("{}[{}]", argument, entry->second.size());
    entry->second.push_back(name);
    made.program.Data(name, tensor.dtype(), tensor.dims(), "", 0);
    made.feeds.emplace_back(name, tensor);
  }
  for (const std::string& output : outputs) {
    desc.outputs.emplace_back(output, ArgVars{"out." + output});
  }
  const OpDesc& added = made.program.AppendOp(std::move(desc));
  for (const auto& [argument, vars] : added.outputs) {
    made.arguments.push_back(argument);
    made.fetches.emplace_back(vars.front());
  }
  return made;
}

std::map<std::string, Tensor> RunOp(
    const std::string& op,
    const std::vector<std::pair<std::string, Tensor>>& inputs,
    const AttributeMap& attributes,
    const RunOpOptions& options) try {
  OneOp made = MakeOneOp(op, inputs, attributes, options.outputs);
  if (!options.hint.empty()) made.program.Hint(options.hint);
  Executor executor(options.place, {.isolate = options.isolate});
  std::vector<Tensor> results =
      executor.Run(made.program, made.feeds, made.fetches);
  std::map<std::string, Tensor> outputs;
  for (size_t i = 0; i < results.size(); ++i) {
    outputs.emplace(made.arguments[i], std::move(results[i]));
  }
  return outputs;
} catch (const std::bad_alloc&) {
  RaiseOutOfMemory();
}

}  // namespace sluice
