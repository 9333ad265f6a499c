#pragma once

#include <stdexcept>
#include <vector>

#include "sluice/sluice.h"

// A small digits example: 7 images of 4x4 pixels are compared with 5 known
// ones, and 6 of them get the right label.
namespace sluice::testing {

struct SmallDigits {
  Var distance;
  Var correct;

  static constexpr int64_t kImages = 7;
  static constexpr int64_t kKnown = 5;
  static constexpr int kCorrect = 6;
};

inline Var InnerColumns(const Var& images) {
  const Var inner =
      ops::Crop(images, {.offsets = {0, 0, 1}, .shape = {-1, 4, 2}});
  return ops::Reshape(inner, {-1, 8});
}

inline SmallDigits BuildSmallDigits(Program* program) {
  const Var images = program->Data("images", DType::kFloat32, {-1, 4, 4});
  const Var known = program->Data("known", DType::kFloat32, {-1, 4, 4});
  const Var known_labels = program->Data("known_labels", DType::kInt64, {-1});
  const Var labels = program->Data("labels", DType::kInt64, {-1});
  const Var distance =
      ops::ManhattanDistance(InnerColumns(images), InnerColumns(known));
  const auto nearest = ops::TopK(distance, {.k = 1, .largest = false});
  const Var predicted = ops::Gather(known_labels, nearest.indices);
  return {distance, ops::Accuracy(predicted, labels).correct};
}

// Known image j is 10 * j everywhere and has label 100 + j; image i equals
// known image j = i % 5, brighter by 1. The label of the last image is wrong.
inline Feeds SmallDigitsFeeds() {
  const int64_t n = SmallDigits::kImages;
  const int64_t m = SmallDigits::kKnown;
  std::vector<float> images, known;
  std::vector<int64_t> labels, known_labels;
  for (int64_t i = 0; i < n; ++i) {
    images.insert(images.end(), 16, static_cast<float>(10 * (i % m) + 1));
    labels.push_back(100 + i % m);
  }
  labels.back() = 99;
  for (int64_t j = 0; j < m; ++j) {
    known.insert(known.end(), 16, static_cast<float>(10 * j));
    known_labels.push_back(100 + j);
  }
  return {{"images", Tensor::FromVector({n, 4, 4}, images)},
          {"known", Tensor::FromVector({m, 4, 4}, known)},
          {"known_labels", Tensor::FromVector({m}, known_labels)},
          {"labels", Tensor::FromVector({n}, labels)}};
}

// Throws std::logic_error unless these are the distances and the number of
// right labels. Allocates nothing if they are.
inline void CheckSmallDigits(const Tensor& distance, const Tensor& correct) {
  const float* values = distance.data<float>();
  bool right = correct.data<int32_t>()[0] == SmallDigits::kCorrect;
  for (int64_t i = 0; i < SmallDigits::kImages; ++i) {
    for (int64_t j = 0; j < SmallDigits::kKnown; ++j) {
      const float apart = static_cast<float>(10 * (i % 5) + 1 - 10 * j);
      const float expected = 8 * (apart < 0 ? -apart : apart);
      right = right && values[i * SmallDigits::kKnown + j] == expected;
    }
  }
  if (!right) throw std::logic_error("the digits come out wrong");
}

}  // namespace sluice::testing
