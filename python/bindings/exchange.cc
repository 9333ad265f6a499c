// Communication between ranks outside of their programs.
#include <algorithm>
#include <cstdint>
#include <cstring>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "sluice/framework/values/scope_lock.h"
#include "sluice/platform/ranks/world.h"
#include "sluice/python/bindings/arguments.h"
#include "sluice/python/bindings/interrupt.h"
#include "sluice/python/bindings/results.h"

namespace sluice::python {

namespace {

using Bytes = std::vector<std::byte>;

// Calls `exchange`, in which all ranks start the collectives that `part`
// describes. If it fails on one rank, the others get its error.
template <typename Exchange>
auto OnAllRanks(const std::string& what,
                std::shared_ptr<const Part> part,
                Exchange exchange) {
  World& world = World::Get();
  try {
    world.SetLabel(what);
    world.BeginPart(std::move(part));
    return exchange(world);
  } catch (const std::exception& error) {
    world.Fail(error.what());
    throw;
  }
}

// Gathers the bytes of all ranks, the same number of each, in rank order.
Bytes AllGather(World& world, Bytes own) {
  const auto from = std::make_shared<const Bytes>(std::move(own));
  const auto to =
      std::make_shared<Bytes>(from->size() * static_cast<size_t>(world.size()));
  Collective collective;
  collective.kind = CollectiveKind::kAllGather;
  collective.from = from->data();
  collective.to = to->data();
  collective.from_owner = from;
  collective.to_owner = to;
  collective.count = static_cast<int64_t>(from->size());
  collective.dtype = DType::kUInt8;
  world.Wait(world.Start(std::move(collective)));
  return std::move(*to);
}

// Gathers the texts of all ranks, which may have different lengths.
std::vector<std::string> AllGatherTexts(World& world, const std::string& own) {
  constexpr size_t kPiece = size_t{64} << 20;  // bytes moved by one collective
  const uint64_t own_size = own.size();
  Bytes size(sizeof(own_size));
  std::memcpy(size.data(), &own_size, sizeof(own_size));
  const Bytes all_sizes = AllGather(world, std::move(size));
  std::vector<uint64_t> sizes(static_cast<size_t>(world.size()));
  std::memcpy(sizes.data(), all_sizes.data(), all_sizes.size());
  const size_t longest = *std::max_element(sizes.begin(), sizes.end());
  std::vector<std::string> texts(sizes.size());
  for (size_t begin = 0; begin < longest; begin += kPiece) {
    const size_t count = std::min(kPiece, longest - begin);
    const auto inside = [&](size_t length) {
      return std::min(count, length - std::min(length, begin));
    };
    Bytes piece(count);
    if (inside(own.size()) > 0) {
      std::memcpy(piece.data(), own.data() + begin, inside(own.size()));
    }
    const Bytes all = AllGather(world, std::move(piece));
    for (size_t rank = 0; rank < texts.size(); ++rank) {
      texts[rank].append(
          reinterpret_cast<const char*>(all.data()) + rank * count,
          inside(sizes[rank]));
    }
  }
  return texts;
}

nb::list Exchange(const std::string& what, const nb::bytes& own) {
  const std::string text(own.c_str(), own.size());
  const auto texts = RunInterruptibly([&] {
    const auto part = std::make_shared<Part>();
    part->Add(what);
    return OnAllRanks(
        what, part, [&](World& world) { return AllGatherTexts(world, text); });
  });
  return ToList(texts, [](const std::string& each) {
    return nb::bytes(each.data(), each.size());
  });
}

std::vector<VarDesc> PersistablesOf(const Program& program) {
  std::vector<VarDesc> persistables;
  for (const VarDesc& var : program.block().vars()) {
    if (var.persistable) persistables.push_back(var);
  }
  return persistables;
}

// Returns the value on the host. Later runs do not change its memory.
Tensor ValueOf(const VarDesc& var, const Scope& scope) {
  const ScopeLock lock(&scope, ScopeAccess::kRead);
  const Variable* variable = scope.FindVar(var.name);
  const Tensor* value = variable == nullptr ? nullptr : variable->Get<Tensor>();
  SLUICE_ENFORCE(value != nullptr && value->allocated() &&
                     value->dtype() == var.dtype && value->dims() == var.dims,
                 ErrorCode::kFailedPrecondition, "distributed.no_value",
                 "rank 0 has no value for variable {} ({} {})", var.name,
                 var.dtype, var.dims);
  return value->place().kind == PlaceKind::kCPU ? *value
                                                : value->CopyTo(CPUPlace());
}

void StartBroadcast(World& world,
                    void* data,
                    size_t bytes,
                    const std::shared_ptr<const void>& owner,
                    std::vector<int64_t>* started) {
  constexpr size_t kPiece = size_t{1} << 30;  // MPI counts are int
  for (size_t done = 0; done < bytes; done += kPiece) {
    Collective collective;
    collective.kind = CollectiveKind::kBroadcast;
    collective.to = static_cast<std::byte*>(data) + done;
    collective.from = collective.to;
    collective.to_owner = owner;
    collective.count = static_cast<int64_t>(std::min(kPiece, bytes - done));
    collective.dtype = DType::kUInt8;
    started->push_back(world.Start(std::move(collective)));
  }
}

// Receives the values of the variables in `source` of rank 0, and that scope's
// step. Stores them in `scope` once all have arrived.
void TakeFromRank0(World& world,
                   const std::vector<VarDesc>& vars,
                   const Scope& source,
                   Scope* scope) {
  std::vector<Tensor> values;
  const auto step = std::make_shared<uint64_t>(source.step());
  std::vector<int64_t> started;
  StartBroadcast(world, step.get(), sizeof(*step), step, &started);
  for (const VarDesc& var : vars) {
    Tensor value;
    void* data = nullptr;
    if (world.rank() == 0) {
      value = ValueOf(var, source);
      // Rank 0 only reads it.
      data = const_cast<void*>(std::as_const(value).raw_data());
    } else {
      data = value.Resize(var.dims).mutable_data(var.dtype, CPUPlace());
    }
    StartBroadcast(world, data, value.bytes(), value.holder(), &started);
    values.push_back(std::move(value));
  }
  for (const int64_t number : started) {
    world.Wait(number);
  }
  const ScopeLock lock(scope, ScopeAccess::kWrite);
  for (size_t i = 0; i < vars.size(); ++i) {
    Variable* variable = scope->FindVar(vars[i].name);
    if (variable == nullptr) variable = &scope->Var(vars[i].name);
    *variable->GetMutable<Tensor>() = std::move(values[i]);
  }
  scope->set_step(*step);
}

void BroadcastParameters(const std::string& what,
                         nb::handle program_object,
                         nb::handle source_object,
                         nb::handle scope_object) {
  const Program& program = ToProgram(program_object, what);
  const Scope& source = ToScope(source_object, what);
  Scope& scope = ToScope(scope_object, what);
  const std::vector<VarDesc> vars = PersistablesOf(program);
  const auto part = std::make_shared<Part>();
  part->Add(what);
  for (const VarDesc& var : vars) {
    part->Add(Format("{} {} {}", var.name, var.dtype, var.dims));
  }
  RunInterruptibly([&] {
    return OnAllRanks(what, part, [&](World& world) {
      TakeFromRank0(world, vars, source, &scope);
      return true;
    });
  });
}

}  // namespace

void BindExchanges(nb::module_& m) {
  m.def("_exchange", &Exchange);
  m.def("_broadcast_parameters", &BroadcastParameters);
}

}  // namespace sluice::python
