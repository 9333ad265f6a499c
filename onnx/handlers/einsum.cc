#include <algorithm>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "sluice/onnx/import/handlers.h"
#include "sluice/platform/error.h"
#include "sluice/platform/text.h"

namespace sluice::onnx {

namespace {

// One label for each dim: a letter, or a digit for a dim of "...".
using Labels = std::string;

bool Has(const Labels& labels, char label) {
  return labels.find(label) != Labels::npos;
}

// Those of `labels` that `keep` is true of, in their order.
template <typename Keep>
Labels Only(const Labels& labels, Keep keep) {
  Labels kept;
  std::copy_if(labels.begin(), labels.end(), std::back_inserter(kept), keep);
  return kept;
}

struct Term {
  std::string name;  // of the variable
  Labels labels;
};

// The terms are multiplied from left to right; what no later one needs is
// summed at once. Two terms with a label to sum over are a matmul.
class EinsumImport {
 public:
  explicit EinsumImport(Node* node) : node_(*node) {}

  void Run() {
    Parse();
    for (Term& term : terms_) {
      TakeDiagonals(&term);
    }
    // The labels that the output or a later term has.
    std::vector<Labels> needed(terms_.size(), out_);
    for (size_t i = terms_.size() - 1; i-- > 0;) {
      needed[i] = needed[i + 1] + Only(terms_[i + 1].labels, [&](char label) {
                    return !Has(needed[i + 1], label);
                  });
    }
    Term result = terms_[0];
    for (size_t i = 1; i < terms_.size(); ++i) {
      result = Product(result, terms_[i], needed[i]);
    }
    result = SumAllBut(result, out_);
    Ints order;
    for (const char label : out_) {
      order.push_back(static_cast<int64_t>(result.labels.find(label)));
    }
    if (std::is_sorted(order.begin(), order.end())) {
      return node_.Finish("assign", {{"X", {result.name}}});
    }
    node_.Finish("transpose", {{"X", {result.name}}}, {{"axis", order}});
  }

 private:
  template <typename... Args>
  static void Require(bool condition,
                      fmt::string_view format,
                      const Args&... args) {
    SLUICE_ENFORCE(condition, ErrorCode::kInvalidArgument, "onnx.einsum",
                   format, args...);
  }

  void Parse() {
    std::string equation = node_.attributes().String("equation", "");
    std::erase(equation, ' ');
    const std::string shown = platform::Shown(equation);
    const size_t arrow = equation.find("->");
    std::string_view left = std::string_view(equation).substr(0, arrow);
    std::vector<std::string> texts = {""};
    for (const char c : left) {
      if (c == ',') {
        texts.emplace_back();
      } else {
        texts.back() += c;
      }
    }
    Require(static_cast<int>(texts.size()) == node_.input_count(),
            "equation {} has {} terms; the node has {} inputs", shown,
            texts.size(), node_.input_count());
    for (size_t i = 0; i < texts.size(); ++i) {
      const int input = static_cast<int>(i);
      terms_.push_back(
          {node_.In(input), Read(texts[i], RankOf(node_, input), shown)});
    }
    if (arrow == std::string::npos) {
      out_ = Implicit();
      return;
    }
    const std::string right = equation.substr(arrow + 2);
    const bool dots = right.find("...") != std::string::npos;
    const auto letters = static_cast<int>(right.size()) - (dots ? 3 : 0);
    out_ = Read(right, letters + (dots ? dots_ : 0), shown);
    for (const char label : out_) {
      Require(std::count(out_.begin(), out_.end(), label) == 1 &&
                  std::any_of(terms_.begin(), terms_.end(),
                              [&](const Term& term) {
                                return Has(term.labels, label);
                              }),
              "equation {}: {} must be in the output once, and in a term",
              shown, label);
    }
  }

