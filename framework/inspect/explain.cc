#include "sluice/framework/inspect/explain.h"

#include <algorithm>
#include <map>
#include <mutex>
#include <new>

#include "sluice/framework/inspect/run_profile.h"
#include "sluice/memory/allocator.h"
#include "sluice/platform/device.h"
#include "sluice/platform/error.h"
#include "sluice/platform/plugin/plugin_loader.h"

namespace sluice {

namespace {

// A table whose columns are as wide as their widest cell.
class TextTable {
 public:
  explicit TextTable(std::vector<std::string> header) {
    rows_.push_back(std::move(header));
  }
  void Add(std::vector<std::string> row) { rows_.push_back(std::move(row)); }
  bool empty() const { return rows_.size() == 1; }

  std::string Text() const {
    std::vector<size_t> widths(rows_[0].size(), 0);
    for (const auto& row : rows_) {
      for (size_t i = 0; i < row.size(); ++i) {
        widths[i] = std::max(widths[i], row[i].size());
      }
    }
    std::string text;
    for (const auto& row : rows_) {
      std::string line;
      for (size_t i = 0; i < row.size(); ++i) {
        line += Format("{:<{}}  ", row[i], widths[i]);
      }
      line.erase(line.find_last_not_of(' ') + 1);
      text += line + "\n";
    }
    return text;
  }

