#pragma once

#include <cstdint>
#include <string>

#include "examples/digits_data.h"

#include "sluice/sluice.h"

// The graph of the digits example: each image gets the label of the known image
// with the smallest Manhattan distance. In a header because tests run it, too.
namespace examples {

// The first 1000 images are known; the other 797 are to be recognised.
inline constexpr int64_t kKnownDigits = 1000;

struct DigitsVars {
  sluice::Var distance;   // float32 [n, known]
  sluice::Var predicted;  // int64 [n, 1]
  sluice::Var accuracy;   // float32 [1]
  sluice::Var correct;    // int32 [1]
  sluice::Var total;      // int32 [1]
};

// Crops 8x8 images to columns 1 to 6, as rows of 48; the outer columns have
// hardly any ink.
inline sluice::Var InnerColumns(const sluice::Var& images) {
  const sluice::Var inner =
      sluice::ops::Crop(images, {.offsets = {0, 0, 1}, .shape = {-1, 8, 6}});
  return sluice::ops::Reshape(inner, {-1, 48});
}

inline DigitsVars BuildDigits(sluice::Program* program) {
  using sluice::DType;
  namespace ops = sluice::ops;
  const auto images = program->Data("images", DType::kFloat32, {-1, 8, 8});
  const auto known = program->Data("known", DType::kFloat32, {-1, 8, 8});
  const auto known_labels = program->Data("known_labels", DType::kInt64, {-1});
  const auto labels = program->Data("labels", DType::kInt64, {-1});

  const auto rows = InnerColumns(images);
  const auto known_rows = InnerColumns(known);
  const auto distance = ops::ManhattanDistance(rows, known_rows);
  const auto nearest = ops::TopK(distance, {.k = 1, .largest = false});
  const auto predicted = ops::Gather(known_labels, nearest.indices);
  const auto accuracy = ops::Accuracy(predicted, labels);
  return {distance, predicted, accuracy.accuracy, accuracy.correct,
          accuracy.total};
}

// The feeds of BuildDigits, from the folder examples/data.
inline sluice::Feeds DigitsFeeds(const std::string& folder) {
  namespace nn = sluice::nn;
  const auto images = nn::ReadNpy(folder + "/digits_images.npy");
  const auto labels = nn::ReadNpy(folder + "/digits_labels.npy");
  const int64_t count = images.dims()[0];
  return {{"images", Rows<float>(images, kKnownDigits, count)},
          {"known", Rows<float>(images, 0, kKnownDigits)},
          {"known_labels", Rows<int64_t>(labels, 0, kKnownDigits)},
          {"labels", Rows<int64_t>(labels, kKnownDigits, count)}};
}

}  // namespace examples
