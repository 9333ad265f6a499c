#include "sluice/platform/ranks/world.h"

#include <algorithm>
#include <atomic>
#include <cstdlib>
#include <cstring>
#include <map>
#include <mutex>
#include <utility>

#include "sluice/platform/error.h"
#include "sluice/platform/plugin/kernel_module.h"

namespace sluice::platform {

namespace {

// A world of one rank: everything is done when it is started.
class SingleRank final : public World {
 public:
  int rank() const override { return 0; }
  int size() const override { return 1; }
  std::string_view library() const override { return ""; }

  int64_t Start(Collective collective) override {
    if (collective.to != collective.from && collective.count > 0) {
      std::memcpy(
          collective.to, collective.from,
          static_cast<size_t>(collective.count) * SizeOf(collective.dtype));
    }
    return 0;
  }
  void Advance() override {}
  void Wait(int64_t /*number*/) override {}
  double WaitedSeconds() const override { return 0; }
  void BeginPart(uint64_t /*digest*/, std::string_view /*text*/) override {}
  void SetLabel(std::string_view /*label*/) override {}
  void Fail(std::string_view /*why*/) noexcept override {}
};

std::atomic<World*> the_world = nullptr;
std::atomic<void (*)()> device_abort = nullptr;

// How many ranks the launcher of this process started, as it says in the
// environment: Open MPI's mpirun, MPICH's and Intel's, Slurm's srun.
int LaunchedRanks() {
  for (const char* variable :
       {"OMPI_COMM_WORLD_SIZE", "PMI_SIZE", "SLURM_STEP_NUM_TASKS"}) {
    const char* value = std::getenv(variable);
    if (value != nullptr && std::atoi(value) > 0) return std::atoi(value);
  }
  return 0;
}

}  // namespace

World::~World() = default;

std::string_view ToString(CollectiveKind kind) {
  constexpr std::string_view kNames[] = {
      "all-reduce", "broadcast", "all-gather", "reduce-scatter", "barrier"};
  return kNames[static_cast<int>(kind)];
}

World& World::Get() {
  static auto* const kSingle = new SingleRank();
  World* joined = the_world.load(std::memory_order_acquire);
  return joined == nullptr ? *kSingle : *joined;
}

World& World::Join() {
  static std::mutex mutex;
  const std::lock_guard lock(mutex);
  const int launched = LaunchedRanks();
  if (the_world.load() != nullptr || launched == 0) return Get();
  const std::string& problem = LoadModule("mpi");
  SLUICE_ENFORCE(problem.empty() || launched == 1,
                 ErrorCode::kFailedPrecondition, "world.no_mpi",
                 "this process was started as one of {} ranks, but Sluice "
                 "cannot speak to the others: {}",
                 launched, problem);
  SLUICE_ENFORCE(
      !problem.empty() || Get().size() == launched,
      ErrorCode::kFailedPrecondition, "world.other_mpi",
      "this process was started as one of {} ranks, but {} finds {}: start it "
      "with the mpirun of that MPI, or with srun --mpi=pmix",
      launched, Get().library(), Get().size());
  return Get();
}

std::string FirstDifference(const std::vector<std::string>& texts) {
  std::vector<std::string_view> rest(texts.begin(), texts.end());
  const auto more = [&] {
    return std::any_of(rest.begin(), rest.end(),
                       [](std::string_view text) { return !text.empty(); });
  };
  while (more()) {
    std::map<std::string_view, std::vector<size_t>> ranks;  // by line
    for (size_t rank = 0; rank < rest.size(); ++rank) {
      const size_t end = std::min(rest[rank].find('\n'), rest[rank].size());
      ranks[rest[rank].substr(0, end)].push_back(rank);
      rest[rank].remove_prefix(std::min(end + 1, rest[rank].size()));
    }
    if (ranks.size() == 1) continue;
    std::vector<std::pair<std::vector<size_t>, std::string_view>> by_rank;
    by_rank.reserve(ranks.size());
    for (auto& [line, having] : ranks) {
      by_rank.emplace_back(std::move(having), line);
    }
    std::sort(by_rank.begin(), by_rank.end());
    std::string text;
    for (const auto& [having, line] : by_rank) {
      text += "\n  rank";
      for (size_t i = 0; i < having.size(); ++i) {
        const bool last = i + 1 == having.size();
        text += Format("{}{}", i == 0 ? " " : last ? " and " : ", ", having[i]);
      }
      text += Format(": {}", line.empty() ? "nothing more" : line);
    }
    return text.substr(1);
  }
  return "";
}

void SetWorld(World* world) {
  the_world.store(world, std::memory_order_release);
}

void SetDeviceAbort(void (*abort)()) {
  device_abort.store(abort);
}

void AbortDeviceCollectives() {
  if (void (*abort)() = device_abort.load()) abort();
}

}  // namespace sluice::platform
