#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <type_traits>

#include "sluice/operators/packed_weights.h"
#include "sluice/platform/export.h"

// Constant trees in a form for fast walks.
namespace sluice {

// The columns of a row of Nodes, an input of tree_ensemble.
enum : int { kTreeMode, kTreeFeature, kTreeYes, kTreeNo, kTreeColumns };

// The modes of nodes: how the feature is compared with the split.
enum : int32_t {
  kTreeLeaf,
  kTreeAtMost,
  kTreeLess,
  kTreeAtLeast,
  kTreeGreater,
  kTreeEqual,
  kTreeUnequal,
  kTreeNaNToYes = 8,  // is added
};

inline constexpr int64_t kTreeRows = 16;  // walk a tree together

// An integer for each number, in the order of numbers; both zeros have one, and
// all NaN, which is beside those of both infinities if integers wrap around. T:
// float or double.
template <typename T>
using TreeKey = std::conditional_t<sizeof(T) == 4, uint32_t, uint64_t>;
template <typename T>
TreeKey<T> TreeKeyOf(T x);

// Trees whose nodes compare keys: each is true for a range of them. The two
// nodes after a node are neighbours, and a leaf leads to itself, so that a step
// is one addition. Refers to the packed tensor.
template <typename T>
class SLUICE_API PackedTrees {
 public:
  using Key = TreeKey<T>;

  // `packed` is what a packing of TreePacking made.
  explicit PackedTrees(const void* packed);

  // False if the trees have what only the walk over Nodes does, or refuses: no
  // other function may be called then.
  bool usable() const { return header_->usable != 0; }

  struct Range {
    int64_t begin, end;
  };
  // leaves[i] = the weights of the leaf that row i comes to in a tree, for
  // `count` rows, at most kTreeRows, of `features` keys each.
  void Walk(int64_t tree,
            const Key* rows,
            int64_t features,
            int64_t count,
            Range* leaves) const;

  struct Node {
    Key first, span;  // yes for keys first to first + span, which may wrap
    int32_t feature;
    int32_t next;  // the node after yes; that after no follows it
  };
  struct Leaf {
    int32_t begin, end;
  };
  struct Tree {
    int32_t root, depth;
  };
  struct Header {
    int64_t usable, trees, nodes;
  };

 private:
  const Header* header_;
  const Tree* trees_;
  const Leaf* leaves_;  // by node
  const Node* nodes_;
};

// Packs Nodes, Splits and Roots of trees over `features` features that have
// `weights` weights.
template <typename T>
SLUICE_API PackingPtr TreePacking(int64_t features, int64_t weights);

}  // namespace sluice
