#include "sluice/operators/contraction/einsum.h"

#include <algorithm>
#include <string_view>
#include <utility>

#include "sluice/operators/registration.h"
#include "sluice/platform/error.h"
#include "sluice/platform/text.h"

namespace sluice {

namespace {

// One label for each dim: a letter, or a digit for a dim of "...".
using Labels = std::string;

bool Has(const Labels& labels, char label) {
  return labels.find(label) != Labels::npos;
}

// Returns those of `labels` for which `keep` is true, in their order.
template <typename Keep>
Labels Only(const Labels& labels, Keep keep) {
  Labels kept;
  std::copy_if(labels.begin(), labels.end(), std::back_inserter(kept), keep);
  return kept;
}

// Names a label in messages.
std::string NameOf(char label) {
  if (label > '9') return {label};
  return Format("dim {} of \"...\"", label - '9' - 1);
}

// Returns each label once, at its first position.
Labels Distinct(const Labels& labels) {
  Labels distinct;
  for (const char label : labels) {
    if (!Has(distinct, label)) distinct += label;
  }
  return distinct;
}

struct Term {
  std::string name;  // of the variable
  Labels labels;
  std::string text = {};  // in the equation
};

// Multiplies the terms from left to right, and sums at once over labels that no
// later term needs. Two terms with a label to sum over become a matmul if their
// dtype and sizes allow it.
class EinsumOps {
 public:
  EinsumOps(std::string equation, EinsumWriter* writer)
      : equation_(std::move(equation)), writer_(*writer) {
    std::erase(equation_, ' ');
  }

  std::string Write(const std::vector<std::string>& variables) {
    Parse(variables);
    for (Term& term : terms_) {
      TakeDiagonals(&term);
    }
    for (Term& term : terms_) {
      DropRepeated(&term);
    }
    // The labels in the output or a later term.
    std::vector<Labels> needed(terms_.size(), out_);
    for (size_t i = terms_.size() - 1; i-- > 0;) {
      needed[i] = Distinct(needed[i + 1] + terms_[i + 1].labels);
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
      return writer_.AppendLast("assign", result.name);
    }
    return writer_.AppendLast("transpose", result.name, {{"axis", order}});
  }

 private:
  template <typename... Args>
  void Require(bool condition,
               fmt::string_view format,
               const Args&... args) const {
    SLUICE_ENFORCE(condition, ErrorCode::kInvalidArgument, "einsum.equation",
                   "einsum {}: {}", Shown(equation_), Format(format, args...));
  }

  void Parse(const std::vector<std::string>& variables) {
    const size_t arrow = equation_.find("->");
    std::vector<std::string> texts = {""};
    for (const char c : std::string_view(equation_).substr(0, arrow)) {
      if (c == ',') {
        texts.emplace_back();
      } else {
        texts.back() += c;
      }
    }
    Require(texts.size() == variables.size(),
            "the number of terms is {}, that of inputs is {}", texts.size(),
            variables.size());
    for (size_t i = 0; i < texts.size(); ++i) {
      const DDim dims = writer_.DimsOf(variables[i]);
      SLUICE_ENFORCE(
          dims.rank_known(), ErrorCode::kUnimplemented, "einsum.rank",
          "einsum {}: the rank of input {} is unknown", Shown(equation_), i);
      terms_.push_back({variables[i], Read(texts[i], dims.rank()), texts[i]});
    }
    CheckTerms();
    if (arrow == std::string::npos) {
      out_ = Implicit();
      return;
    }
    const std::string right = equation_.substr(arrow + 2);
    const bool dots = right.find("...") != std::string::npos;
    const auto letters = static_cast<int>(right.size()) - (dots ? 3 : 0);
    out_ = Read(right, letters + (dots ? dots_ : 0));
    for (const char label : out_) {
      Require(std::count(out_.begin(), out_.end(), label) == 1,
              "the output {} has {} more than once", right, label);
      Require(std::any_of(
                  terms_.begin(), terms_.end(),
                  [&](const Term& term) { return Has(term.labels, label); }),
              "the output {} has {}, which no term has", right, label);
    }
  }

  // Unknown, or broadcast if another term has a larger size for the label.
  static bool IsAny(int64_t size) { return size == kUnknownDim || size == 1; }

