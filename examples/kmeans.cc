// Groups the digits without looking at their labels: k-means with the Manhattan
// distance, whose centres are medians (k-medians). One plan, prepared once,
// does all distances and assignments.
#include <algorithm>
#include <array>
#include <cstdio>
#include <exception>
#include <memory>
#include <numeric>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "examples/digits_data.h"

#include "sluice/sluice.h"

namespace {

constexpr int64_t kClusters = 10;
constexpr int64_t kPixels = 64;
constexpr int kMostIterations = 100;

// The centre of each cluster: the median of every pixel, which no other value
// beats in the sum of distances. A cluster without images keeps its centre.
void MoveCentres(const std::vector<float>& images,
                 const std::vector<int64_t>& cluster,
                 std::vector<float>* centres) {
  std::vector<float> column;
  for (int64_t c = 0; c < kClusters; ++c) {
    for (int64_t pixel = 0; pixel < kPixels; ++pixel) {
      column.clear();
      for (size_t i = 0; i < cluster.size(); ++i) {
        if (cluster[i] == c) column.push_back(images[i * kPixels + pixel]);
      }
      if (column.empty()) break;
      const auto middle =
          column.begin() + static_cast<int64_t>(column.size() / 2);
      std::nth_element(column.begin(), middle, column.end());
      (*centres)[c * kPixels + pixel] = *middle;
    }
  }
}

// The share of images that carry the most frequent label of their cluster.
double Purity(const std::vector<int64_t>& cluster,
              const std::vector<int64_t>& labels) {
  std::array<std::array<int, 10>, kClusters> counts{};
  for (size_t i = 0; i < cluster.size(); ++i) {
    ++counts[cluster[i]][labels[i]];
  }
  int pure = 0;
  for (const auto& count : counts) {
    pure += *std::max_element(count.begin(), count.end());
  }
  return static_cast<double>(pure) / static_cast<double>(cluster.size());
}

// The plan that gives each image its nearest centre and the distance to it.
std::shared_ptr<const sluice::Plan> PrepareAssignment(
    sluice::Executor* executor, const sluice::Feeds& feeds) {
  sluice::Program program;
  const auto images =
      program.Data("images", sluice::DType::kFloat32, {-1, 8, 8});
  const auto centres =
      program.Data("centres", sluice::DType::kFloat32, {kClusters, kPixels});
  const auto distance = sluice::ops::ManhattanDistance(
      sluice::ops::Reshape(images, {-1, kPixels}), centres);
  const auto nearest = sluice::ops::TopK(distance, {.k = 1, .largest = false});
  return executor->Prepare(program, feeds, {nearest.out, nearest.indices});
}

}  // namespace

int main(int argc, char** argv) try {
  const std::string folder = argc > 1 ? argv[1] : EXAMPLES_DATA;
  const auto image_bytes = examples::ReadNpy(folder + "/digits_images.npy");
  const auto label_bytes = examples::ReadNpy(folder + "/digits_labels.npy");
  const int64_t count = image_bytes.sizes.at(0);
  const auto images = examples::Rows<float>(image_bytes, 0, count);
  const auto labels =
      examples::Rows<int64_t>(label_bytes, 0, count).ToVector<int64_t>();
  const std::vector<float> pixels = images.ToVector<float>();

  // Ten images, evenly spread over the file, are the first centres.
  std::vector<float> centres(kClusters * kPixels);
  for (int64_t c = 0; c < kClusters; ++c) {
    const auto image = pixels.begin() + c * (count / kClusters) * kPixels;
    std::copy(image, image + kPixels, centres.begin() + c * kPixels);
  }

  sluice::Executor executor;
  const auto feeds = [&] {
    return sluice::Feeds{
        {"images", images},
        {"centres", sluice::Tensor::FromVector({kClusters, kPixels}, centres)}};
  };
  const auto plan = PrepareAssignment(&executor, feeds());

  double cost = 0;
  for (int iteration = 1; iteration <= kMostIterations; ++iteration) {
    const std::vector<sluice::Tensor> nearest = plan->Run(feeds());
    const auto distances = nearest[0].ToVector<float>();
    const auto cluster = nearest[1].ToVector<int64_t>();
    const double previous = std::exchange(
        cost, std::accumulate(distances.begin(), distances.end(), 0.0));
    std::printf("iteration %2d: cost %.0f, purity %.4f\n", iteration, cost,
                Purity(cluster, labels));
    if (iteration > 1 && cost > previous) {
      throw std::runtime_error("the cost has risen");
    }
    if (iteration > 1 && cost == previous) {
      std::printf("settled after %d iterations\n", iteration);
      return 0;
    }
    MoveCentres(pixels, cluster, &centres);
  }
  std::fprintf(stderr, "kmeans: not settled after %d iterations\n",
               kMostIterations);
  return 1;
} catch (const std::exception& error) {
  std::fprintf(stderr, "kmeans: %s\n", error.what());
  return 1;
}
