#include "sluice/onnx/import/handlers.h"

#include <map>

namespace sluice::onnx {

namespace {

using Versions = std::map<int64_t, Handler>;
using Table = std::map<std::string_view, Versions>;

const Table& AllHandlers() {
  static const Table* const kTable = [] {
    auto* rows = new Table();  // never freed: it may be read at exit
    for (const auto family : {AttentionHandlers(),  ContractionHandlers(),
                              ConstantHandlers(),   ControlFlowHandlers(),
                              ConversionHandlers(), ConvHandlers(),
                              EinsumHandlers(),     ElementwiseHandlers(),
                              GradientHandlers(),   ImageHandlers(),
                              IndexingHandlers(),   LossHandlers(),
                              MovementHandlers(),   NormHandlers(),
                              PoolHandlers(),       QuantizationHandlers(),
                              RecurrentHandlers(),  ReductionHandlers(),
                              ResizeHandlers(),     RotaryEmbeddingHandlers(),
                              SearchHandlers(),     SequenceHandlers(),
                              SignalHandlers()}) {
      for (const HandlerRow& row : family) {
        (*rows)[row.type][row.since_version] = row.handler;
      }
    }
    return rows;
  }();
  return *kTable;
}

}  // namespace

Handler FindHandler(std::string_view type, int64_t version) {
  const auto versions = AllHandlers().find(type);
  if (versions == AllHandlers().end()) return nullptr;
  const auto next = versions->second.upper_bound(version);
  return next == versions->second.begin() ? nullptr : std::prev(next)->second;
}

int64_t OldestHandled(std::string_view type) {
  const auto versions = AllHandlers().find(type);
  if (versions == AllHandlers().end()) return 0;
  return versions->second.begin()->first;
}

}  // namespace sluice::onnx
