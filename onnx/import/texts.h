#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>

#include "sluice/onnx/import/element_source.h"
#include "sluice/onnx/import/import_cost.h"
#include "sluice/onnx/import/messages.h"

namespace sluice::onnx {

// Tensors of strings are numbers in the program, int64. This is the table of a
// model's own texts. A run numbers others, which are fed or which ops make,
// from its end on (TextTable).
class Texts {
 public:
  // The number of a text, which is added if it is new.
  int64_t NumberOf(const std::string& text);
  Ints NumbersOf(const Names& texts);
  // The values of a tensor, which may be one of strings. Raises what ToTensor
  // does, and DataLoss for strings that are not as many as its shape says.
  Tensor ToTensor(const TensorProto& tensor,
                  const ElementSource* source,
                  const std::string& what,
                  ImportCost* cost);
  // Moves the texts out, in the order of their numbers.
  Names Take() { return std::move(texts_); }

 private:
  std::unordered_map<std::string, int64_t> numbers_;
  Names texts_;
};

bool IsOfTexts(const TensorProto& tensor);

// What an operator makes of inputs that are texts: outputs that are texts, too,
// outputs that are none, or it cannot take them.
enum class TextUse { kMoves, kReads, kRefuses };
// By the name of an operator, with its domain before it unless it is ONNX's.
TextUse TextUseOf(std::string_view type);
// Whether operators of this name become ops that read the table of a run.
bool NeedsTable(std::string_view type);

}  // namespace sluice::onnx
