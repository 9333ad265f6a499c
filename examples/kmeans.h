#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <random>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "sluice/sluice.h"

// k-means with the Manhattan distance. Points are assigned to their nearest
// centroid. Centroids move to the median of their points, which minimises the
// sum of Manhattan distances (the mean minimises that of squared distances). In
// a header because tests run it, too.
namespace examples {

struct Point {
  float x = 0, y = 0;
  bool operator==(const Point&) const = default;
};
using Points = std::vector<Point>;

struct DrawnPoints {
  Points points;
  std::vector<int64_t> groups;  // the centre of each point
};

// Draws `each` points around each of `centres`. Both coordinates have a Laplace
// distribution, whose centre is best estimated by the median.
inline DrawnPoints DrawPoints(const Points& centres, int each, unsigned seed) {
  std::mt19937 engine(seed);
  std::exponential_distribution<float> exponential(1);
  const auto laplace = [&] {
    return exponential(engine) - exponential(engine);
  };
  DrawnPoints drawn;
  for (size_t group = 0; group < centres.size(); ++group) {
    for (int i = 0; i < each; ++i) {
      const float x = centres[group].x + laplace();
      drawn.points.push_back({x, centres[group].y + laplace()});
      drawn.groups.push_back(static_cast<int64_t>(group));
    }
  }
  return drawn;
}

// The nearest centroid of each point, and its distance.
struct Assignment {
  std::vector<int64_t> cluster;
  std::vector<float> distance;
  double cost = 0;  // the sum of distances
};

// Prepares a plan once for each number of points and centroids. Used by one
// thread.
class NearestCentroid {
 public:
  NearestCentroid() {
    const auto points =
        program_.Data("points", sluice::DType::kFloat32, {-1, 2});
    const auto centroids =
        program_.Data("centroids", sluice::DType::kFloat32, {-1, 2});
    const auto nearest =
        sluice::ops::TopK(sluice::ops::ManhattanDistance(points, centroids),
                          {.k = 1, .largest = false});
    fetches_ = {nearest.out, nearest.indices};
  }

  Assignment operator()(const Points& points, const Points& centroids) {
    const auto found = executor_.Run(
        program_,
        {{"points", ToTensor(points)}, {"centroids", ToTensor(centroids)}},
        fetches_);
    Assignment result{found[1].ToVector<int64_t>(), found[0].ToVector<float>()};
    for (const float distance : result.distance) {
      result.cost += distance;
    }
    return result;
  }

 private:
  static sluice::Tensor ToTensor(const Points& points) {
    std::vector<float> values;
    for (const Point& point : points) {
      values.insert(values.end(), {point.x, point.y});
    }
    return sluice::Tensor::FromVector({static_cast<int64_t>(points.size()), 2},
                                      values);
  }

  sluice::Program program_;
  sluice::Fetches fetches_;
  sluice::Executor executor_;
};

// Initial centroids that are probably far apart: each is drawn with a
// probability proportional to its distance from the previous ones (k-means++).
inline Points FirstCentroids(const Points& points,
                             int clusters,
                             unsigned seed,
                             NearestCentroid& nearest) {
  std::mt19937 engine(seed);
  Points centroids = {points[engine() % points.size()]};
  while (static_cast<int>(centroids.size()) < clusters) {
    Assignment found = nearest(points, centroids);
    // If every point is a centroid, any point will do.
    if (found.cost == 0) found.distance.assign(points.size(), 1);
    std::discrete_distribution<size_t> next(found.distance.begin(),
                                            found.distance.end());
    centroids.push_back(points[next(engine)]);
  }
  return centroids;
}

// The middle element; the upper one of two.
inline float Median(std::vector<float> values) {
  const auto middle =
      values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
  std::nth_element(values.begin(), middle, values.end());
  return *middle;
}

// A cluster without points keeps its centroid.
inline void MoveCentroids(const Points& points,
                          const std::vector<int64_t>& cluster,
                          Points* centroids) {
  for (size_t c = 0; c < centroids->size(); ++c) {
    std::vector<float> x, y;
    for (size_t i = 0; i < points.size(); ++i) {
      if (cluster[i] != static_cast<int64_t>(c)) continue;
      x.push_back(points[i].x);
      y.push_back(points[i].y);
    }
    if (!x.empty()) (*centroids)[c] = {Median(x), Median(y)};
  }
}

struct Clusters {
  std::vector<Points> centroids;  // at first, and after each iteration
  std::vector<double> costs;      // of each iteration
  Assignment assignment;          // to the last centroids
};

// Iterates until no centroid moves. Raises std::invalid_argument for no
// clusters, for more clusters than points, and for points that are not finite;
// std::runtime_error if centroids still move after 1000 iterations.
inline Clusters FindClusters(const Points& points,
                             int clusters,
                             unsigned seed,
                             NearestCentroid& nearest) {
  if (clusters < 1 || points.size() < static_cast<size_t>(clusters)) {
    throw std::invalid_argument(
        "k-means: expected 1 to " + std::to_string(points.size()) +
        " clusters, one a point; got " + std::to_string(clusters));
  }
  for (size_t i = 0; i < points.size(); ++i) {
    if (std::isfinite(points[i].x) && std::isfinite(points[i].y)) continue;
    throw std::invalid_argument("k-means: point " + std::to_string(i) +
                                " is not finite");
  }
  Clusters found;
  found.centroids = {FirstCentroids(points, clusters, seed, nearest)};
  for (int iteration = 0; iteration < 1000; ++iteration) {
    Points centroids = found.centroids.back();
    found.assignment = nearest(points, centroids);
    found.costs.push_back(found.assignment.cost);
    MoveCentroids(points, found.assignment.cluster, &centroids);
    if (centroids == found.centroids.back()) return found;
    found.centroids.push_back(std::move(centroids));
  }
  throw std::runtime_error(
      "k-means: centroids still move after 1000 iterations");
}

// The share of points whose group is the most frequent one of their cluster.
inline double Purity(const std::vector<int64_t>& cluster,
                     const std::vector<int64_t>& groups,
                     size_t clusters,
                     size_t group_count) {
  std::vector<std::vector<int>> counts(clusters, std::vector<int>(group_count));
  for (size_t i = 0; i < cluster.size(); ++i) {
    ++counts[cluster[i]][groups[i]];
  }
  int pure = 0;
  for (const auto& count : counts) {
    pure += *std::max_element(count.begin(), count.end());
  }
  return static_cast<double>(pure) / static_cast<double>(cluster.size());
}

}  // namespace examples
