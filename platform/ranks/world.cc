#include "sluice/platform/ranks/world.h"

#include <algorithm>
#include <atomic>
#include <cstdlib>
#include <cstring>
#include <mutex>
#include <utility>

#include "sluice/platform/error.h"
#include "sluice/platform/plugin/kernel_module.h"
#include "sluice/platform/text.h"

namespace sluice {

namespace {

// A world of one rank: a collective is done when it is started.
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
  void BeginPart(std::shared_ptr<const Part> /*part*/) override {}
  void BeginRun() override {}
  void NoteFailedRun(std::string_view /*why*/) override {}
  void SetLabel(std::string_view /*label*/) override {}
  void Fail(std::string_view /*why*/) noexcept override {}
};

std::atomic<World*> the_world = nullptr;
std::atomic<bool> error_is_shown = false;
std::atomic<void (*)()> device_abort = nullptr;

// Returns how many ranks the launcher of this process started, from the
// environment of Open MPI's mpirun, MPICH's and Intel's, and Slurm's srun.
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

StallSettings StallSettings::OfEnvironment() {
  constexpr double kMostSeconds = 1e6;
  StallSettings settings;
  const char* text = std::getenv("SLUICE_STALL_SECONDS");
  if (text != nullptr && *text != '\0') {
    char* end = nullptr;
    settings.seconds = std::strtod(text, &end);
    SLUICE_ENFORCE(
        *end == '\0' && settings.seconds > 0 &&
            settings.seconds <= kMostSeconds,
        ErrorCode::kInvalidArgument, "world.stall_seconds",
        "SLUICE_STALL_SECONDS=\"{}\": expected a number of seconds above 0, at "
        "most {}",
        text, kMostSeconds);
  }
  text = std::getenv("SLUICE_STALL_ABORT");
  if (text != nullptr && *text != '\0') {
    const std::string_view value = text;
    SLUICE_ENFORCE(value == "0" || value == "1", ErrorCode::kInvalidArgument,
                   "world.stall_abort",
                   "SLUICE_STALL_ABORT=\"{}\": expected 0 or 1", value);
    settings.aborts = value == "1";
  }
  return settings;
}

World& World::Join() {
  static std::mutex mutex;
  const std::lock_guard lock(mutex);
  const int launched = LaunchedRanks();
  if (launched == 0) return Get();
  StallSettings::OfEnvironment();  // raises before MPI begins
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

void World::RequireJoined(std::string_view what) {
  const int launched = LaunchedRanks();
  SLUICE_ENFORCE(
      launched <= 1 || Get().size() == launched, ErrorCode::kFailedPrecondition,
      "world.not_joined",
      "{}: this process was started as one of {} ranks and has not joined "
      "them: call sluice.distributed.init() before, in C++ World::Join()",
      what, launched);
}

void World::NoteErrorShown() {
  error_is_shown = true;
}

bool World::ErrorIsShown() {
  return error_is_shown;
}

uint64_t Part::Extend(uint64_t digest, std::string_view line) {
  constexpr uint64_t kPrime = 0x100000001b3;
  for (const char c : line) {
    digest = (digest ^ static_cast<uint8_t>(c)) * kPrime;
  }
  return (digest ^ '\n') * kPrime;
}

void Part::Add(std::string text, std::string where) {
  digest_ = Extend(digest_, text);
  lines_.push_back({std::move(text), std::move(where)});
}

uint64_t Part::Digest(size_t count) const {
  uint64_t digest = kEmptyDigest;
  for (size_t i = 0; i < std::min(count, lines_.size()); ++i) {
    digest = Extend(digest, lines_[i].text);
  }
  return digest;
}

std::string NameRanks(const std::vector<int>& ranks) {
  std::vector<std::string> items;
  for (size_t i = 0; i < ranks.size();) {
    size_t end = i + 1;
    while (end < ranks.size() && ranks[end] == ranks[end - 1] + 1) {
      ++end;
    }
    constexpr size_t kShortestRange = 3;
    if (end - i >= kShortestRange) {
      items.push_back(Format("{} to {}", ranks[i], ranks[end - 1]));
    } else {
      end = i + 1;
      items.push_back(std::to_string(ranks[i]));
    }
    i = end;
  }
  std::string text = ranks.size() == 1 ? "rank " : "ranks ";
  for (size_t i = 0; i < items.size(); ++i) {
    const bool last = i + 1 == items.size();
    text += (i == 0 ? "" : last ? " and " : ", ") + items[i];
  }
  return text;
}

std::string DescribeLines(std::vector<Part::Line> lines) {
  constexpr size_t kLongest = 400;
  constexpr size_t kBefore = 80;  // bytes shown before the first difference
  size_t same = lines.empty() ? 0 : lines[0].text.size();
  for (const Part::Line& line : lines) {
    const auto [end, other] =
        std::mismatch(lines[0].text.begin(), lines[0].text.end(),
                      line.text.begin(), line.text.end());
    same = std::min(same, static_cast<size_t>(end - lines[0].text.begin()));
  }
  // Sorted by the first rank that has the line.
  std::vector<std::pair<std::string, std::vector<int>>> ranks;
  for (size_t rank = 0; rank < lines.size(); ++rank) {
    std::string text = std::move(lines[rank].text);
    if (text.empty()) text = "nothing more";
    if (text.size() > kLongest) {
      const size_t begin =
          same > kBefore ? Utf8Prefix(text, same - kBefore).size() : 0;
      const std::string_view rest = std::string_view(text).substr(begin);
      const std::string part(Utf8Prefix(rest, kLongest));
      const bool cut = part.size() < rest.size();
      text = (begin > 0 ? "..." : "") + part + (cut ? "..." : "");
    }
    if (!lines[rank].where.empty()) text += ", " + lines[rank].where;
    auto having =
        std::find_if(ranks.begin(), ranks.end(),
                     [&](const auto& each) { return each.first == text; });
    if (having == ranks.end()) {
      having = ranks.emplace(ranks.end(), std::move(text), std::vector<int>());
    }
    having->second.push_back(static_cast<int>(rank));
  }
  std::string described;
  for (const auto& [text, having] : ranks) {
    described += Format("{}  {}: {}", described.empty() ? "" : "\n",
                        NameRanks(having), text);
  }
  return described;
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

}  // namespace sluice
