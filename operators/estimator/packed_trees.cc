#include "sluice/operators/estimator/packed_trees.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <cstring>
#include <limits>
#include <optional>
#include <vector>

#include "sluice/platform/text.h"

namespace sluice {

template <typename T>
TreeKey<T> TreeKeyOf(T x) {
  using Key = TreeKey<T>;
  constexpr Key kSign = Key{1} << (8 * sizeof(T) - 1);
  // Infinities have the largest keys of numbers, and NaN that after them.
  if (std::isnan(x)) {
    return std::bit_cast<Key>(std::numeric_limits<T>::infinity()) + kSign + 1;
  }
  const auto bits = std::bit_cast<Key>(x + T{0});  // -0 + 0 is 0
  return (bits & kSign) != 0 ? ~bits : bits + kSign;
}

namespace {

template <typename T>
struct KeyRange {
  TreeKey<T> first, span;
};

// The keys for which a comparison is true; none where they are no range. For
// kTreeUnequal, those for which it is false.
template <typename T>
std::optional<KeyRange<T>> KeysOf(int32_t mode, T split) {
  using Key = TreeKey<T>;
  constexpr T kInfinity = std::numeric_limits<T>::infinity();
  const Key nan = TreeKeyOf(std::numeric_limits<T>::quiet_NaN());
  const bool to_yes = (mode & kTreeNaNToYes) != 0;
  if (std::isnan(split)) return std::nullopt;
  const Key at = TreeKeyOf(split);
  // The least key is that of -infinity. NaN comes before it, and after
  // infinity.
  const Key lowest = TreeKeyOf(-kInfinity), highest = TreeKeyOf(kInfinity);
  const auto range = [](Key first, Key last) {
    return KeyRange<T>{first, static_cast<Key>(last - first)};
  };
  const Key first = to_yes ? nan : lowest, last = to_yes ? nan : highest;
  switch (mode & ~kTreeNaNToYes) {
    case kTreeAtMost:
      return range(first, at);
    case kTreeLess:
      if (at == lowest) return std::nullopt;
      return range(first, at - 1);
    case kTreeAtLeast:
      return range(at, last);
    case kTreeGreater:
      if (at == highest) return std::nullopt;
      return range(at + 1, last);
    case kTreeEqual:
      if (to_yes) return std::nullopt;
      return range(at, at);
    case kTreeUnequal:  // NaN is unequal in any case
      return range(at, at);
    default:
      return std::nullopt;
  }
}

// Lays trees out anew, a level of each after the other.
template <typename T>
class TreeLayout {
 public:
  using Trees = PackedTrees<T>;

  TreeLayout(std::span<const Tensor* const> parameters,
             int64_t features,
             int64_t weights)
      : nodes_(parameters[0]->data<int32_t>()),
        splits_(parameters[1]->data<T>()),
        count_(parameters[1]->numel()),
        features_(features),
        weights_(weights) {
    const Tensor& roots = *parameters[2];
    for (int64_t i = 0; usable_ && i < roots.numel(); ++i) {
      Add(roots.data<int32_t>()[i]);
    }
  }

  Tensor Packed() const {
    using Header = typename Trees::Header;
    const Header header = {usable_ ? 1 : 0, usable_ ? Count(trees_) : 0,
                           usable_ ? Count(laid_) : 0};
    size_t bytes = sizeof(Header);
    if (usable_) {
      bytes += trees_.size() * sizeof(trees_[0]) +
               leaves_.size() * sizeof(leaves_[0]) +
               laid_.size() * sizeof(laid_[0]);
    }
    Tensor packed = PackedBytes(bytes);
    auto* to = static_cast<std::byte*>(packed.raw_data());
    const auto put = [&](const void* from, size_t size) {
      if (size > 0) std::memcpy(to, from, size);
      to += size;
    };
    put(&header, sizeof(header));
    if (!usable_) return packed;
    put(trees_.data(), trees_.size() * sizeof(trees_[0]));
    put(leaves_.data(), leaves_.size() * sizeof(leaves_[0]));
    put(laid_.data(), laid_.size() * sizeof(laid_[0]));
    return packed;
  }

 private:
  template <typename V>
  static int64_t Count(const V& values) {
    return static_cast<int64_t>(values.size());
  }

  // Adds a tree. Trees that share laid_ could become large.
  void Add(int64_t root) {
    if (root < 0 || root >= count_) {
      usable_ = false;
      return;
    }
    std::vector<int64_t> level = {root}, next;
    auto at = Count(laid_);
    trees_.push_back({static_cast<int32_t>(at), 0});
    Grow(1);
    for (; !level.empty(); level.swap(next)) {
      next.clear();
      for (const int64_t from : level) {
        if (!AddNode(from, at++, &next)) {
          usable_ = false;
          return;
        }
      }
      if (!next.empty()) ++trees_.back().depth;
    }
  }

