#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "sluice/framework/program/program.h"
#include "sluice/platform/export.h"

namespace sluice {

// Adds the ops of a sum of products in the notation of numpy.einsum, e.g.
// Einsum("bij,bjk->bik", {a, b}). A letter names a dim, "..." the unnamed dims;
// dims that the output lacks are summed. Without "->" the output has the dims
// of "..." and then, sorted, the letters that occur once. A letter twice in a
// term means the diagonal. A dim of size 1 is broadcast. Terms are multiplied
// from left to right; two with a letter to sum over become a matmul if their
// dtype and sizes allow it. Its gradient is that of these ops. Raises
// InvalidArgument, naming the term, for an equation that does not match its
// inputs or inputs of several dtypes, Unimplemented for an input of unknown
// rank and a diagonal of unknown size.
SLUICE_API Var Einsum(std::string_view equation,
                      const std::vector<Var>& inputs,
                      const SourceLocation& location = SourceLocation::Here());

// Receives the ops of an einsum, for callers that write graphs of their own.
class SLUICE_API EinsumWriter {
 public:
  virtual ~EinsumWriter();
  // Adds an op; returns the name of its output Out.
  virtual std::string Append(const std::string& type,
                             Program::ArgList inputs,
                             AttributeMap attributes) = 0;
  // Adds the op that computes the result; it has one input.
  virtual std::string AppendLast(const std::string& type,
                                 const std::string& x,
                                 AttributeMap attributes = {});
  virtual DDim DimsOf(const std::string& variable) const = 0;
  virtual DType DTypeOf(const std::string& variable) const = 0;
};

// Returns the name of the result of `equation` for these variables.
SLUICE_API std::string WriteEinsum(std::string_view equation,
                                   const std::vector<std::string>& inputs,
                                   EinsumWriter* writer);

}  // namespace sluice