  // Checks that all terms have one dtype, and each label one size besides 1.
  void CheckTerms() const {
    const DType dtype = writer_.DTypeOf(terms_[0].name);
    for (const Term& term : terms_) {
      const DType other = writer_.DTypeOf(term.name);
      Require(other == dtype, "the term {} is {}, and the term {} is {}",
              terms_[0].text, dtype, term.text, other);
    }
    for (const Term& term : terms_) {
      for (const char label : Distinct(term.labels)) {
        const int64_t size = Sizes(term, {label})[0];
        for (const Term& other : terms_) {
          if (!Has(other.labels, label)) continue;
          const int64_t found = Sizes(other, {label})[0];
          Require(size == found || IsAny(size) || IsAny(found),
                  "{} is {} in the term {}, and {} in the term {}",
                  NameOf(label), size, term.text, found, other.text);
        }
      }
    }
  }

  // Returns the labels of a term of `rank` dims. The dims of "..." are numbered
  // from the last one: 9, 8 and so on.
  Labels Read(const std::string& text, int rank) {
    Labels labels;
    const size_t dots = text.find("...");
    const bool has_dots = dots != std::string::npos;
    const int letters = static_cast<int>(text.size()) - (has_dots ? 3 : 0);
    const int hidden = rank - letters;
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
              "{} in the term {} is no letter, and no \"...\" by itself",
              Shown({&c, 1}), Shown(text));
      labels += c;
    }
    Require(has_dots ? hidden >= 0 : hidden == 0,
            "the number of letters in the term {} is {}, that of dims of its "
            "input is {}",
            Shown(text), letters, rank);
    return labels;
  }

  // Without "->": the dims of "...", then the letters that occur once, sorted.
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

  // Reduces a label that occurs twice in a term to the diagonal.
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

  // Moves the label's dims to the end and reshapes them to one of size * size,
  // in which every (size + 1)-th element is on the diagonal.
  void TakeDiagonal(char label, Term* term) {
    const DDim dims = writer_.DimsOf(term->name);
    const size_t i = term->labels.find(label);
    const size_t j = term->labels.find(label, i + 1);
    const int64_t size = dims[static_cast<int>(j)];
    const int64_t first = dims[static_cast<int>(i)];
    SLUICE_ENFORCE(
        size >= 0 && first >= 0, ErrorCode::kUnimplemented, "einsum.diagonal",
        "einsum {}: a diagonal of input of shape {}", Shown(equation_), dims);
    Require(first == size, "{} stands for {} and for {} in the term {}",
            NameOf(label), first, size, term->text);
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
      x = Append("transpose", x, {{"axis", order}});
    }
    const int64_t elements = DDim{size, size}.numel();
    term->labels = labels + label;
    if (elements == 0) {
      term->name = Sum(x, {-1});
      return;
    }
    Ints shape(order.size() - 2, 0);
    shape.push_back(elements);
    x = Append("reshape", x, {{"shape", shape}});
    term->name = Append("slice", x,
                        {{"starts", Ints{0}},
                         {"ends", Ints{elements}},
                         {"axes", Ints{-1}},
                         {"steps", Ints{size + 1}}});
  }

  // Drops dims of size 1 that another term broadcasts to a larger size.
  void DropRepeated(Term* term) {
    const Labels dropped = Only(term->labels, [&](char label) {
      return Sizes(*term, {label})[0] == 1 &&
             std::any_of(terms_.begin(), terms_.end(), [&](const Term& other) {
               return Has(other.labels, label) && Sizes(other, {label})[0] != 1;
             });
    });
    *term = SumAllBut(*term, Only(term->labels, [&](char label) {
      return !Has(dropped, label);
    }));
  }

  std::string Append(const char* type,
                     const std::string& x,
                     AttributeMap attributes) {
    return writer_.Append(type, {{"X", {x}}}, std::move(attributes));
  }

  std::string Sum(const std::string& x, const Ints& axes) {
    return Append("reduce_sum", x, {{"dim", axes}});
  }

  // Sums over all labels except these.
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
    const bool matrices = IsFloating(writer_.DTypeOf(a.name)) &&
                          IsOneDim(a, of_a) && IsOneDim(b, of_b) &&
                          IsOneDim(a, summed) && IsOneDim(b, summed);
    const Labels all = both + of_a + of_b;
    if (summed.empty() || !matrices) {
      const std::string product =
          writer_.Append("elementwise_mul",
                         {{"X", {InOrder(a, all + summed)}},
                          {"Y", {InOrder(b, all + summed)}}},
                         {});
      return SumAllBut({product, all + summed}, needed);
    }
    const Ints of_a_sizes = Sizes(a, of_a), of_b_sizes = Sizes(b, of_b);
    const std::string x = Matrix(a, both, of_a, summed);
    const std::string y = Matrix(b, both, summed, of_b);
    std::string product =
        writer_.Append("matmul", {{"X", {x}}, {"Y", {y}}}, {});
    if (of_a.size() != 1 || of_b.size() != 1) {
      Ints shape(both.size(), 0);
      shape.insert(shape.end(), of_a_sizes.begin(), of_a_sizes.end());
      shape.insert(shape.end(), of_b_sizes.begin(), of_b_sizes.end());
      product = Append("reshape", product, {{"shape", shape}});
    }
    return {product, all};
  }

  // Whether these dims of `term` are one dim, or can be reshaped to one.
  // Reshape does not allow size 0 and allows only one unknown size.
  bool IsOneDim(const Term& term, const Labels& labels) const {
    const Ints sizes = Sizes(term, labels);
    return std::all_of(sizes.begin(), sizes.end(), [&](int64_t size) {
      return size > 0 || (size == kUnknownDim && labels.size() == 1);
    });
  }

  Ints Sizes(const Term& term, const Labels& labels) const {
    const DDim dims = writer_.DimsOf(term.name);
    Ints sizes;
    for (const char label : labels) {
      sizes.push_back(dims[static_cast<int>(term.labels.find(label))]);
    }
    return sizes;
  }

  // Reshapes to [batch..., product of `rows`, product of `columns`].
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
        // An unknown size occurs only in a single label.
        size = one < 0 ? one : DDim{size, one}.numel();
      }
      shape.push_back(size);
    }
    return Append("reshape", x, {{"shape", shape}});
  }

  // Permutes the dims of `term` into this order; missing labels get size 1.
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
      x = Append("transpose", x, {{"axis", order}});
    }
    if (missing.empty()) return x;
    return Append("unsqueeze", x, {{"axes", missing}});
  }

  std::string equation_;
  EinsumWriter& writer_;
  std::vector<Term> terms_;
  Labels out_;
  int dots_ = 0;  // the most dims that "..." represents
};

