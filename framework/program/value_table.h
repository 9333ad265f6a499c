#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "sluice/framework/op/op_desc.h"
#include "sluice/framework/program/program.h"

namespace sluice {

// The values of a block. Ops may write a variable again, so a variable has
// several values: an initial one (a feed, a parameter), and one for each op
// that writes it. Values are numbered from 0. The block must outlive the table,
// unchanged. Internal to framework/program.
class ValueTable {
 public:
  struct Value {
    const VarDesc* var;
    int writer;  // the index of the op that wrote it; -1: initial
  };
  struct OpValues {
    std::vector<int> inputs;  // those whose data is read, not only the shape
    std::vector<int> outputs;
  };

  explicit ValueTable(const BlockDesc& block);

  const Value& value(int number) const { return values_[number]; }
  int size() const { return static_cast<int>(values_.size()); }
  const OpValues& op(int index) const { return ops_[index]; }

  // Return the value of `variable` before (after) op `index`.
  int Before(int index, std::string_view variable) const;
  int After(int index, std::string_view variable) const {
    return Before(index + 1, variable);
  }
  // Returns the value after the last op; -1 for an unknown variable.
  int Latest(std::string_view variable) const;

 private:
  void Add(const VarDesc* var, int writer);

  std::vector<Value> values_;
  std::vector<OpValues> ops_;
  // In order of their writers.
  std::map<std::string, std::vector<int>, std::less<>> by_variable_;
};

}  // namespace sluice
