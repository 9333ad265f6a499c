#include <algorithm>
#include <cmath>
#include <map>
#include <new>
#include <optional>
#include <type_traits>
#include <variant>

#include "sluice/framework/inspect/explain.h"
#include "sluice/framework/inspect/explain_values.h"
#include "sluice/framework/inspect/json_writer.h"
#include "sluice/framework/inspect/plan_calls.h"
#include "sluice/framework/inspect/run_profile.h"
#include "sluice/framework/op/op_schema.h"
#include "sluice/framework/op/registry.h"
#include "sluice/framework/plan/block_plans.h"
#include "sluice/platform/error.h"

namespace sluice {

namespace {

void WriteWork(const KernelWork& work, JsonWriter* json) {
  json->Key("work");
  json->BeginObject();
  json->Field("flops", work.flops);
  json->Field("bytes", work.bytes);
  json->Field("extra_bytes", work.extra_bytes);
  for (const WorkCount& count : kWorkCounts) {
    const bool given = count.count == &KernelWork::flops ||
                       count.count == &KernelWork::bytes ||
                       count.count == &KernelWork::extra_bytes;
    if (!given && work.*count.count != 0) {
      json->Field(count.name, work.*count.count);
    }
  }
  json->EndObject();
}

void WriteRecord(const Record& record, JsonWriter* json) {
  json->Key("measured");
  json->BeginObject();
  if (record.rounds > 0) WriteSpread(record, json);
  json->Field("rounds", record.rounds);
  json->Field("verdict", ToString(record.verdict));
  json->Field("error", record.error);
  json->Field("message", record.message);
  json->Field("date", record.date);
  json->Field("machine", record.machine);
  json->Field("kernel_version", record.kernel_version);
  json->Field("sluice", record.sluice);
  json->EndObject();
}

void WriteKernel(const KernelDef& kernel,
                 std::string_view place,
                 std::string_view refusal,
                 bool elsewhere,
                 JsonWriter* json) {
  json->Field("kernel", ToString(kernel));
  json->Field("library", kernel.key.library);
  json->Field("variant", kernel.variant);
  json->Field("dtype", ToString(kernel.key.dtype));
  json->Field("place", place);
  json->Field("refusal", refusal);
  if (elsewhere) json->Field("elsewhere", true);
}

void WritePossible(const Candidate& candidate, JsonWriter* json) {
  if (candidate.refusal.empty()) {
    json->Field("predicted_seconds", candidate.seconds);
    json->Field("evidence", ToString(candidate.evidence));
    json->Field("estimated_seconds", candidate.estimate);
    WriteWork(candidate.work, json);
  }
  if (candidate.record != nullptr) WriteRecord(*candidate.record, json);
}

// With `shared`, writes only the data that all ops of the signature share.
void WriteCandidates(const Decision& decision, bool shared, JsonWriter* json) {
  json->Field("signature", decision.list->signature);
  json->Field("hints", decision.list->hints);
  json->Field("notes", decision.list->notes);
  json->Key("candidates");
  json->BeginArray();
  for (const Candidate& candidate : decision.candidates()) {
    json->BeginObject();
    WriteKernel(*candidate.kernel, ToString(candidate.place), candidate.refusal,
                candidate.elsewhere, json);
    WritePossible(candidate, json);
    if (!shared) {
      json->Field("chosen", candidate.kernel == decision.kernel);
      json->Field("transfer_bytes", decision.transfer_bytes(candidate.place));
    }
    json->EndObject();
  }
  for (const KernelDef* kernel : KernelsElsewhere(decision)) {
    json->BeginObject();
    WriteKernel(*kernel, ToString(kernel->key.place),
                WhyElsewhere(decision, *kernel), true, json);
    if (!shared) json->Field("chosen", false);
    json->EndObject();
  }
  json->EndArray();
}

// Writes one list for each of these decisions.
void WriteLists(const std::vector<const Decision*>& decisions,
                JsonWriter* json) {
  json->Key("candidate_lists");
  json->BeginArray();
  for (const Decision* decision : decisions) {
    json->BeginObject();
    WriteCandidates(*decision, true, json);
    json->EndObject();
  }
  json->EndArray();
}

// Returns the predicted time of the second-best kernel divided by that of the
// chosen one; nothing without another candidate.
std::optional<double> Margin(const Decision& decision,
                             const Candidate& chosen) {
  std::optional<double> next;
  for (const Candidate& candidate : decision.candidates()) {
    if (&candidate == &chosen || !candidate.refusal.empty()) continue;
    if (!next || candidate.seconds < *next) next = candidate.seconds;
  }
  if (!next || !(chosen.seconds > 0)) return std::nullopt;
  return *next / chosen.seconds;
}

void WriteAnswers(const std::vector<HintAnswer>& answers, JsonWriter* json) {
  json->Key("hint_answers");
  json->BeginArray();
  for (const HintAnswer& answer : answers) {
    json->BeginObject();
    json->Field("hint", answer.hint);
    json->Field("obeyed", answer.obeyed);
    json->Field("why_not", answer.why_not);
    json->Field("known_wrong", answer.known_wrong);
    json->EndObject();
  }
  json->EndArray();
}

// Writes the attributes that are not the defaults. A number that JSON lacks is
// text, "inf".
void WriteAttributes(const OpDesc& desc, JsonWriter* json) {
  const OpSchema& schema = Registry::Global().Schema(desc.type);
  json->Key("attributes");
  json->BeginObject();
  for (const auto& [name, value] : desc.attributes) {
    const AttrDef* def = schema.FindAttr(name);
    if (def != nullptr && def->default_value == value) continue;
    json->Key(name);
    const auto* number = std::get_if<double>(&value);
    if (number != nullptr && !std::isfinite(*number)) {
      json->Value(ToString(value));
      continue;
    }
    std::visit(
        [&]<typename T>(const T& held) {
          if constexpr (std::is_same_v<T, DType>) {
            json->Value(ToString(held));
          } else {
            json->Value(held);
          }
        },
        static_cast<const Attribute::Variant&>(value));
  }
  json->EndObject();
}

void WriteOp(const Decision& decision, const Plan& plan, JsonWriter* json) {
  const OpDesc& desc = plan.op_descs()[decision.op_index];
  const OpKernelType& key = decision.kernel->key;
  json->Field("index", decision.op_index);
  json->Field("op", decision.op);
  json->Field("call", NameOf(decision));
  json->Field("place", ToString(decision.place));
  json->Field("dtype", ToString(key.dtype));
  json->Field("layout", ToString(decision.list->layout));
  json->Field("library", key.library);
  json->Field("variant", decision.kernel->variant);
  json->Field("kernel", ToString(*decision.kernel));
  json->Field("expected", ToString(decision.list->expected));
  json->Field("reason", decision.reason);
  json->Field("purpose", PurposeName(desc.purpose));
  json->Field("line",
              desc.location.file.empty()
                  ? ""
                  : Format("{}:{}", desc.location.file, desc.location.line));
  json->Field("covers", decision.covers);
  json->Field("covered_ops", decision.covered_ops);
  json->Field("pass", decision.pass);
  WriteAttributes(desc, json);
  WriteAnswers(decision.answers, json);
}

void WritePrediction(const Plan& plan, size_t op, JsonWriter* json) {
  const Decision& decision = plan.decisions()[op];
  const auto& candidates = decision.candidates();
  const auto chosen = std::find_if(candidates.begin(), candidates.end(),
                                   [&](const Candidate& candidate) {
                                     return candidate.kernel == decision.kernel;
                                   });
  json->Field("chosen", chosen - candidates.begin());
  json->Field("predicted_seconds", PredictedSeconds(plan, op));
  json->Field("evidence", ToString(chosen->evidence));
  json->Field("decided_by", IsByHint(decision.why.reason)
                                ? "hint"
                                : ToString(chosen->evidence));
  if (const auto margin = Margin(decision, *chosen)) {
    json->Field("margin", *margin);
  }
}

void WriteTransferBytes(const Decision& decision, JsonWriter* json) {
  if (decision.transfers.empty()) return;
  json->Key("transfer_bytes");
  json->BeginObject();
  for (const auto& [place, bytes] : decision.transfers) {
    json->Field(ToString(place), bytes);
  }
  json->EndObject();
}

void WriteTransfers(const Plan& plan,
                    const RunProfile* profile,
                    JsonWriter* json) {
  json->Key("transfers");
  json->BeginArray();
  for (const Transfer& transfer : plan.transfers()) {
    json->BeginObject();
    json->Field("var", transfer.var);
    json->Field("from", ToString(transfer.from));
    json->Field("to", ToString(transfer.to));
    json->Field("bytes", transfer.bytes);
    json->Field("op_index", transfer.op_index);
    json->Field("instruction", transfer.instruction);
    if (profile != nullptr && transfer.instruction >= 0) {
      json->Field("seconds",
                  profile->instructions[transfer.instruction].median);
    }
    json->EndObject();
  }
  json->EndArray();
}

// Writes the work of later stretches of the program; empty lists without any.
void WriteRest(const PlanRest& rest, JsonWriter* json) {
  json->Key("rest");
  json->BeginObject();
  json->Field("reason", rest.reason);
  json->Field("feeds", rest.feeds);
  json->Field("fetches", rest.fetches);
  json->Field("block_ops", rest.block_ops);
  json->EndObject();
}

void WriteArenas(const Plan& plan, JsonWriter* json) {
  json->Key("arenas");
  json->BeginObject();
  for (const auto& [place, bytes] : plan.arenas()) {
    json->Field(ToString(place), bytes);
  }
  json->EndObject();
}

// Writes the ops, and each shared candidate list once.
class OpWriter {
 public:
  OpWriter(const Plan& plan, const ExplainJsonOptions& options)
      : plan_(plan), options_(options) {}

