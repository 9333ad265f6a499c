#pragma once

#include <cstdint>
#include <initializer_list>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "sluice/framework/op/op_desc.h"
#include "sluice/platform/error.h"
#include "sluice/platform/export.h"

namespace sluice::framework {

class Program;

// A variable of a program while the program is being written: what builders
// take and return. A light value; the program must outlive it.
class SLUICE_API Var {
 public:
  Var() = default;
  Var(Program* program, std::string name)
      : program_(program), name_(std::move(name)) {}

  const std::string& name() const { return name_; }
  // Raises FailedPrecondition for a default-constructed Var.
  Program& program() const;
  const DDim& dims() const;
  DType dtype() const;
  bool valid() const { return program_ != nullptr; }

 private:
  Program* program_ = nullptr;
  std::string name_;
};

// A list of ops over variables. Block 0 is what an Executor runs; the others
// are run by ops of block 0, or of each other (block_ops.h). What must be fed
// to such a block are its data variables. Its ops may read what the blocks
// around it have.
class SLUICE_API BlockDesc {
 public:
  explicit BlockDesc(int index_in_program = 0, int parent_block = -1)
      : index(index_in_program), parent(parent_block) {}

  // nullptr when there is none of that name.
  const VarDesc* FindVar(std::string_view name) const;
  VarDesc* MutableVar(std::string_view name);
  // Raises InvalidArgument for an empty name or one that is taken.
  VarDesc& AddVar(VarDesc var);
  // In order of creation.
  const std::vector<VarDesc>& vars() const { return vars_; }
  // Takes the variables created last back until `count` are left.
  void ShrinkVars(size_t count) noexcept;

  int index;
  int parent;
  std::vector<OpDesc> ops;

 private:
  std::vector<VarDesc> vars_;
  std::map<std::string, size_t, std::less<>> positions_;
};

// A graph of ops, as it was written: descriptions only, no data. Every op is
// checked and its output shapes inferred when it is added, so that an error
// comes at the user's own line. Not synchronised while it is being written;
// once written, many threads may run it.
class SLUICE_API Program {
 public:
  Program();
  ~Program();
  // A copy is a program of its own, with its own uid.
  Program(const Program& other);
  Program& operator=(const Program& other);
  // What was moved from is an empty program, or the one that was here.
  // Makes that empty one, so it may run out of memory.
  Program(Program&& other);  // NOLINT(performance-noexcept-move-constructor)
  Program& operator=(Program&& other) noexcept;

  // A variable to be fed; -1 for sizes that differ from feed to feed. Raises
  // InvalidArgument when the name is taken or no UTF-8.
  Var Data(std::string_view name,
           DType dtype,
           const DDim& dims,
           const char* file = __builtin_FILE(),
           int line = __builtin_LINE());
  // A variable that lives in the scope and outlives a run; `dims` are known.
  Var Persistable(std::string_view name, DType dtype, const DDim& dims);

  using ArgList = std::vector<std::pair<std::string, ArgVars>>;

  // Adds an op to the current block. Attributes that were left out get their
  // defaults; outputs that were left out replace the persistable variable that
  // the schema says they update, or, if required, get new variables, named
  // after the op. Raises NotFound or InvalidArgument, with `location`, for an
  // unknown op, argument, attribute or variable, a dtype that the op does not
  // take, and everything that its shape function refuses; the program is
  // unchanged then.
  const OpDesc& AppendOp(std::string_view type,
                         ArgList inputs,
                         AttributeMap attributes = {},
                         SourceLocation location = SourceLocation::Here(),
                         ArgList outputs = {});
  // The same for an op that a gradient maker or a file described.
  const OpDesc& AppendOp(OpDesc op);

  // The output variable of the op added last. Raises NotFound when it has no
  // such output, FailedPrecondition (as Hint does) when there is no op yet.
  Var Output(std::string_view argument, int element = 0);
  // Sets the kernel hint of the op added last
  // (framework/hints/kernel_hints.h). Raises InvalidArgument for one that
  // cannot be parsed.
  void Hint(std::string_view hint);
  // Kernel hints for all ops of the program; stored with it. Raises as Hint.
  void SetHints(std::string_view hints);
  const std::string& hints() const { return hints_; }

