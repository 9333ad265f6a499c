#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "sluice/framework/values/text_table.h"
#include "sluice/operators/registration.h"

namespace sluice {

// A kernel whose first input is int64.
class Int64Kernel : public OpKernel {
 public:
  using OpKernel::OpKernel;
  static constexpr DType kDTypes[] = {DType::kInt64};
};

// Declares T, int64, and input Texts, which OpTexts reads.
SLUICE_API void AddTextsInput(OpSchema& op);

// The strings that one call of an op reads and makes: those of the table that
// input Texts names. Without it a number holds the string's bytes, at most 7,
// the first ones highest: "ab" is 97 * 256 + 98, and "" is 0.
class SLUICE_API OpTexts {
 public:
  // Raises NotFound for a table that is gone.
  explicit OpTexts(const OpKernelContext& context);

  // Elements of input `input`. Raises OutOfRange for a number of no string.
  std::string Read(const char* input, int64_t number) const;
  // Raises OutOfRange for a string that no number holds.
  int64_t NumberOf(std::string_view text) const;
  // As Read; also raises InvalidArgument for a string that is no UTF-8.
  std::string ReadUtf8(const char* input, int64_t number) const;

  // Allocates Out [dims.., n] for rows of numbers, n the longest's length, and
  // fills shorter ones with `pad`.
  void WriteRows(OpKernelContext& context,
                 const DDim& dims,
                 const std::vector<Ints>& rows,
                 std::string_view pad) const;

 private:
  const std::string& op_;
  std::shared_ptr<TextTable> table_;
};

}  // namespace sluice
