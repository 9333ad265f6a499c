#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <ostream>
#include <utility>

#include "examples/kmeans.h"

namespace examples {

// Clusters in the plane as an SVG: the regions of the centroids, the points,
// and the paths of the centroids.
class ClusterPicture {
 public:
  ClusterPicture(const Points& points, const Clusters& clusters)
      : points_(points), clusters_(clusters) {
    const auto [left, right] = Range(&Point::x);
    const auto [bottom, top] = Range(&Point::y);
    const float margin = 0.04F * std::max(right - left, top - bottom) + 1e-6F;
    low_ = {left - margin, bottom - margin};
    high_ = {right + margin, top + margin};
    scale_ = kWidth / (high_.x - low_.x);
    height_ = scale_ * (high_.y - low_.y);
  }

  void Write(NearestCentroid& nearest, std::ostream& out) const {
    out << "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"" << kWidth
        << "\" height=\"" << height_ + 2 * kLine << "\" viewBox=\"0 "
        << -2 * kLine << " " << kWidth << " " << height_ + 2 * kLine
        << "\" font-family=\"sans-serif\" font-size=\"13\">\n"
        << "<rect y=\"" << -2 * kLine << "\" width=\"100%\" height=\"100%\" "
        << "fill=\"white\"/>\n";
    WriteTitle(out);
    WriteRegions(nearest, out);
    for (size_t i = 0; i < points_.size(); ++i) {
      out << "<circle class=\"point\" cx=\"" << X(points_[i]) << "\" cy=\""
          << Y(points_[i]) << "\" r=\"2.5\" fill=\""
          << Colour(clusters_.assignment.cluster[i])
          << "\" stroke=\"white\" stroke-width=\"0.5\"/>\n";
    }
    for (size_t c = 0; c < clusters_.centroids.back().size(); ++c) {
      WriteCentroid(c, out);
    }
    out << "</svg>\n";
  }

 private:
  static constexpr float kWidth = 720;
  static constexpr float kLine = 20;  // height of text
  static constexpr float kCell = 3;   // size of a cell of a region

  // Colours safe for colour-blind readers (Okabe and Ito).
  static const char* Colour(int64_t cluster) {
    static constexpr std::array kColours = {"#0072B2", "#D55E00", "#009E73",
                                            "#CC79A7", "#E69F00", "#56B4E9"};
    return kColours[cluster % kColours.size()];
  }

  std::pair<float, float> Range(float Point::*coordinate) const {
    const auto [low, high] = std::minmax_element(
        points_.begin(), points_.end(), [&](const Point& a, const Point& b) {
          return a.*coordinate < b.*coordinate;
        });
    return {(*low).*coordinate, (*high).*coordinate};
  }

  float X(const Point& point) const { return scale_ * (point.x - low_.x); }
  float Y(const Point& point) const { return scale_ * (high_.y - point.y); }

  void WriteTitle(std::ostream& out) const {
    out << "<text x=\"8\" y=\"" << -kLine - 5 << "\" font-weight=\"bold\">"
        << points_.size() << " points in " << clusters_.centroids.back().size()
        << " clusters by the Manhattan distance</text>\n"
        << "<text x=\"8\" y=\"-7\">cross: centroid, the median of its points, "
        << "after " << clusters_.costs.size()
        << " iterations; line: its path; shading: the area nearest to it"
        << "</text>\n";
  }

  // Fills the region of each centroid in rows of cells, with the same plan.
  void WriteRegions(NearestCentroid& nearest, std::ostream& out) const {
    const auto columns = static_cast<int>(kWidth / kCell);
    out << "<g class=\"regions\" opacity=\"0.16\" "
        << "shape-rendering=\"crispEdges\">\n";
    for (float top = 0; top < height_; top += kCell) {
      Points cells;
      for (int i = 0; i < columns; ++i) {
        cells.push_back(
            {low_.x + (static_cast<float>(i) + 0.5F) * kCell / scale_,
             high_.y - (top + 0.5F * kCell) / scale_});
      }
      const auto cluster = nearest(cells, clusters_.centroids.back()).cluster;
      for (int begin = 0, end = 0; begin < columns; begin = end) {
        while (end < columns && cluster[end] == cluster[begin]) {
          ++end;
        }
        out << "<rect x=\"" << static_cast<float>(begin) * kCell << "\" y=\""
            << top << "\" width=\"" << static_cast<float>(end - begin) * kCell
            << "\" height=\"" << std::min(kCell, height_ - top) << "\" fill=\""
            << Colour(cluster[begin]) << "\"/>\n";
      }
    }
    out << "</g>\n";
  }

  void WriteCentroid(size_t centroid, std::ostream& out) const {
    for (const char* stroke : {"stroke=\"white\" stroke-width=\"3\"",
                               "stroke=\"black\" stroke-width=\"1.2\""}) {
      out << "<polyline class=\"path\" fill=\"none\" " << stroke
          << " points=\"";
      for (const Points& centroids : clusters_.centroids) {
        out << X(centroids[centroid]) << "," << Y(centroids[centroid]) << " ";
      }
      out << "\"/>\n";
    }
    const Point& last = clusters_.centroids.back()[centroid];
    for (const char* stroke : {"stroke=\"white\" stroke-width=\"6\"",
                               "stroke=\"black\" stroke-width=\"3\""}) {
      out << "<path class=\"centroid\" d=\"M" << X(last) - 8 << " " << Y(last)
          << "h16m-8 -8v16\" fill=\"none\" " << stroke << "/>\n";
    }
  }

  const Points& points_;
  const Clusters& clusters_;
  Point low_, high_;
  float scale_ = 1;
  float height_ = 1;
};

}  // namespace examples
