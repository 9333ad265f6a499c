#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "sluice/framework/values/attribute.h"
#include "sluice/framework/values/ddim.h"
#include "sluice/platform/dtype.h"
#include "sluice/platform/export.h"

namespace sluice {

// Where the user's program created an op; if `line` is 0, `file` is the text.
struct SourceLocation {
  std::string file;
  int line = 0;

  // As a default argument, it is the caller's own line.
  static SourceLocation Here(const char* file = __builtin_FILE(),
                             int line = __builtin_LINE()) {
    return {file, line};
  }
};

// A variable of a block: its description before any run.
struct VarDesc {
  std::string name;
  DType dtype = DType::kFloat32;
  DDim dims;                   // -1 for a size that only a feed determines
  bool persistable = false;    // lives in the scope and outlives a run
  bool is_data = false;        // must be fed
  bool stop_gradient = false;  // no gradient flows into or past it
  bool replicated = false;     // persistable; equal at first in all processes
  // The variable of the offsets that cut its rows into sequences, "" for none:
  // sequence b has rows offsets[b] to offsets[b + 1]. Rows from offsets[B] on
  // are padding. Offsets may have offsets: sequences of sequences.
  std::string offsets = {};
  // Of a sparse gradient: the int64 variable that says for each of its rows to
  // which row of the parameter it is added, or -1 for none; "" for others.
  std::string rows = {};
};

// The variables bound to one argument of an op.
using ArgVars = std::vector<std::string>;

// The purpose of an op. A program cloned for testing has forward ops only.
enum class OpPurpose : uint8_t { kForward, kBackward, kOptimize };

// One op of a block. Arguments keep the schema's order; an omitted optional
// input has no entry.
struct SLUICE_API OpDesc {
  std::string type;
  std::vector<std::pair<std::string, ArgVars>> inputs;
  std::vector<std::pair<std::string, ArgVars>> outputs;
  AttributeMap attributes;
  std::string hint;  // see framework/hints/kernel_hints.h
  SourceLocation location;
  OpPurpose purpose = OpPurpose::kForward;

  // Returns the variables of an argument; empty if it was omitted.
  const ArgVars& Input(std::string_view argument) const;
  const ArgVars& Output(std::string_view argument) const;
};

}  // namespace sluice
