#include "sluice/framework/program/control_flow.h"

#include <string>
#include <utility>

#include "sluice/framework/op/op_schema.h"
#include "sluice/framework/op/registry.h"
#include "sluice/framework/program/step_loop.h"
#include "sluice/platform/error.h"

namespace sluice {

namespace {

using Names = std::vector<std::string>;

// The new blocks of an op; they are dropped unless Keep is called.
class NewBlocks {
 public:
  explicit NewBlocks(Program* program)
      : program_(program), first_(static_cast<int>(program->blocks().size())) {}
  ~NewBlocks() {
    if (!kept_) program_->DropBlocks(first_);
  }
  NewBlocks(const NewBlocks&) = delete;
  NewBlocks& operator=(const NewBlocks&) = delete;
  void Keep() { kept_ = true; }

 private:
  Program* program_;
  int first_;
  bool kept_ = false;
};

Names NamesOf(const Vars& vars, const Program& program) {
  Names names;
  for (const Var& var : vars) {
    SLUICE_ENFORCE(&var.program() == &program, ErrorCode::kInvalidArgument,
                   "control_flow.program",
                   "variable {} belongs to another program than the op that "
                   "runs the block",
                   var.name());
    names.push_back(var.name());
  }
  return names;
}

// Returns the output variables of the op that was added last.
Vars OutputsOf(Program& program, const OpDesc& op, std::string_view output) {
  Vars vars;
  for (const std::string& name : op.Output(output)) {
    vars.push_back(program.Find(name));
  }
  return vars;
}

// Makes a data variable of the current block for a value from its loop.
Var BlockData(Program* program,
              const std::string& stem,
              DType dtype,
              const DDim& dims) {
  return program->Data(Format("block_{}.{}", program->current_block(), stem),
                       dtype, dims, "", 0);
}

Vars BlockDataLike(Program* program,
                   const std::string& stem,
                   const Vars& like,
                   const std::vector<DDim>& dims) {
  Vars vars;
  for (size_t i = 0; i < like.size(); ++i) {
    vars.push_back(BlockData(program, Format("{}_{}", stem, i), like[i].dtype(),
                             dims.empty() ? like[i].dims() : dims[i]));
  }
  return vars;
}

// Gives `carried`, data variables of the current block, the offsets of their
// first values. Where these are carried, too, they are those of the block.
void CutLike(Program* program, const Vars& first, const Vars& carried) {
  for (size_t i = 0; i < first.size(); ++i) {
    const Var offsets = first[i].offsets();
    if (!offsets.valid()) continue;
    std::string name = offsets.name();
    for (size_t j = 0; j < first.size(); ++j) {
      if (first[j].name() == name) name = carried[j].name();
    }
    program->SetOffsets(carried[i].name(), name);
  }
}

bool MayBeEqual(const DDim& a, const DDim& b) {
  if (!a.rank_known() || !b.rank_known()) return true;
  if (a.rank() != b.rank()) return false;
  for (int i = 0; i < a.rank(); ++i) {
    if (a[i] != b[i] && a[i] != kUnknownDim && b[i] != kUnknownDim) {
      return false;
    }
  }
  return true;
}

void RequireDims(const char* layer,
                 const std::vector<DDim>& dims,
                 const Vars& first) {
  SLUICE_ENFORCE(dims.empty() || dims.size() == first.size(),
                 ErrorCode::kInvalidArgument, "control_flow.dims",
                 "{}: {} shapes for {} variables", layer, dims.size(),
                 first.size());
}

// Sizes that are known of what a loop carries do not change.
void RequireSameSizes(const char* layer,
                      const Vars& carried,
                      const Vars& next) {
  for (size_t i = 0; i < carried.size(); ++i) {
    SLUICE_ENFORCE(MayBeEqual(carried[i].dims(), next[i].dims()),
                   ErrorCode::kInvalidArgument, "control_flow.carried_shape",
                   "{}: variable {} that is carried on must keep shape {}, got "
                   "{} with shape {}; option dims names sizes that change",
                   layer, i, carried[i].dims(), next[i].name(), next[i].dims());
  }
}

DDim WithoutFirst(const Var& sequence) {
  const DDim& dims = sequence.dims();
  if (!dims.rank_known()) return dims;
  SLUICE_ENFORCE(dims.rank() > 0, ErrorCode::kInvalidArgument,
                 "scan.sequence_rank",
                 "scan: sequence {} has shape {}, and so no elements",
                 sequence.name(), dims);
  return dims.Subshape(1, dims.rank());
}

Program& ProgramOf(const Vars& vars, const char* what) {
  SLUICE_ENFORCE(!vars.empty(), ErrorCode::kInvalidArgument,
                 "control_flow.no_variables", "{} needs at least one variable",
                 what);
  return vars[0].program();
}

}  // namespace

Vars Cond(const Var& condition,
          const std::function<Vars()>& then_block,
          const std::function<Vars()>& else_block,
          const SourceLocation& location) {
  Program& program = condition.program();
  NewBlocks blocks(&program);
  const auto make = [&](const std::function<Vars()>& block) {
    const int index = program.BeginBlock();
    const Names outputs = NamesOf(block(), program);
    program.EndBlock();
    return std::pair(int64_t{index}, outputs);
  };
  const auto [then_index, then_outputs] = make(then_block);
  const auto [else_index, else_outputs] = make(else_block);
  const OpDesc& op =
      program.AppendOp(Registry::Global().OpFor(OpRole::kIf).name(),
                       {{"Cond", {condition.name()}}},
                       {{"then_block", then_index},
                        {"else_block", else_index},
                        {"then_outputs", then_outputs},
                        {"else_outputs", else_outputs}},
                       location);
  blocks.Keep();
  return OutputsOf(program, op, "Out");
}

Vars WhileLoop(const std::function<Var(const Vars&)>& condition,
               const std::function<Vars(const Vars&)>& body,
               const Vars& first,
               const WhileOptions& options,
               const SourceLocation& location) {
  Program& program = ProgramOf(first, "while_loop");
  RequireDims("while_loop", options.dims, first);
  NamesOf(first, program);
  const Var begins = condition(first);
  NewBlocks blocks(&program);
  const int64_t block = program.BeginBlock();
  const Vars carried = BlockDataLike(&program, "carried", first, options.dims);
  CutLike(&program, first, carried);
  const Vars next = body(carried);
  SLUICE_ENFORCE(next.size() == first.size(), ErrorCode::kInvalidArgument,
                 "while_loop.count",
                 "while_loop: the body gives {} variables, it got {}",
                 next.size(), first.size());
  RequireSameSizes("while_loop", carried, next);
  const Names carried_out = NamesOf(next, program);
  const std::string goes_on = condition(next).name();
  program.EndBlock();
  const OpDesc& op = program.AppendOp(
      Registry::Global().OpFor(OpRole::kLoop).name(),
      {{"Cond", {begins.name()}}, {"Carried", NamesOf(first, program)}},
      {{"block", block},
       {"carried", NamesOf(carried, program)},
       {"carried_out", carried_out},
       {"condition_out", goes_on},
       {"limit", options.limit},
       {"max_trips", options.max_trips},
       {"recompute", options.recompute}},
      location);
  blocks.Keep();
  return OutputsOf(program, op, "Out");
}

ScanResult Scan(const std::function<ScanStep(const Vars&, const Vars&)>& step,
                const Vars& first,
                const Vars& sequences,
                const ScanOptions& options,
                const SourceLocation& location) {
  StepLoop loop;
  for (const Var& sequence : sequences) {
    loop.element_dims.push_back(WithoutFirst(sequence));
  }
  loop.step = [&](const Var&, const Vars& carried, const Vars& elements) {
    return step(carried, elements);
  };
  return AppendStepLoop(loop, first, sequences, options, location);
}

ScanResult AppendStepLoop(const StepLoop& loop,
                          const Vars& first,
                          const Vars& sequences,
                          const ScanOptions& options,
                          const SourceLocation& location) {
  Program& program = ProgramOf(sequences, "scan");
  RequireDims("scan", options.dims, first);
  NewBlocks blocks(&program);
  const int64_t block = program.BeginBlock();
  Var number;
  if (loop.batch_first) {
    number = BlockData(&program, "step", DType::kInt64, {});
  }
  const Vars carried = BlockDataLike(&program, "carried", first, options.dims);
  CutLike(&program, first, carried);
  const Vars elements =
      BlockDataLike(&program, "element", sequences, loop.element_dims);
  const ScanStep result = loop.step(number, carried, elements);
  SLUICE_ENFORCE(result.carried.size() == first.size(),
                 ErrorCode::kInvalidArgument, "scan.count",
                 "scan: a step carries {} variables on, it got {}",
                 result.carried.size(), first.size());
  RequireSameSizes("scan", carried, result.carried);
  const Names carried_out = NamesOf(result.carried, program);
  const Names stacked = NamesOf(result.stacked, program);
  program.EndBlock();
  AttributeMap attributes = {{"block", block},
                             {"carried", NamesOf(carried, program)},
                             {"slices", NamesOf(elements, program)},
                             {"carried_out", carried_out},
                             {"stacked", stacked},
                             {"recompute", options.recompute}};
  const auto set_each = [&](const char* of_sequences, const char* of_stacked,
                            bool value) {
    attributes[of_sequences] = std::vector<int64_t>(sequences.size(), value);
    attributes[of_stacked] = std::vector<int64_t>(stacked.size(), value);
  };
  if (loop.batch_first) {
    attributes["iteration"] = number.name();
    set_each("sequence_axes", "stacked_axes", true);
  } else {
    set_each("sequence_reversed", "stacked_reversed", options.reversed);
  }
  const OpDesc& op =
      program.AppendOp(Registry::Global().OpFor(OpRole::kLoop).name(),
                       {{"Carried", NamesOf(first, program)},
                        {"Sequences", NamesOf(sequences, program)}},
                       std::move(attributes), location);
  blocks.Keep();
  return {OutputsOf(program, op, "Out"), OutputsOf(program, op, "Stacked")};
}

}  // namespace sluice