 private:
  std::vector<std::vector<std::string>> rows_;
};

std::string OpName(const Plan& plan, int op_index) {
  return op_index < 0
             ? "fetch"
             : Format("{} {}", op_index, plan.op_descs()[op_index].type);
}

const Candidate& Chosen(const Decision& decision) {
  const auto& candidates = decision.candidates();
  return *std::find_if(candidates.begin(), candidates.end(),
                       [&](const Candidate& candidate) {
                         return candidate.kernel == decision.kernel;
                       });
}

bool IsEmulated(PlaceKey place) {
  return DeviceManager::Instance().Get(place).is_emulated();
}

// Names a place that the plan uses, e.g. "cuda:0 (emulated)".
std::string PlaceText(PlaceKey place) {
  return Format("{}{}", place, IsEmulated(place) ? " (emulated)" : "");
}

// Compares a candidate that was not refused with the chosen one.
std::string MarginText(const Decision& decision, const Candidate& candidate) {
  return Format("{}, {:.2f} of the chosen one's", PredictionText(candidate),
                candidate.seconds / Chosen(decision).seconds);
}

bool UsesEmulatedDevice(const Plan& plan) {
  return std::any_of(
      plan.decisions().begin(), plan.decisions().end(),
      [](const Decision& decision) { return IsEmulated(decision.place); });
}

// Lists the other candidates of one op. Kernels for other dtypes are mostly the
// same kernel again, so they share a line.
std::string Refusals(const Plan& plan, const Decision& decision) {
  const std::string name = OpName(plan, decision.op_index);
  std::string text;
  std::string other_dtypes;
  for (const std::string& hint : decision.list->hints) {
    text += Format("  {}: hint {}\n", name, hint);
  }
  for (const HintAnswer& answer : decision.answers) {
    if (answer.obeyed) continue;
    text += Format("  {}: hint {} is not obeyed: {}\n", name, answer.hint,
                   answer.why_not);
  }
  for (const std::string& note : decision.list->notes) {
    text += Format("  {}: {}\n", name, note);
  }
  for (const Candidate& candidate : decision.candidates()) {
    const KernelDef& kernel = *candidate.kernel;
    if (&kernel == decision.kernel) continue;
    if (kernel.key.dtype != decision.list->expected.dtype) {
      other_dtypes += other_dtypes.empty() ? "" : ", ";
      other_dtypes += Format("{} {} {}", kernel.variant, kernel.key.place,
                             kernel.key.dtype);
      continue;
    }
    text += Format("  {}: not {}: {}\n", name, kernel,
                   candidate.refusal.empty() ? MarginText(decision, candidate)
                                             : candidate.refusal);
  }
  for (const KernelDef* kernel : KernelsElsewhere(decision)) {
    if (kernel->key.dtype != decision.list->expected.dtype) continue;
    text += Format("  {}: not {}: {}\n", name, *kernel,
                   WhyElsewhere(decision, *kernel));
  }
  if (!other_dtypes.empty()) {
    text += Format("  {}: not for {}: {}\n", name,
                   decision.list->expected.dtype, other_dtypes);
  }
  return text;
}

std::string Refusals(const Plan& plan) {
  std::string text;
  for (const Decision& decision : plan.decisions()) {
    text += Refusals(plan, decision);
  }
  return text;
}

}  // namespace

std::vector<const KernelDef*> KernelsElsewhere(const Decision& decision) {
  static std::once_flag once;
  std::call_once(once, &LoadAllDevices);
  std::vector<const KernelDef*> kernels =
      Registry::Global().Kernels(decision.op);
  std::erase_if(kernels, [&](const KernelDef* kernel) {
    return std::any_of(
        decision.candidates().begin(), decision.candidates().end(),
        [&](const Candidate& candidate) { return candidate.kernel == kernel; });
  });
  return kernels;
}

std::string WhyElsewhere(const Decision& decision, const KernelDef& kernel) {
  return Format(
      "not considered: the executor is at {} (hint place={} allows "
      "it)",
      decision.list->expected_place, kernel.key.place);
}

std::string DecisionTable(const Plan& plan, const RunProfile* profile) try {
  TextTable table({"op", "place", "dtype", "layout", "library", "variant",
                   "predicted", "reason", profile == nullptr ? "" : "time"});
  for (const Decision& decision : plan.decisions()) {
    const OpKernelType& key = decision.kernel->key;
    table.Add({OpName(plan, decision.op_index), PlaceText(decision.place),
               std::string(ToString(key.dtype)),
               std::string(ToString(decision.list->layout)), key.library,
               decision.kernel->variant, PredictionText(Chosen(decision)),
               decision.reason,
               profile == nullptr
                   ? ""
                   : Format("{:.1f} us",
                            profile->ops[decision.op_index].median * 1e6)});
  }
  return table.Text();
} catch (const std::bad_alloc&) {
  RaiseOutOfMemory();
}

std::string TransferTable(const Plan& plan) try {
  TextTable table({"value", "from", "to", "bytes", "for"});
  size_t total = 0;
  for (const Transfer& transfer : plan.transfers()) {
    table.Add({transfer.var, ToString(transfer.from), ToString(transfer.to),
               std::to_string(transfer.bytes),
               OpName(plan, transfer.op_index)});
    total += transfer.bytes;
  }
  if (table.empty()) return "no value moves between places\n";
  return table.Text() + Format("{} bytes in all\n", total);
} catch (const std::bad_alloc&) {
  RaiseOutOfMemory();
}

std::string ParameterTable(const Plan& plan) try {
  struct Kept {
    int read = 0;
    size_t bytes_read = 0;
    int written = 0;
    size_t bytes_written = 0;
  };
  std::map<PlaceKey, Kept> places;
  for (const Slot& slot : plan.slots()) {
    if (slot.kind == SlotKind::kPersistable) {
      Kept& kept = places[slot.place];
      ++kept.read;
      kept.bytes_read += slot.bytes;
    } else if (slot.kind == SlotKind::kShadow) {
      Kept& kept = places[slot.place];
      ++kept.written;
      kept.bytes_written += slot.bytes;
    }
  }
  TextTable table({"place", "read", "bytes", "written", "bytes"});
  for (const auto& [place, kept] : places) {
    table.Add({ToString(place), std::to_string(kept.read),
               std::to_string(kept.bytes_read), std::to_string(kept.written),
               std::to_string(kept.bytes_written)});
  }
  return table.empty() ? "" : table.Text();
} catch (const std::bad_alloc&) {
  RaiseOutOfMemory();
}

std::string MemoryTable() try {
  TextTable table({"place", "in use", "peak", "reserved", "limit"});
  for (const PlaceKey place : DeviceManager::Instance().Places()) {
    const MemoryStats stats = Stats(place);
    table.Add({ToString(place), std::to_string(stats.in_use),
               std::to_string(stats.peak), std::to_string(stats.reserved),
               std::to_string(stats.limit)});
  }
  return table.Text();
} catch (const std::bad_alloc&) {
  RaiseOutOfMemory();
}

std::string ExplainText(const Plan& plan, const RunProfile* profile) try {
  std::string text =
      Format("plan at {} with {} threads: {} ops, {} instructions\n\n",
             PlaceText(plan.place()), plan.num_threads(), plan.ops().size(),
             plan.instructions().size());
  if (UsesEmulatedDevice(plan)) {
    text +=
        "An emulated device: the CPU computes what its kernels would. "
        "Predicted times\nare a real device's, measured ones the "
        "emulation's.\n\n";
  }
  if (profile != nullptr && profile->run.rounds > 0) {
    const Timing& run = profile->run;
    text += Format(
        "a run takes {:.1f} us ({:.1f} to {:.1f}, {} rounds); with a clock at "
        "each op, whose times are medians of {} rounds, {:.1f} us\n\n",
        run.median * 1e6, run.low * 1e6, run.high * 1e6, run.rounds,
        profile->rounds, profile->total_seconds * 1e6);
  }
  text += "decisions\n" + DecisionTable(plan, profile);
  text += "\ntransfers\n" + TransferTable(plan);
  const std::string parameters = ParameterTable(plan);
  if (!parameters.empty()) text += "\nparameters\n" + parameters;
  text += "\narenas\n";
  for (const auto& [place, bytes] : plan.arenas()) {
    text += Format("{}  {} bytes\n", place, bytes);
  }
  const std::string refusals = Refusals(plan);
  if (!refusals.empty()) text += "\nother kernels\n" + refusals;
  if (!plan.notes().empty()) text += "\nremarks\n";
  for (const std::string& note : plan.notes()) {
    text += "  " + note + "\n";
  }
  return text;
} catch (const std::bad_alloc&) {
  RaiseOutOfMemory();
}

namespace {

// Quotes a string for the DOT language.
std::string Quoted(std::string_view text) {
  std::string quoted = "\"";
  for (const char c : text) {
    if (c == '"' || c == '\\') quoted += '\\';
    quoted += c;
  }
  return quoted + "\"";
}

}  // namespace

std::string ExplainDot(const Plan& plan) try {
  std::string text = "digraph plan {\n  node [shape=box];\n";
  std::map<std::string, std::string> made_by;
  for (const FeedSpec& feed : plan.feed_specs()) {
    made_by[feed.name] = Quoted(feed.name);
    text += Format("  {} [shape=ellipse];\n", Quoted(feed.name));
  }
  for (const Decision& decision : plan.decisions()) {
    const OpDesc& op = plan.op_descs()[decision.op_index];
    const std::string node = Quoted(Format("op{}", decision.op_index));
    text += Format("  {} [label={}];\n", node,
                   Quoted(Format("{} {}/{}", op.type, decision.place,
                                 decision.kernel->variant)));
    for (const auto& [argument, vars] : op.inputs) {
      for (const std::string& var : vars) {
        const auto moved =
            std::find_if(plan.transfers().begin(), plan.transfers().end(),
                         [&](const Transfer& transfer) {
                           return transfer.var == var &&
                                  transfer.op_index == decision.op_index;
                         });
        const auto source = made_by.emplace(var, Quoted(var)).first->second;
        std::string label = var;
        if (moved != plan.transfers().end()) {
          label += Format(" ({} bytes to {})", moved->bytes, moved->to);
        }
        text +=
            Format("  {} -> {} [label={}{}];\n", source, node, Quoted(label),
                   moved == plan.transfers().end() ? "" : ", style=dashed");
      }
    }
    for (const auto& [argument, vars] : op.outputs) {
      for (const std::string& var : vars) {
        made_by[var] = node;
      }
    }
  }
  return text + "}\n";
} catch (const std::bad_alloc&) {
  RaiseOutOfMemory();
}

}  // namespace sluice
