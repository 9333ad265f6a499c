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

namespace sluice {

class Program;

// A variable of a program that is being built: the argument and result of
// builders. A light value; the program must outlive it, and must not be moved
// before the last builder has taken it.
class SLUICE_API Var {
 public:
  Var() = default;
  Var(Program* program, std::string name);

  const std::string& name() const { return name_; }
  // Raises FailedPrecondition for a default-constructed Var.
  Program& program() const;
  const DDim& dims() const;
  DType dtype() const;
  // The offsets of ragged rows; invalid for a variable without.
  Var offsets() const;
  // The rows of a sparse gradient; invalid for other variables.
  Var rows() const;
  bool valid() const { return program_ != nullptr; }
  // The uid of the program; 0 for a default-constructed Var.
  uint64_t program_uid() const { return program_uid_; }

 private:
  Program* program_ = nullptr;
  uint64_t program_uid_ = 0;
  std::string name_;
};

// A list of ops over variables. An Executor runs block 0; ops of block 0, or of
// each other, run the others (block_ops.h). The data variables of such a block
// must be fed. Its ops may read the variables of the blocks around it.
class SLUICE_API BlockDesc {
 public:
  explicit BlockDesc(int index_in_program = 0, int parent_block = -1)
      : index(index_in_program), parent(parent_block) {}

  // These return nullptr for an unknown name.
  const VarDesc* FindVar(std::string_view name) const;
  VarDesc* MutableVar(std::string_view name);
  // Raises InvalidArgument for an empty name or one that is taken.
  VarDesc& AddVar(VarDesc var);
  // Returns variables in order of creation.
  const std::vector<VarDesc>& vars() const { return vars_; }
  // Gives a variable another name. Raises as AddVar does.
  void RenameVar(const std::string& from, const std::string& to);
  // Removes the variables created last until `count` are left.
  void ShrinkVars(size_t count) noexcept;

  int index;
  int parent;
  std::vector<OpDesc> ops;

 private:
  std::vector<VarDesc> vars_;
  std::map<std::string, size_t, std::less<>> positions_;
};

// How an op takes the rows of a ragged input.
enum class RowUse {
  kGiven,  // with their offsets, which are an input of the op
  kKept,   // padding stays apart from other rows
  kMixed,  // padding would mix in, or other inputs are cut by other offsets
};

struct RaggedInput {
  std::string variable;
  RowUse use;
};

// A graph of ops as the user wrote it: descriptions only, no data. Each op is
// checked and its output shapes inferred when it is added, so that errors name
// the user's own line. Not synchronised while it is being built; many threads
// may run the finished program.
class SLUICE_API Program {
 public:
  Program();
  ~Program();
  // A copy is a separate program with its own uid.
  Program(const Program& other);
  Program& operator=(const Program& other);
  // The moved-from program is empty, or has the target's former contents.
  // Creating the empty one may run out of memory.
  Program(Program&& other);  // NOLINT(performance-noexcept-move-constructor)
  Program& operator=(Program&& other) noexcept;

  // A variable to be fed; -1 for sizes that vary between feeds. Raises
  // InvalidArgument when the name is taken or not UTF-8.
  Var Data(std::string_view name,
           DType dtype,
           const DDim& dims,
           const char* file = __builtin_FILE(),
           int line = __builtin_LINE());
  // A variable to be fed whose rows are packed sequences, and the variable of
  // their offsets [B + 1], `name@LOD`, to be fed with it
  // (framework/run/ragged_feeds.h). For two levels, `name@LOD@LOD` cuts the
  // sequences into groups, and so on. Raises as Data does, and InvalidArgument
  // when dim 0 is known or `levels` is below 1.
  Var RaggedData(std::string_view name,
                 DType dtype,
                 const DDim& dims,
                 int levels = 1,
                 const char* file = __builtin_FILE(),
                 int line = __builtin_LINE());
  // Makes the rows of a variable those that `offsets` cuts. Raises NotFound.
  void SetOffsets(std::string_view name, std::string_view offsets);
  // Makes a variable a sparse gradient (VarDesc::rows). Raises NotFound.
  void SetRows(std::string_view name, std::string_view rows);
  // Whether any variable has offsets.
  bool ragged() const { return ragged_; }
  // Pairs of offsets to be fed, which must be equal, because an op reads rows
  // of both.
  using EqualOffsets = std::vector<std::pair<std::string, std::string>>;
  const EqualOffsets& equal_offsets() const { return equal_offsets_; }
  // A variable that lives in the scope and outlives a run; `dims` must be
  // known.
  Var Persistable(std::string_view name, DType dtype, const DDim& dims);

  using ArgList = std::vector<std::pair<std::string, ArgVars>>;

  // Adds an op to the current block. Omitted attributes get their defaults.
  // Omitted outputs replace the persistable variable that the schema says they
  // update, or, if required, get new variables, named after the op. Raises
  // NotFound or InvalidArgument, with `location`, for an unknown op, argument,
  // attribute or variable, a dtype that the op does not accept, and everything
  // that its shape function refuses; the program is then unchanged.
  const OpDesc& AppendOp(std::string_view type,
                         ArgList inputs,
                         AttributeMap attributes = {},
                         SourceLocation location = SourceLocation::Here(),
                         ArgList outputs = {});
  // Adds an op that a gradient maker or a file described.
  const OpDesc& AppendOp(OpDesc op);

