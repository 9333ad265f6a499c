#include "examples/kmeans.h"

#include <cmath>
#include <numeric>
#include <sstream>
#include <stdexcept>
#include <string>

#include "examples/kmeans_picture.h"
#include <gtest/gtest.h>

namespace sluice {
namespace {

using examples::Point;
using examples::Points;

float DistanceBetween(const Point& a, const Point& b) {
  return std::abs(a.x - b.x) + std::abs(a.y - b.y);
}

int CountOf(const std::string& part, const std::string& text) {
  int count = 0;
  for (size_t at = text.find(part); at != std::string::npos;
       at = text.find(part, at + 1)) {
    ++count;
  }
  return count;
}

// Three groups of points in three clusters.
class KMeansTest : public ::testing::Test {
 protected:
  const Points centres_ = {{-6, 0}, {6, 0}, {0, 9}};
  const examples::DrawnPoints drawn_ = examples::DrawPoints(centres_, 51, 3);
  examples::NearestCentroid nearest_;
  const examples::Clusters found_ =
      examples::FindClusters(drawn_.points, 3, 5, nearest_);
};

TEST_F(KMeansTest, TheGroupsAreFound) {
  EXPECT_GT(examples::Purity(found_.assignment.cluster, drawn_.groups, 3, 3),
            0.95);
}

TEST_F(KMeansTest, EveryPointHasTheNearestCentroid) {
  for (size_t i = 0; i < drawn_.points.size(); ++i) {
    const auto& centroids = found_.centroids.back();
    const float own = DistanceBetween(drawn_.points[i],
                                      centroids[found_.assignment.cluster[i]]);
    EXPECT_FLOAT_EQ(own, found_.assignment.distance[i]);
    for (const Point& other : centroids) {
      EXPECT_LE(own, DistanceBetween(drawn_.points[i], other));
    }
  }
}

TEST_F(KMeansTest, CentroidsAreMedians) {
  Points medians = found_.centroids.back();
  examples::MoveCentroids(drawn_.points, found_.assignment.cluster, &medians);
  EXPECT_EQ(medians, found_.centroids.back());
  EXPECT_EQ(examples::Median({5, 1, 100}), 5);
  // No position close to a centroid has a smaller sum of distances.
  for (const Point& step :
       Points{{0.1F, 0}, {-0.1F, 0}, {0, 0.1F}, {0, -0.1F}}) {
    double cost = 0;
    for (size_t i = 0; i < drawn_.points.size(); ++i) {
      const Point& centroid = medians[found_.assignment.cluster[i]];
      cost += DistanceBetween(drawn_.points[i],
                              {centroid.x + step.x, centroid.y + step.y});
    }
    EXPECT_GE(cost, found_.assignment.cost);
  }
}

TEST_F(KMeansTest, TheSumOfDistancesFallsUntilItStays) {
  ASSERT_GE(found_.costs.size(), 2U);
  EXPECT_EQ(found_.costs.size(), found_.centroids.size());
  for (size_t i = 1; i < found_.costs.size(); ++i) {
    EXPECT_LE(found_.costs[i], found_.costs[i - 1]);
  }
}

TEST_F(KMeansTest, AClusterWithoutPointsKeepsItsCentroid) {
  Points centroids = {{0, 0}, {1000, 1000}};
  const auto cluster = nearest_(drawn_.points, centroids).cluster;
  examples::MoveCentroids(drawn_.points, cluster, &centroids);
  EXPECT_NE(centroids[0], (Point{0, 0}));
  EXPECT_EQ(centroids[1], (Point{1000, 1000}));
}

TEST_F(KMeansTest, ACentroidForEachPointStaysAtOnce) {
  const Points points = {{0, 0}, {3, 1}};
  const auto found = examples::FindClusters(points, 2, 1, nearest_);
  EXPECT_EQ(found.costs, std::vector<double>{0});
}

TEST_F(KMeansTest, PointsMayBeTheSame) {
  const auto found = examples::FindClusters(Points(5, {2, 3}), 2, 1, nearest_);
  EXPECT_EQ(found.centroids.back(), Points(2, {2, 3}));
}

TEST_F(KMeansTest, PointsThatAreNotFiniteAreNamed) {
  const Points points = {{0, 0}, {1, std::nanf("")}, {INFINITY, 1}};
  try {
    examples::FindClusters(points, 1, 1, nearest_);
    FAIL() << "no error";
  } catch (const std::invalid_argument& error) {
    EXPECT_STREQ(error.what(), "k-means: point 1 is not finite");
  }
}

TEST_F(KMeansTest, NumbersOfClustersWithoutSenseAreRefused) {
  EXPECT_THROW(examples::FindClusters(drawn_.points, 0, 1, nearest_),
               std::invalid_argument);
  EXPECT_THROW(examples::FindClusters({{1, 2}}, 2, 1, nearest_),
               std::invalid_argument);
}

TEST_F(KMeansTest, ThePictureHasEveryPointAndCentroidInsideItsFrame) {
  std::ostringstream out;
  examples::ClusterPicture(drawn_.points, found_).Write(nearest_, out);
  const std::string text = out.str();
  EXPECT_EQ(CountOf("<circle class=\"point\"", text), 153);
  // Black lines on white ones.
  EXPECT_EQ(CountOf("class=\"path\"", text), 6);
  EXPECT_EQ(CountOf("class=\"centroid\"", text), 6);
  for (const char* colour : {"#0072B2", "#D55E00", "#009E73"}) {
    EXPECT_GT(CountOf(colour, text), 20) << colour;
  }
  EXPECT_EQ(CountOf("=\"-", text.substr(text.find("<circle"))), 0);
  EXPECT_EQ(text.find("nan"), std::string::npos);
}

}  // namespace
}  // namespace sluice
