#pragma once

#include <cstdint>
#include <string>

#include "sluice/onnx/import/node.h"

// What the classifiers and regressors of ai.onnx.ml share. They do what
// onnxruntime does where ONNX does not say it.
namespace sluice::onnx {

// Input `index` as rows [N, F] of `dtype`; a vector is one row.
std::string RowsOf(Node& node, int index, DType dtype);
// F of input 0; kUnknownDim if it is unknown.
int64_t FeaturesOf(const Node& node);

// Attribute `name`, floats, or in their place the tensor `<name>_as_tensor`.
Doubles NumbersOf(Node& node, const std::string& name);

// A constant of these numbers.
std::string NewNumbers(Node& node,
                       const DDim& dims,
                       const Doubles& values,
                       DType dtype);

// In the order of ONNX's numbers.
enum class ScoreTransform : uint8_t {
  kNone,
  kSoftmax,
  kLogistic,
  kSoftmaxZero,
  kProbit
};

// Attribute post_transform, a name. Raises InvalidArgument for an unknown one.
ScoreTransform TransformOf(Node& node);

// The scores [N, C], transformed.
std::string Transformed(Node& node,
                        const std::string& scores,
                        ScoreTransform transform);
// The same for regressors, where onnxruntime transforms one target only by
// PROBIT.
std::string TransformedTargets(Node& node,
                               const std::string& scores,
                               int64_t targets,
                               ScoreTransform transform);

// The classes of a classifier, whose label is output 0.
class ClassLabels {
 public:
  // Reads attribute `numbers`, or classlabels_strings, as which it marks output
  // 0. Raises InvalidArgument if there is neither.
  ClassLabels(Node& node, const char* numbers);

  int64_t count() const { return std::ssize(numbers_); }

  // Makes output 0 the label with the largest score of each row [N, C].
  void FinishByBest(const std::string& scores) const;
  // Makes output 0 the second label of two where [N, 1] `condition` is true,
  // and the first one elsewhere; 1 and 0 if there are not two labels.
  void FinishByCondition(const std::string& condition) const;

 private:
  Node& node_;
  Ints numbers_;  // of strings those of Texts
  bool of_texts_ = false;
};

// Two scores of the one score [N, 1] of the second of two classes: [1 - s, s],
// or of weights of both signs [-s, s]. LOGISTIC transforms the latter, PROBIT
// both, and others have no effect.
std::string BothScores(Node& node,
                       const std::string& score,
                       bool is_share,
                       ScoreTransform transform);

// Makes output 0 this value in another dtype.
void FinishCast(Node& node, const std::string& x, DType dtype);

// Makes output 1 these scores, in float32.
void FinishScores(Node& node, const std::string& scores);

}  // namespace sluice::onnx