// Writes the ops into a program.
class ProgramWriter : public EinsumWriter {
 public:
  ProgramWriter(Program* program, const SourceLocation& location)
      : program_(*program), location_(location) {}

  std::string Append(const std::string& type,
                     Program::ArgList inputs,
                     AttributeMap attributes) override {
    program_.AppendOp(type, std::move(inputs), std::move(attributes),
                      location_);
    is_new_ = true;
    return program_.Output("Out").name();
  }
  // An op's output needs no copy; an input of the caller gets a new name.
  std::string AppendLast(const std::string& type,
                         const std::string& x,
                         AttributeMap attributes) override {
    if (type == "assign" && is_new_) return x;
    return EinsumWriter::AppendLast(type, x, std::move(attributes));
  }
  DDim DimsOf(const std::string& variable) const override {
    return program_.FindVar(variable).dims;
  }
  DType DTypeOf(const std::string& variable) const override {
    return program_.FindVar(variable).dtype;
  }

 private:
  Program& program_;
  const SourceLocation& location_;
  bool is_new_ = false;  // whether the result is none of the inputs
};

}  // namespace

EinsumWriter::~EinsumWriter() = default;

std::string EinsumWriter::AppendLast(const std::string& type,
                                     const std::string& x,
                                     AttributeMap attributes) {
  return Append(type, {{"X", {x}}}, std::move(attributes));
}

std::string WriteEinsum(std::string_view equation,
                        const std::vector<std::string>& inputs,
                        EinsumWriter* writer) {
  return EinsumOps(std::string(equation), writer).Write(inputs);
}

Var Einsum(std::string_view equation,
           const std::vector<Var>& inputs,
           const SourceLocation& location) try {
  SLUICE_ENFORCE(!inputs.empty(), ErrorCode::kInvalidArgument,
                 "einsum.no_inputs", "einsum: expected at least one input");
  Program& program = inputs[0].program();
  std::vector<std::string> names;
  for (const Var& input : inputs) {
    SLUICE_ENFORCE(&input.program() == &program, ErrorCode::kInvalidArgument,
                   "einsum.program",
                   "einsum: input {} belongs to another program than input {}",
                   input.name(), inputs[0].name());
    names.push_back(input.name());
  }
  ProgramWriter writer(&program, location);
  return program.Find(WriteEinsum(equation, names, &writer));
} catch (Error& error) {
  AddLocation(location, &error);
  throw;
}

}  // namespace sluice
