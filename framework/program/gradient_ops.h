#pragma once

#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "sluice/framework/program/block_gradients.h"
#include "sluice/framework/program/gradient_flow.h"
#include "sluice/framework/program/value_table.h"

namespace sluice {

// Appends the gradient ops of a block to the current block of the program, from
// the targets back to the wanted variables. Each op that contributes to a
// value's gradient writes a variable of its own. After the first reader of the
// value all contributions exist: a single one gets the gradient's name, several
// are summed. Internal to framework/program; all arguments must outlive it.
// `block` is a copy of block level->forward, with what it reads from outside.
class GradientOps {
 public:
  GradientOps(const BlockDesc& block,
              const ValueTable& values,
              const GradientFlow& flow,
              Program* program,
              GradientLevel* level)
      : block_(block),
        values_(values),
        flow_(flow),
        program_(program),
        level_(level) {}

  // Adds `gradient`, a variable, to the gradient of a target.
  void Seed(int value, const std::string& gradient);
  // Makes the ops; Flush appends them. Raises what AppendBackward raises. Call
  // it once.
  void Make();
  // Returns the variable of the gradient of `value`; "" if it has none.
  std::string GradOf(int value) const;
  // Takes back an op that was made and not appended. Its only output is the
  // gradient of `value`, which no op reads; and `wanted` wants it.
  std::optional<OpDesc> Take(int value,
                             const std::function<bool(const OpDesc&)>& wanted);
  // Whether `var` is an output of these ops, or in the program's current block.
  bool Makes(const std::string& var) const;

  // These append an op that fills a new variable with a number, in the shape of
  // another one, or that adds up others; they return its name, which is `name`,
  // with a number appended if that is taken.
  std::string Fill(const std::string& name,
                   const VarDesc& like,
                   double value,
                   const SourceLocation& location);
  std::string Sum(const std::string& name,
                  ArgVars parts,
                  const SourceLocation& location);
  // Appends the op that gradients of `var` go through, and returns its output.
  // Returns `gradient` if there is none, or if `var` is of another block: one
  // around this one gets contributions from elsewhere, too.
  std::string Through(const std::string& var,
                      const std::string& gradient,
                      const SourceLocation& location);
  // A name that no variable of the program has.
  std::string NewName(const std::string& name);
  // Appends to the program what has been made and not taken back.
  void Flush();

 private:
  using Names = std::map<std::string, std::string>;
  // A contribution: an output of ops_[op], or a variable that exists already.
  static constexpr size_t kExists = static_cast<size_t>(-1);
  struct Use {
    size_t op;
    std::string name;
    std::string rows = {};  // VarDesc::rows
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
  void AddBlockGradients(const Context& context);
  void CheckBlockInputs(const Context& context) const;
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
  void Add(OpDesc op);
  // Adds an op with output Out, and returns the output's name, from `name`.
  std::string Add(const std::string& type,
                  const std::string& name,
                  Program::ArgList inputs,
                  AttributeMap attributes,
                  const SourceLocation& location);
  void NoteSparse(const OpDesc& op);
  bool StaysSparse(int value) const;
  const OpDesc* GradientOp(const std::string& var) const;
  void MakeDense(const std::string& like,
                 const SourceLocation& location,
                 Use* use);
  void Finish(int value, const SourceLocation& location);
  void Rename(const Use& use, const std::string& name);
  bool FindRepeats(const std::string& var,
                   const std::set<std::string>& read,
                   std::set<int>* writers) const;
  void RepeatForShapes(const OpDesc& op, const std::set<std::string>& read);

  const BlockDesc& block_;
  const ValueTable& values_;
  const GradientFlow& flow_;
  Program* program_;
  GradientLevel* level_;
  std::vector<OpDesc> ops_;
  std::vector<int> origins_;  // the index of each op's forward op
  int origin_ = -1;           // of ops that are added now
  size_t flushed_ = 0;        // how many of ops_ the program has
  std::set<std::string> taken_;
  std::map<int, std::vector<Use>> contributions_;  // by value
  std::map<int, std::string> grads_;               // by value
  Names rows_;  // of sparse gradients that were joined
};

}  // namespace sluice