  void Grow(size_t by) {
    laid_.resize(laid_.size() + by);
    leaves_.resize(laid_.size());
  }

  // Writes node `from` at `at`, and makes room for those after it.
  bool AddNode(int64_t from, int64_t at, std::vector<int64_t>* next) {
    const int32_t* row = nodes_ + from * kTreeColumns;
    const int32_t mode = row[kTreeMode];
    if (mode == kTreeLeaf) {
      const int32_t begin = row[kTreeYes], end = row[kTreeNo];
      if (begin < 0 || end > weights_) return false;
      leaves_[at] = {begin, end};
      laid_[at] = {0, static_cast<TreeKey<T>>(-1), 0, static_cast<int32_t>(at)};
      return true;
    }
    const int32_t feature = row[kTreeFeature];
    const auto keys = KeysOf(mode, splits_[from]);
    if (!keys || feature < 0 || feature >= features_) return false;
    std::array<int64_t, 2> after = {row[kTreeYes], row[kTreeNo]};
    for (const int64_t node : after) {
      if (node <= from || node >= count_) return false;
    }
    if ((mode & ~kTreeNaNToYes) == kTreeUnequal) std::swap(after[0], after[1]);
    const auto child = laid_.size();
    constexpr size_t kMostNodes = 1 << 28;
    if (child > 2 * static_cast<size_t>(count_) || child > kMostNodes) {
      return false;
    }
    Grow(2);
    laid_[at] = {keys->first, keys->span, feature, static_cast<int32_t>(child)};
    next->insert(next->end(), after.begin(), after.end());
    return true;
  }

  const int32_t* nodes_;
  const T* splits_;
  int64_t count_, features_, weights_;
  bool usable_ = true;
  std::vector<typename Trees::Tree> trees_;
  std::vector<typename Trees::Leaf> leaves_;
  std::vector<typename Trees::Node> laid_;
};

template <typename T>
class TreePackingOf final : public Packing {
 public:
  TreePackingOf(int64_t features, int64_t weights)
      : Packing(Format("trees of {} features, {} weights, {} bytes",
                       features,
                       weights,
                       sizeof(T))),
        features_(features),
        weights_(weights) {}

  Tensor Make(std::span<const Tensor* const> parameters,
              int /*threads*/) const override {
    return TreeLayout<T>(parameters, features_, weights_).Packed();
  }

 private:
  int64_t features_, weights_;
};

}  // namespace

template <typename T>
PackingPtr TreePacking(int64_t features, int64_t weights) {
  return std::make_shared<const TreePackingOf<T>>(features, weights);
}

template <typename T>
PackedTrees<T>::PackedTrees(const void* packed)
    : header_(static_cast<const Header*>(packed)),
      trees_(reinterpret_cast<const Tree*>(header_ + 1)),
      leaves_(reinterpret_cast<const Leaf*>(trees_ + header_->trees)),
      nodes_(reinterpret_cast<const Node*>(leaves_ + header_->nodes)) {}

template <typename T>
void PackedTrees<T>::Walk(int64_t tree,
                          const Key* rows,
                          int64_t features,
                          int64_t count,
                          Range* leaves) const {
  std::array<int32_t, kTreeRows> at;
  at.fill(trees_[tree].root);
  const auto step = [&](int64_t i) {
    const Node& node = nodes_[at[i]];
    const Key key = rows[i * features + node.feature];
    const bool no = static_cast<Key>(key - node.first) > node.span;
    at[i] = node.next + (no ? 1 : 0);
  };
  const auto is_leaf = [&](int32_t node) { return nodes_[node].next == node; };
  // Many rows come to a leaf long before the deepest one.
  constexpr int32_t kSteps = 8;
  for (int32_t left = trees_[tree].depth; left > 0; left -= kSteps) {
    for (int32_t n = std::min(left, kSteps); n > 0; --n) {
      if (count == kTreeRows) {  // unrolled
        for (int64_t i = 0; i < kTreeRows; ++i) {
          step(i);
        }
      } else {
        for (int64_t i = 0; i < count; ++i) {
          step(i);
        }
      }
    }
    if (std::all_of(at.begin(), at.begin() + count, is_leaf)) break;
  }
  for (int64_t i = 0; i < count; ++i) {
    leaves[i] = {leaves_[at[i]].begin, leaves_[at[i]].end};
  }
}

template class PackedTrees<float>;
template class PackedTrees<double>;
template uint32_t TreeKeyOf(float x);
template uint64_t TreeKeyOf(double x);
template PackingPtr TreePacking<float>(int64_t features, int64_t weights);
template PackingPtr TreePacking<double>(int64_t features, int64_t weights);

}  // namespace sluice