  // The labels of a term of `rank` dims. The dims of "..." are counted from the
  // last one: 9, 8 and so on.
  Labels Read(const std::string& text, int rank, const std::string& shown) {
    Labels labels;
    const size_t dots = text.find("...");
    const bool has_dots = dots != std::string::npos;
    const int hidden =
        rank - static_cast<int>(text.size()) + (has_dots ? 3 : 0);
    Require(has_dots ? hidden >= 0 : hidden == 0,
            "equation {}: the term {} has another number of labels than its "
            "input of rank {} has dims",
            shown, platform::Shown(text), rank);
    for (size_t i = 0; i < text.size(); ++i) {
      if (i == dots) {
        for (int j = hidden; j > 0; --j) {
          labels += static_cast<char>('9' + 1 - j);
        }
        dots_ = std::max(dots_, hidden);
        i += 2;
        continue;
      }
      const char c = text[i];
      Require((c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'),
              "equation {}: {} is no letter", shown, platform::Shown({&c, 1}));
      labels += c;
    }
    return labels;
  }

  // Without "->": the dims of "...", then the letters that stand once, sorted.
  Labels Implicit() const {
    Labels all;
    for (const Term& term : terms_) {
      all += term.labels;
    }
    std::sort(all.begin(), all.end());  // digits come before letters
    Labels out = Only(all, [&](char label) {
      return label <= '9' || std::count(all.begin(), all.end(), label) == 1;
    });
    out.erase(std::unique(out.begin(), out.end()), out.end());
    return out;
  }

  // Of a label that stands twice in a term only equal indices count.
  void TakeDiagonals(Term* term) {
    for (size_t j = 1; j < term->labels.size();) {
      if (term->labels.find(term->labels[j]) == j) {
        ++j;
        continue;
      }
      TakeDiagonal(term->labels[j], term);
      j = 1;
    }
  }

  // The dims of the label become the last ones, and then one of size * size, of
  // which each (size + 1)-th element is on the diagonal.
  void TakeDiagonal(char label, Term* term) {
    const DDim dims = node_.DimsOf(term->name);
    const size_t i = term->labels.find(label);
    const size_t j = term->labels.find(label, i + 1);
    const int64_t size = dims[static_cast<int>(j)];
    if (size < 0 || dims[static_cast<int>(i)] != size) {
      Node::Unsupported("a diagonal of input of shape {}",
                        platform::Printable(dims));
    }
    Ints order;
    Labels labels;
    for (size_t k = 0; k < term->labels.size(); ++k) {
      if (k == i || k == j) continue;
      order.push_back(static_cast<int64_t>(k));
      labels += term->labels[k];
    }
    order.push_back(static_cast<int64_t>(i));
    order.push_back(static_cast<int64_t>(j));
    std::string x = term->name;
    if (!std::is_sorted(order.begin(), order.end())) {
      x = node_.Append("transpose", {{"X", {x}}}, {{"axis", order}});
    }
    const int64_t elements = DDim{size, size}.numel();
    term->labels = labels + label;
    if (elements == 0) {
      term->name = Sum(x, {-1});
      return;
    }
    Ints shape(order.size() - 2, 0);
    shape.push_back(elements);
    x = node_.Append("reshape", {{"X", {x}}}, {{"shape", shape}});
    term->name = node_.Append("slice", {{"X", {x}}},
                              {{"starts", Ints{0}},
                               {"ends", Ints{elements}},
                               {"axes", Ints{-1}},
                               {"steps", Ints{size + 1}}});
  }

  std::string Sum(const std::string& x, const Ints& axes) {
    return node_.Append("reduce_sum", {{"X", {x}}}, {{"dim", axes}});
  }

  // Sums over all labels but these.
  Term SumAllBut(const Term& term, const Labels& needed) {
    Ints axes;
    for (size_t i = 0; i < term.labels.size(); ++i) {
      if (!Has(needed, term.labels[i])) axes.push_back(static_cast<int64_t>(i));
    }
    if (axes.empty()) return term;
    return {Sum(term.name, axes),
            Only(term.labels, [&](char label) { return Has(needed, label); })};
  }

  Term Product(Term a, Term b, const Labels& needed) {
    a = SumAllBut(a, needed + b.labels);
    b = SumAllBut(b, needed + a.labels);
    const Labels summed = Only(a.labels, [&](char label) {
      return Has(b.labels, label) && !Has(needed, label);
    });
    const Labels both = Only(a.labels, [&](char label) {
      return Has(b.labels, label) && Has(needed, label);
    });
    const Labels of_a =
        Only(a.labels, [&](char label) { return !Has(b.labels, label); });
    const Labels of_b =
        Only(b.labels, [&](char label) { return !Has(a.labels, label); });
    const bool matrices = platform::IsFloating(node_.TypeOf(0)) &&
                          IsOneDim(a, of_a) && IsOneDim(b, of_b) &&
                          IsOneDim(a, summed) && IsOneDim(b, summed);
    const Labels all = both + of_a + of_b;
    if (summed.empty() || !matrices) {
      const std::string product =
          node_.Append("elementwise_mul", {{"X", {InOrder(a, all + summed)}},
                                           {"Y", {InOrder(b, all + summed)}}});
      return SumAllBut({product, all + summed}, needed);
    }
    const Ints of_a_sizes = Sizes(a, of_a), of_b_sizes = Sizes(b, of_b);
    const std::string x = Matrix(a, both, of_a, summed);
    const std::string y = Matrix(b, both, summed, of_b);
    std::string product = node_.Append("matmul", {{"X", {x}}, {"Y", {y}}});
    if (of_a.size() != 1 || of_b.size() != 1) {
      Ints shape(both.size(), 0);
      shape.insert(shape.end(), of_a_sizes.begin(), of_a_sizes.end());
      shape.insert(shape.end(), of_b_sizes.begin(), of_b_sizes.end());
      product = node_.Append("reshape", {{"X", {product}}}, {{"shape", shape}});
    }
    return {product, all};
  }

  // Whether these dims of `term` are, or may be made, one.
  bool IsOneDim(const Term& term, const Labels& labels) const {
    const Ints sizes = Sizes(term, labels);
    return labels.size() == 1 || std::all_of(sizes.begin(), sizes.end(),
                                             [](int64_t s) { return s > 0; });
  }

  Ints Sizes(const Term& term, const Labels& labels) const {
    const DDim dims = node_.DimsOf(term.name);
    Ints sizes;
    for (const char label : labels) {
      sizes.push_back(dims[static_cast<int>(term.labels.find(label))]);
    }
    return sizes;
  }

  // [batch..., the product of `rows`, that of `columns`].
  std::string Matrix(const Term& term,
                     const Labels& batch,
                     const Labels& rows,
                     const Labels& columns) {
    std::string x = InOrder(term, batch + rows + columns);
    if (rows.size() == 1 && columns.size() == 1) return x;
    Ints shape(batch.size(), 0);
    for (const Labels& labels : {rows, columns}) {
      int64_t size = 1;
      for (const int64_t one : Sizes(term, labels)) {
        // An unknown size is that of one label.
        size = one < 0 ? one : DDim{size, one}.numel();
      }
      shape.push_back(size);
    }
    return node_.Append("reshape", {{"X", {x}}}, {{"shape", shape}});
  }

  // The dims of `term` in this order of labels; 1 for those that it lacks.
  std::string InOrder(const Term& term, const Labels& labels) {
    Ints order, missing;
    for (size_t i = 0; i < labels.size(); ++i) {
      const size_t at = term.labels.find(labels[i]);
      if (at == Labels::npos) {
        missing.push_back(static_cast<int64_t>(i));
      } else {
        order.push_back(static_cast<int64_t>(at));
      }
    }
    std::string x = term.name;
    if (!std::is_sorted(order.begin(), order.end())) {
      x = node_.Append("transpose", {{"X", {x}}}, {{"axis", order}});
    }
    if (missing.empty()) return x;
    return node_.Append("unsqueeze", {{"X", {x}}}, {{"axes", missing}});
  }

  Node& node_;
  std::vector<Term> terms_;
  Labels out_;
  int dots_ = 0;  // how many dims "..." stands for, at most
};

void Einsum(Node& node) {
  EinsumImport(&node).Run();
}

constexpr HandlerRow kEinsumRows[] = {{"Einsum", 12, Einsum}};

}  // namespace

std::span<const HandlerRow> EinsumHandlers() {
  return kEinsumRows;
}

}  // namespace sluice::onnx
