#include <new>

#include "sluice/framework/inspect/explain.h"
#include "sluice/framework/inspect/json_writer.h"
#include "sluice/framework/inspect/profile.h"
#include "sluice/platform/error.h"

namespace sluice::framework {

namespace {

void WriteCandidates(const Decision& decision, JsonWriter* json) {
  json->Key("candidates");
  json->BeginArray();
  for (const Candidate& candidate : decision.candidates()) {
    json->BeginObject();
    json->Field("kernel", ToString(*candidate.kernel));
    json->Field("place", ToString(candidate.place));
    json->Field("chosen", candidate.kernel == decision.kernel);
    json->Field("refusal", candidate.refusal);
    if (candidate.refusal.empty()) {
      json->Field("predicted_seconds", candidate.seconds);
      json->Field("evidence", ToString(candidate.evidence));
      json->Field("estimated_seconds", candidate.estimate);
    }
    json->Field("transfer_bytes", decision.transfer_bytes(candidate.place));
    json->EndObject();
  }
  for (const KernelDef* kernel : KernelsElsewhere(decision)) {
    json->BeginObject();
    json->Field("kernel", ToString(*kernel));
    json->Field("place", ToString(kernel->key.place));
    json->Field("chosen", false);
    json->Field("refusal",
                "neither the executor nor a hint asks for its place");
    json->EndObject();
  }
  json->EndArray();
}

void WriteOp(const Decision& decision, JsonWriter* json) {
  const OpKernelType& key = decision.kernel->key;
  json->Field("index", decision.op_index);
  json->Field("op", decision.op);
  json->Field("place", ToString(decision.place));
  json->Field("dtype", ToString(key.dtype));
  json->Field("layout", ToString(decision.list->expected.layout));
  json->Field("library", key.library);
  json->Field("variant", decision.kernel->variant);
  json->Field("expected", ToString(decision.list->expected));
  json->Field("reason", decision.reason);
  json->Field("hints", decision.list->hints);
  json->Field("notes", decision.list->notes);
  WriteCandidates(decision, json);
}

void WriteTransfers(const Plan& plan, JsonWriter* json) {
  json->Key("transfers");
  json->BeginArray();
  for (const Transfer& transfer : plan.transfers()) {
    json->BeginObject();
    json->Field("var", transfer.var);
    json->Field("from", ToString(transfer.from));
    json->Field("to", ToString(transfer.to));
    json->Field("bytes", transfer.bytes);
    json->Field("op_index", transfer.op_index);
    json->EndObject();
  }
  json->EndArray();
}

void WriteArenas(const Plan& plan, JsonWriter* json) {
  json->Key("arenas");
  json->BeginObject();
  for (const auto& [place, bytes] : plan.arenas()) {
    json->Field(ToString(place), bytes);
  }
  json->EndObject();
}

}  // namespace

std::string ExplainJson(const Plan& plan, const RunProfile* profile) try {
  std::vector<double> seconds;
  if (profile != nullptr) seconds = profile->SecondsByOp(plan);
  JsonWriter json;
  json.BeginObject();
  json.Field("place", ToString(plan.place()));
  json.Field("threads", plan.num_threads());
  json.Field("instructions", plan.instructions().size());
  json.Key("ops");
  json.BeginArray();
  for (const Decision& decision : plan.decisions()) {
    json.BeginObject();
    WriteOp(decision, &json);
    if (!seconds.empty()) json.Field("seconds", seconds[decision.op_index]);
    json.EndObject();
  }
  json.EndArray();
  WriteTransfers(plan, &json);
  WriteArenas(plan, &json);
  json.Field("notes", plan.notes());
  json.EndObject();
  return json.text();
} catch (const std::bad_alloc&) {
  platform::RaiseOutOfMemory();
}

}  // namespace sluice::framework
