#include "sluice/laboratory/bisect/unit_text.h"

#include <algorithm>
#include <utility>
#include <variant>

#include "sluice/framework/inspect/plan_calls.h"
#include "sluice/framework/values/attribute.h"
#include "sluice/laboratory/measure/time_text.h"
#include "sluice/platform/error.h"

namespace sluice {

namespace {

constexpr size_t kMostNames = 3;

// Text of one op of a plan, as one of several or alone.
struct PlannedText {
  const PlanPair& pair;
  bool in_a;
  int op;

  const Plan& plan() const { return in_a ? pair.a() : pair.b(); }
  const Decision& decision() const { return plan().decisions()[op]; }
  const OpDesc& desc() const {
    return plan().op_descs()[plan().ops()[op].op_index];
  }
  const ProgramValue& ValueOf(const std::string& var) const {
    return in_a ? pair.ValueInA(var) : pair.ValueInB(var);
  }
  std::string Attribute(const std::string& name) const {
    const auto found = desc().attributes.find(name);
    if (found == desc().attributes.end()) return "none";
    const auto* text = std::get_if<std::string>(&found->second);
    return text == nullptr ? ToString(found->second) : *text;
  }
  std::string Kernel() const {
    return KernelName(*decision().kernel, decision().place, plan().place());
  }
};

// Arguments whose values or layouts differ from those in `other`. If the ops
// have layout attributes, the layouts of images are not repeated.
std::vector<std::string> OtherValues(
    const PlannedText& text,
    const PlannedText& other,
    const std::vector<std::pair<std::string, ArgVars>>& arguments,
    const std::vector<std::pair<std::string, ArgVars>>& others) {
  const bool same_format =
      text.Attribute("data_format") == other.Attribute("data_format");
  std::vector<std::string> details;
  for (size_t i = 0; i < arguments.size(); ++i) {
    const auto& [name, vars] = arguments[i];
    for (size_t j = 0; j < vars.size(); ++j) {
      const bool both = i < others.size() && j < others[i].second.size();
      const ProgramValue& value = text.ValueOf(vars[j]);
      const ProgramValue missing;
      const ProgramValue& there =
          both ? other.ValueOf(others[i].second[j]) : missing;
      if (value.var != there.var) {
        details.push_back(Format("{} is {}", name, value.var));
      } else if (value != there && same_format) {
        details.push_back(
            Format("{} as {}", name, value.channels_last ? "NHWC" : "NCHW"));
      }
    }
  }
  return details;
}

// The attributes of `text` that are missing in `other`, in the other plan.
std::vector<std::string> Details(const PlannedText& text,
                                 const PlannedText& other) {
  std::vector<std::string> details;
  const OpKernelType& key = text.decision().kernel->key;
  const OpKernelType& other_key = other.decision().kernel->key;
  if (text.decision().op != other.decision().op) {
    details.push_back(text.decision().op);
  }
  if (key.dtype != other_key.dtype) details.push_back(Format("{}", key.dtype));
  AttributeMap names = text.desc().attributes;
  names.insert(other.desc().attributes.begin(), other.desc().attributes.end());
  for (const auto& [name, value] : names) {
    if (text.Attribute(name) == other.Attribute(name)) continue;
    const bool layout = name == "data_format";
    details.push_back((layout ? "" : name + " ") + text.Attribute(name));
  }
  for (const auto member : {&OpDesc::inputs, &OpDesc::outputs}) {
    for (std::string& detail :
         OtherValues(text, other, text.desc().*member, other.desc().*member)) {
      details.push_back(std::move(detail));
    }
  }
  return details;
}

void AddOnce(std::string name, std::vector<std::string>* names) {
  if (std::ranges::find(*names, name) == names->end()) {
    names->push_back(std::move(name));
  }
}

// The kernels of several ops. All that the other plan's ops do not have are
// named, first and with their op; `others` is empty where there are none.
std::string KernelsText(const PlanPair& pair,
                        bool in_a,
                        const std::vector<int>& ops,
                        const std::vector<int>& others) {
  if (ops.empty()) return "-";
  if (ops.size() == 1) return PlannedText{pair, in_a, ops[0]}.Kernel();
  std::vector<std::string> there;
  for (const int op : others) {
    AddOnce(PlannedText{pair, !in_a, op}.Kernel(), &there);
  }
  std::vector<std::string> own, common;
  for (const int op : ops) {
    const PlannedText text{pair, in_a, op};
    const std::string kernel = text.Kernel();
    const bool shared = std::ranges::find(there, kernel) != there.end();
    if (shared || others.empty()) {
      AddOnce(kernel, &common);
    } else {
      AddOnce(Format("{} {}", text.decision().op, kernel), &own);
    }
  }
  std::string text = Format("{} calls: ", ops.size());
  for (const std::string& kernel : own) {
    text += kernel + (&kernel != &own.back() || !common.empty() ? ", " : "");
  }
  return text + Listed(common);
}

std::string OpsText(const Plan& plan, const std::vector<int>& ops) {
  std::vector<std::string> names;
  names.reserve(ops.size());
  for (const int op : ops) {
    const Decision& decision = plan.decisions()[op];
    names.push_back(Format("{} {}", decision.op_index, decision.op));
  }
  return Listed(names);
}

}  // namespace

std::string Listed(const std::vector<std::string>& names) {
  std::string text;
  const size_t shown = std::min(names.size(), kMostNames);
  for (size_t i = 0; i < shown; ++i) {
    text += (i == 0 ? "" : ", ") + names[i];
  }
  if (shown == names.size()) return text;
  return text + Format(" and {} more", names.size() - shown);
}

UnitText TextOf(const PlanPair& pair,
                const std::vector<int>& a,
                const std::vector<int>& b) {
  UnitText text;
  text.ops = a.empty() ? OpsText(pair.b(), b) : OpsText(pair.a(), a);
  text.kernels_a = KernelsText(pair, true, a, b);
  text.kernels_b = KernelsText(pair, false, b, a);
  if (text.kernels_a != text.kernels_b || a.size() != b.size()) return text;
  std::vector<std::string> details_a, details_b;
  for (size_t i = 0; i < a.size(); ++i) {
    const PlannedText in_a{pair, true, a[i]};
    const PlannedText in_b{pair, false, b[i]};
    for (std::string& detail : Details(in_a, in_b)) {
      details_a.push_back(std::move(detail));
    }
    for (std::string& detail : Details(in_b, in_a)) {
      details_b.push_back(std::move(detail));
    }
  }
  if (!details_a.empty()) text.kernels_a += " (" + Listed(details_a) + ")";
  if (!details_b.empty()) text.kernels_b += " (" + Listed(details_b) + ")";
  return text;
}

}  // namespace sluice