  void Write(JsonWriter* json) {
    json->Key("ops");
    json->BeginArray();
    for (size_t i = 0; i < plan_.decisions().size(); ++i) {
      json->BeginObject();
      WriteOne(i, json);
      json->EndObject();
    }
    json->EndArray();
    if (options_.by_signature) WriteLists(firsts_, json);
  }

 private:
  void WriteOne(size_t position, JsonWriter* json) {
    const Decision& decision = plan_.decisions()[position];
    WriteOp(decision, plan_, json);
    WritePrediction(plan_, position, json);
    WriteOpValues(plan_, plan_.ops()[position], json);
    if (options_.profile != nullptr) {
      WriteTime("measured", options_.profile->ops[decision.op_index], json);
    }
    if (!options_.by_signature) {
      WriteCandidates(decision, false, json);
      return;
    }
    const auto [known, added] =
        indices_.emplace(decision.list.get(), firsts_.size());
    if (added) firsts_.push_back(&decision);
    json->Field("candidate_list", known->second);
    WriteTransferBytes(decision, json);
  }

  const Plan& plan_;
  const ExplainJsonOptions& options_;
  std::vector<const Decision*> firsts_;  // the first decision of each list
  std::map<const CandidateList*, size_t> indices_;
};

}  // namespace

std::string ExplainJson(const Plan& plan,
                        const ExplainJsonOptions& options) try {
  JsonWriter json;
  json.BeginObject();
  json.Field("place", ToString(plan.place()));
  json.Field("threads", plan.num_threads());
  WriteFeedsAndFetches(plan, &json);
  OpWriter(plan, options).Write(&json);
  WriteInstructions(plan, options.profile, &json);
  WriteSlots(plan, &json);
  WriteTransfers(plan, options.profile, &json);
  WriteArenas(plan, &json);
  json.Field("notes", plan.notes());
  WriteRest(plan.rest(), &json);
  if (options.profile != nullptr) WriteTimes(*options.profile, &json);
  json.EndObject();
  return json.text();
} catch (const std::bad_alloc&) {
  RaiseOutOfMemory();
}

}  // namespace sluice
