// Finds clusters among points in the plane by k-means with the Manhattan
// distance, and draws them.
#include "examples/kmeans.h"

#include <cstdio>
#include <exception>
#include <filesystem>
#include <fstream>
#include <stdexcept>
#include <string>

#include "examples/kmeans_picture.h"

int main(int argc, char** argv) try {
  if (argc > 2 || (argc == 2 && argv[1][0] == '-')) {
    std::puts("usage: kmeans [PICTURE.svg]");
    return argc == 2 && std::string(argv[1]) == "--help" ? 0 : 2;
  }
  const std::filesystem::path path = argc > 1 ? argv[1] : "build/kmeans.svg";
  const examples::Points centres = {
      {-5, 4}, {4, 5}, {7, -2}, {0, -4}, {-8, -4}};
  const examples::DrawnPoints drawn = examples::DrawPoints(centres, 160, 1);
  const int count = static_cast<int>(centres.size());

  std::printf("%zu points get %d clusters: about a second\n",
              drawn.points.size(), count);
  examples::NearestCentroid nearest;
  const examples::Clusters clusters =
      examples::FindClusters(drawn.points, count, 1, nearest);
  for (size_t i = 0; i < clusters.costs.size(); ++i) {
    std::printf("iteration %2zu: sum of distances %.1f\n", i + 1,
                clusters.costs[i]);
  }
  std::printf(
      "the centroids no longer move; %.1f %% of the points are in the cluster "
      "of\ntheir group\n",
      100 * examples::Purity(clusters.assignment.cluster, drawn.groups,
                             centres.size(), centres.size()));

  if (path.has_parent_path()) {
    std::filesystem::create_directories(path.parent_path());
  }
  std::ofstream out(path);
  examples::ClusterPicture(drawn.points, clusters).Write(nearest, out);
  if (!out.flush()) {
    throw std::runtime_error("cannot write " + path.string());
  }
  std::printf("  %s  the clusters, and how they were found\n", path.c_str());
  return 0;
} catch (const std::exception& error) {
  std::fprintf(stderr, "kmeans: %s\n", error.what());
  return 1;
}
