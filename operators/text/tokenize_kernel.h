#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "sluice/operators/text/op_texts.h"

namespace sluice {

// Whether an expression stands for itself alone.
SLUICE_API bool IsLiteral(std::string_view expression);

// What all kernels of tokenize have in common. The expressions are the op's
// pattern or its separators.
class SLUICE_API TokenizeKernel : public Int64Kernel {
 public:
  explicit TokenizeKernel(const OpKernelConstruction& construction);
  void Compute(OpKernelContext& context) const override;

 protected:
  struct Match {
    size_t begin;
    size_t size;
  };
  // The first match of an expression, of these the longest, that begins at
  // `begin` or later, which is inside of the text.
  virtual std::optional<Match> Find(size_t expression,
                                    std::string_view text,
                                    size_t begin) const = 0;

  // Whether the tokens are code points.
  bool each_point() const { return each_point_; }
  const std::vector<std::string>& expressions() const { return expressions_; }

 private:
  std::vector<std::string_view> Tokens(std::string_view text) const;
  template <typename Take>
  void ForEachMatch(size_t expression,
                    std::string_view text,
                    const Take& take) const;

  int64_t min_length_;
  bool mark_;
  std::string pad_;
  bool finds_tokens_;  // and no separators
  bool each_point_;
  std::vector<std::string> expressions_;
};

}  // namespace sluice