  // What ops that are appended from now on are there for.
  void SetPurpose(OpPurpose purpose) { purpose_ = purpose; }
  OpPurpose purpose() const { return purpose_; }
  // Whether gradients stop at the variable: yes for data, no for the others
  // unless this says so. Raises NotFound.
  void SetStopGradient(std::string_view name, bool stop);
  // All ranks start with the same value of a persistable variable: they compare
  // it at the first run in a scope. Raises NotFound.
  void SetSameOnRanks(std::string_view name);
  // A copy of the forward ops, with the attribute is_test (of dropout,
  // batch_norm and their like) set, and with the ops that
  // OpSchema::ForTest says.
  Program CloneForTest() const;

  // The program that all of `vars` belong to; raises InvalidArgument when they
  // belong to several, FailedPrecondition when there is none. Behind the first,
  // variables left out (invalid ones) do not count.
  static Program& Common(std::initializer_list<const Var*> vars);
  // The same for the inputs of `op`, which errors name with its line.
  static Program& CommonOf(const OpDesc& op,
                           const std::vector<const Var*>& vars);

  // Raises NotFound and lists near names.
  Var Find(std::string_view name);
  const VarDesc& FindVar(std::string_view name) const;
  bool HasVar(std::string_view name) const {
    return FindVisible(name) != nullptr;
  }
  // Where the variable was made with Data; no file for others and for those of
  // a program that was loaded.
  SourceLocation LocationOfData(std::string_view name) const;

  const std::vector<BlockDesc>& blocks() const { return blocks_; }
  const BlockDesc& block() const { return blocks_[0]; }

  // Opens a block inside of the current one, and returns its index: variables
  // and ops are added to it until EndBlock. Persistable variables always belong
  // to block 0. Raises ResourceExhausted for more than kMaxBlockDepth blocks in
  // each other; EndBlock raises FailedPrecondition in block 0.
  static constexpr int kMaxBlockDepth = 64;
  int BeginBlock();
  void EndBlock();
  int current_block() const { return current_block_; }
  // Takes block `first` and those that were opened after it back, after a
  // failure; the block around it becomes the current one. No op may hold them.
  void DropBlocks(int first) noexcept;
  // A block other than 0 as a program of its own, kept until this one changes.
  // What it reads of the blocks around it is data there, or persistable. Many
  // threads may ask.
  std::shared_ptr<const Program> BlockProgram(int block) const;

  // Identify what a plan was prepared from: no two programs of a process
  // share a uid, and every change raises the version.
  uint64_t uid() const { return uid_; }
  uint64_t version() const { return version_; }

 private:
  // The program's blocks as programs; not copied with it.
  struct BlockPrograms;

  VarDesc& AddVar(VarDesc var, int block);
  // In the current block and those around it; nullptr.
  const VarDesc* FindVisible(std::string_view name) const;
  OpDesc& LastOp();
  std::string NewName(std::string_view op, std::string_view argument);
  void AddOutputs(const class OpSchema& schema, OpDesc* op);
  const OpDesc& AppendChecked(OpDesc* op);
  void CheckOutput(const OpDesc& op,
                   const std::string& argument,
                   const VarDesc& made,
                   const VarDesc& known) const;

  std::vector<BlockDesc> blocks_;
  int current_block_ = 0;
  std::map<std::string, int, std::less<>> op_counts_;
  std::map<std::string, SourceLocation, std::less<>> data_locations_;
  uint64_t uid_;
  uint64_t version_ = 0;
  OpPurpose purpose_ = OpPurpose::kForward;
  std::string hints_;
  std::unique_ptr<BlockPrograms> block_programs_;
};

// One line an op:
//   distance = manhattan_distance(X=x, Y=y)  -> float32 [?, 1000]
SLUICE_API std::string ToString(const Program& program);
SLUICE_API std::string ToString(const OpDesc& op);

// "created at FILE:LINE", or "" where it is not known.
SLUICE_API std::string DescribeLocation(const SourceLocation& location);
// Adds that to the error; without memory the error goes without it.
SLUICE_API void AddLocation(const SourceLocation& location,
                            platform::Error* error) noexcept;

}  // namespace sluice::framework