  // Returns how an op that is not added would take each ragged input, in order;
  // AppendOp raises InvalidArgument where one is RowUse::kMixed. Raises what
  // AppendOp does for other reasons. The program is unchanged.
  std::vector<RaggedInput> RaggedInputs(OpDesc op);

  // Returns the output variable of the op added last. Raises NotFound when it
  // has no such output, FailedPrecondition (like Hint) when there is no op yet.
  Var Output(std::string_view argument, int element = 0);
  // Gives a variable another name if op `first` of the current block or a later
  // one makes it, and returns whether that is so. Raises InvalidArgument for a
  // name that is taken, empty or not UTF-8.
  bool Rename(const std::string& from, const std::string& to, size_t first);
  // Sets the kernel hint of the op added last
  // (framework/hints/kernel_hints.h). Raises InvalidArgument for one that
  // cannot be parsed.
  void Hint(std::string_view hint);
  // Kernel hints for all ops of the program, stored with it. Raises as Hint
  // does.
  void SetHints(std::string_view hints);
  const std::string& hints() const { return hints_; }

  // The purpose of ops that are appended from now on.
  void SetPurpose(OpPurpose purpose) { purpose_ = purpose; }
  OpPurpose purpose() const { return purpose_; }
  // Sets whether gradients stop at the variable; by default they stop at data
  // only. Raises NotFound.
  void SetStopGradient(std::string_view name, bool stop);
  // Declares that all processes start with the same value of a persistable
  // variable; they compare it at the first run in a scope. Raises NotFound.
  void SetReplicated(std::string_view name);
  // Returns a copy of the forward ops, with the attribute is_test (of dropout,
  // batch_norm and the like) set, and with ops replaced by OpSchema::ForTest.
  Program CloneForTest() const;

  // Returns the program of all `vars`; raises InvalidArgument when they belong
  // to several, FailedPrecondition when there is none. Omitted (invalid)
  // variables after the first are ignored.
  static Program& Common(std::initializer_list<const Var*> vars);
  // Returns the program of the inputs of `op`; errors name it and its line.
  static Program& CommonOf(const OpDesc& op,
                           const std::vector<const Var*>& vars);

  // Find and FindVar raise NotFound, with similar names.
  Var Find(std::string_view name);
  const VarDesc& FindVar(std::string_view name) const;
  bool HasVar(std::string_view name) const {
    return FindVisible(name) != nullptr;
  }
  // Where Data created the variable; no file for other variables, and in
  // programs that were loaded.
  SourceLocation LocationOfData(std::string_view name) const;

  const std::vector<BlockDesc>& blocks() const { return blocks_; }
  const BlockDesc& block() const { return blocks_[0]; }

  // Opens a block inside of the current one, and returns its index: variables
  // and ops are added to it until EndBlock. Persistable variables always belong
  // to block 0. Raises ResourceExhausted for more than kMaxBlockDepth nested
  // blocks; EndBlock raises FailedPrecondition in block 0.
  static constexpr int kMaxBlockDepth = 64;
  int BeginBlock();
  void EndBlock();
  int current_block() const { return current_block_; }
  // Removes block `first` and later ones, after a failure; the block around it
  // becomes the current one. No op may refer to them.
  void DropBlocks(int first) noexcept;
  // For gradients of ops with blocks: declares a variable of another block as
  // data of block `block`; replaces an op with blocks by itself with more
  // outputs, and adds their variables.
  void AddSaved(VarDesc var, int block);
  void ReplaceOp(int block, int index, OpDesc op);
  // Returns a block other than 0 as a program of its own, kept until this one
  // changes. Outer variables that it reads are data there, or persistable. May
  // be called from many threads.
  std::shared_ptr<const Program> BlockProgram(int block) const;

  // Identify a plan's source: no two programs of a process share a uid, and
  // every change raises the version.
  uint64_t uid() const { return uid_; }
  uint64_t version() const { return version_; }

 private:
  // The program's blocks as programs; not copied with it.
  struct BlockPrograms;

  VarDesc& AddVar(VarDesc var, int block);
  // Searches the current block and those around it; may return nullptr.
  const VarDesc* FindVisible(std::string_view name) const;
  OpDesc& LastOp();
  std::string NewName(std::string_view op, std::string_view argument);
  void AddOutputs(const class OpSchema& schema, OpDesc* op);
  const OpDesc& AppendChecked(OpDesc* op);
  // Adds what the caller may omit, and infers the outputs.
  void Complete(struct AppendedOp* added);
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
  bool ragged_ = false;
  EqualOffsets equal_offsets_;
  std::unique_ptr<BlockPrograms> block_programs_;
};

// Formats a program, one op on a line:
//   distance = manhattan_distance(X=x, Y=y)  -> float32 [?, 1000]
SLUICE_API std::string ToString(const Program& program);
SLUICE_API std::string ToString(const OpDesc& op);

// Returns "created at FILE:LINE", or "" if it is unknown.
SLUICE_API std::string DescribeLocation(const SourceLocation& location);
// Adds that text to the error, unless memory is exhausted.
SLUICE_API void AddLocation(const SourceLocation& location,
                            Error* error) noexcept;

}  // namespace sluice
