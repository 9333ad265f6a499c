#pragma once

#include <map>
#include <set>
#include <string>
#include <vector>

#include "sluice/framework/program/gradient_flow.h"
#include "sluice/framework/program/value_table.h"

namespace sluice {

// Writes the gradient ops of a program, from the loss back to the parameters.
// Each op that contributes to a value's gradient writes a variable of its own.
// After the first reader of the value all contributions exist: a single one
// gets the gradient's name, several are summed. Internal to framework/program;
// block, values and flow must outlive it.
class GradientOps {
 public:
  GradientOps(const BlockDesc& block,
              const ValueTable& values,
              const GradientFlow& flow)
      : block_(block), values_(values), flow_(flow) {}

  // Returns the ops in order; `location` is that of the first, which fills the
  // gradient of the loss. Raises what AppendBackward raises. Call it once.
  std::vector<OpDesc> Make(const SourceLocation& location);
  // Returns the variable of the gradient of `value`; "" if it has none.
  std::string GradOf(int value) const;

 private:
  using Names = std::map<std::string, std::string>;
  // A contribution: an output of ops_[op].
  struct Use {
    size_t op;
    std::string name;
  };
  // Maps the variable names in the gradient ops of one op to values of that op.
  struct Context {
    int index;
    const OpDesc& forward;
    std::map<std::string, int> inputs;
    std::map<std::string, int> outputs;
  };

  Context ContextOf(int index) const;
  void AddGradientsOf(int index);
  std::vector<OpDesc> NeededOps(const Context& context) const;
  bool HasInput(const Context& context,
                const OpDesc& op,
                const std::set<std::string>& made) const;
  void Translate(const Context& context, OpDesc op, Names* made);
  ArgVars TranslateInput(const Context& context,
                         const OpDesc& op,
                         const std::string& argument,
                         const ArgVars& vars,
                         const Names& made);
  std::string TranslateOutput(const Context& context, const std::string& var);
  void CheckNotOverwritten(const Context& context,
                           const std::string& argument,
                           const std::string& var) const;
  void Add(int origin, OpDesc op);
  std::string Fill(int origin,
                   const std::string& name,
                   const VarDesc& like,
                   double value,
                   const SourceLocation& location);
  void Finish(int value, int reader, const SourceLocation& location);
  void Rename(const Use& use, const std::string& name);
  std::string NewName(const std::string& name);

  const BlockDesc& block_;
  const ValueTable& values_;
  const GradientFlow& flow_;
  std::vector<OpDesc> ops_;
  std::vector<int> origins_;  // the index of each op's forward op
  std::set<std::string> taken_;
  std::map<int, std::vector<Use>> contributions_;  // by value
  std::map<int, std::string> grads_;               // by value
};

}  // namespace sluice
