#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "sluice/framework/op/op_desc.h"
#include "sluice/framework/program/control_flow.h"

// Shared by the functions that add ops with blocks.
namespace sluice::internal {

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

// Raises InvalidArgument for a variable of another program.
std::vector<std::string> NamesOf(const Vars& vars, const Program& program);
Vars OutputsOf(Program& program, const OpDesc& op, std::string_view output);

// Makes a data variable of the current block, block_1.<stem>, for a value that
// its loop gives.
Var BlockData(Program* program,
              const std::string& stem,
              DType dtype,
              const DDim& dims);
// One for each of `like`, with other shapes if `dims` is not empty.
Vars BlockDataLike(Program* program,
                   const std::string& stem,
                   const Vars& like,
                   const std::vector<DDim>& dims);

}  // namespace sluice::internal
