#pragma once

#include <string>
#include <utility>

#include "sluice/onnx/import/node.h"

namespace sluice::onnx {

// A value of a formula, whose operators add the ops that compute it. Borrows
// the node; lives for one call of a handler.
struct Term {
  Node* node;
  std::string name;

  Term Of(const char* op, AttributeMap attributes = {}) const {
    return {node, node->Unary(op, name, std::move(attributes))};
  }
  Term With(const char* op, const Term& y) const {
    return {node, node->Binary(op, {name, y.name})};
  }
  // A number in the dtype of this one.
  Term Number(double number) const {
    return {node, node->Number(number, node->DTypeOf(name))};
  }
  Term As(DType dtype) const { return {node, node->Cast(name, dtype)}; }
  Term Like(const Term& other) const { return As(node->DTypeOf(other.name)); }
  Term Unsqueeze(Ints axes) const {
    return {node, node->Unsqueeze(name, std::move(axes))};
  }
  // Elements [begin, end) of a vector.
  Term Part(int64_t begin, int64_t end) const {
    return {node, node->Slice(name, begin, end)};
  }
};

inline Term operator+(const Term& x, const Term& y) {
  return x.With("elementwise_add", y);
}
inline Term operator-(const Term& x, const Term& y) {
  return x.With("elementwise_sub", y);
}
inline Term operator*(const Term& x, const Term& y) {
  return x.With("elementwise_mul", y);
}
// Integers are divided with rounding down.
inline Term operator/(const Term& x, const Term& y) {
  const bool floats = IsFloating(x.node->DTypeOf(x.name));
  return x.With(floats ? "elementwise_div" : "elementwise_floordiv", y);
}
inline Term operator*(double scale, const Term& x) {
  return x.Of("scale", {{"scale", scale}});
}
inline Term operator+(const Term& x, double bias) {
  return x.Of("scale", {{"bias", bias}});
}
inline Term operator-(const Term& x, double bias) {
  return x + -bias;
}
inline Term operator<(const Term& x, const Term& y) {
  return x.With("less_than", y);
}
inline Term Larger(const Term& x, const Term& y) {
  return x.With("elementwise_max", y);
}
inline Term Where(const Term& condition, const Term& x, const Term& y) {
  return {x.node, x.node->Where({condition.name, x.name, y.name})};
}

}  // namespace sluice::onnx
