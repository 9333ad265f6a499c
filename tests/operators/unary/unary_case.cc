#include <string>
#include <vector>

#include "tests/operators/harness/op_case.h"
#include "tests/operators/unary/domain.h"

#include "sluice/operators/math/unary/unary_row.h"

namespace sluice::testing {

namespace {

UnaryParams ParamsOf(const UnaryInfo& info, const OpDesc& op) {
  UnaryParams params = {};
  for (size_t i = 0; i < params.size(); ++i) {
    const auto& attr = info.attributes[i];
    if (attr.name == nullptr) continue;
    params[i] = attr.is_bool ? (GetAttr<bool>(op, attr.name) ? 1.0 : 0.0)
                             : GetAttr<double>(op, attr.name);
  }
  return params;
}

const char* GradientInput(const UnaryInfo& info) {
  return info.gradient_reads == GradientReads::kX ? "X" : "Out";
}

// The attributes of a row's examples: the defaults, and others if it has any.
std::vector<AttributeMap> UnaryAttributes(const UnaryInfo& info) {
  AttributeMap others;
  for (const auto& attr : info.attributes) {
    if (attr.name == nullptr) continue;
    if (attr.is_bool) {
      others.emplace(attr.name, attr.default_value == 0);
    } else {
      others.emplace(attr.name, attr.default_value + 0.25);
    }
  }
  if (others.empty()) return {{}};
  return {{}, others};
}

std::vector<OpExample> UnaryExamples(const UnaryInfo& info,
                                     ExampleMaker& make,
                                     bool gradient) {
  std::vector<OpExample> examples;
  const auto add = [&](const DDim& dims, const AttributeMap& attributes) {
    Array x = ToArray(make.Values(dims));
    const bool integers = !IsFloating(make.dtype());
    for (double& value : x.values) {
      if (!integers) value = InDomain(info.domain, value);
    }
    const Tensor values = ToTensor(x, make.dtype());
    OpExample example = {{{"X", values}}, attributes};
    if (gradient) {
      if (info.gradient_reads == GradientReads::kOut) {
        OpDesc op;
        op.attributes = attributes;
        for (const auto& attr : info.attributes) {
          if (attr.name == nullptr) continue;
          if (attr.is_bool) {
            op.attributes.emplace(attr.name, attr.default_value != 0);
          } else {
            op.attributes.emplace(attr.name, attr.default_value);
          }
        }
        const UnaryParams params = ParamsOf(info, op);
        Array out = ToArray(values);
        for (double& value : out.values) {
          value = info.reference(value, params);
        }
        example.inputs = {{"Out", ToTensor(out, make.dtype())}};
      }
      example.inputs.emplace_back("Out@GRAD", make.Values(dims));
    }
    examples.push_back(std::move(example));
  };
  for (const DDim& dims :
       {DDim{3, 7}, DDim{}, DDim{1}, DDim{5, 0}, DDim{2, 131, 521}}) {
    add(dims, {});
  }
  for (const AttributeMap& attributes : UnaryAttributes(info)) {
    if (!attributes.empty()) add({5, 9}, attributes);
  }
  return examples;
}

OpCase UnaryCase(const UnaryInfo& info) {
  OpCase op_case;
  op_case.examples = [&info](ExampleMaker& make) {
    return UnaryExamples(info, make, /*gradient=*/false);
  };
  op_case.reference = [&info](const Arrays& in, const OpDesc& op) {
    const UnaryParams params = ParamsOf(info, op);
    Array out = in.at("X");
    for (double& value : out.values) {
      value = info.reference(value, params);
    }
    return Arrays{{"Out", out}};
  };
  return op_case;
}

OpCase UnaryGradCase(const UnaryInfo& info) {
  OpCase op_case;
  op_case.examples = [&info](ExampleMaker& make) {
    return UnaryExamples(info, make, /*gradient=*/true);
  };
  op_case.reference = [&info](const Arrays& in, const OpDesc& op) {
    const UnaryParams params = ParamsOf(info, op);
    const Array& seen = in.at(GradientInput(info));
    Array x_grad = in.at("Out@GRAD");
    for (size_t i = 0; i < x_grad.values.size(); ++i) {
      x_grad.values[i] *= info.derivative(seen.values[i], params);
    }
    return Arrays{{"X@GRAD", x_grad}};
  };
  return op_case;
}

[[maybe_unused]] const bool unary_cases = [] {
  for (const UnaryRow& row : UnaryRows()) {
    AddOpCase(row.info.name, UnaryCase(row.info));
    AddOpCase(std::string(row.info.name) + "_grad", UnaryGradCase(row.info));
  }
  return true;
}();

}  // namespace
}  // namespace sluice::testing
