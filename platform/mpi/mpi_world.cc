// The ranks that an MPI launcher started. Only functions that return at once
// are called (MPI_I..., MPI_Test), so that a rank that waits can hear of
// another one's error and can say for whom it waits.
#include <algorithm>
#include <array>
#include <chrono>
#include <cstdlib>
#include <cstring>
#include <list>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include <mpi.h>
#include <unistd.h>

#include "sluice/platform/cancel.h"
#include "sluice/platform/error.h"
#include "sluice/platform/logging.h"
#include "sluice/platform/mpi/mpi_types.h"
#include "sluice/platform/mpi/open_mpi.h"
#include "sluice/platform/parallel_for.h"
#include "sluice/platform/ranks/world.h"

namespace sluice::platform::mpi {
namespace {

using platform::Collective;
using platform::CollectiveKind;
using platform::ErrorCode;
using platform::Format;
using Clock = std::chrono::steady_clock;

constexpr int kFailTag = 1;
constexpr int kStallTag = 2;
constexpr size_t kMessageBytes = 1024;
// Of what ranks compare where they differ.
constexpr size_t kTextBytes = 1 << 16;
// Started and not waited for; more than a program has.
constexpr size_t kFlights = 4096;
// A part that no program has: the process ends.
constexpr uint64_t kEndDigest = 0x656e642073797300;

void Check(int status, const char* function) {
  if (status == MPI_SUCCESS) return;
  char text[MPI_MAX_ERROR_STRING] = "";
  int length = 0;
  MPI_Error_string(status, text, &length);
  platform::Raise(ErrorCode::kInternal, "mpi.call", "{}: {}", function,
                  std::string_view(text, static_cast<size_t>(length)));
}

double Seconds(Clock::duration time) {
  return std::chrono::duration<double>(time).count();
}

// Seconds until a rank that waits says so.
double StallSeconds() {
  const char* text = std::getenv("SLUICE_STALL_SECONDS");
  if (text == nullptr) return 60;
  char* end = nullptr;
  const double seconds = std::strtod(text, &end);
  SLUICE_ENFORCE(end != text && *end == '\0' && seconds > 0,
                 ErrorCode::kInvalidArgument, "mpi.stall_seconds",
                 "SLUICE_STALL_SECONDS=\"{}\": expected a number above 0",
                 text);
  return seconds;
}

bool StallAborts() {
  const char* text = std::getenv("SLUICE_STALL_ABORT");
  const std::string_view value = text == nullptr ? "0" : text;
  SLUICE_ENFORCE(value == "0" || value == "1", ErrorCode::kInvalidArgument,
                 "mpi.stall_abort",
                 "SLUICE_STALL_ABORT=\"{}\": expected 0 or 1", value);
  return value == "1";
}

// A collective that was started.
struct Flight {
  int64_t number = -1;
  Collective what;
  MPI_Request request = MPI_REQUEST_NULL;
  bool done = true;
  std::string_view label;
  std::vector<std::byte> parts;  // of all ranks, to be summed in order
};

class MpiWorld final : public platform::World {
 public:
  MpiWorld() : stall_seconds_(StallSeconds()), stall_aborts_(StallAborts()) {
    Check(MPI_Comm_dup(MPI_COMM_WORLD, &data_), "MPI_Comm_dup");
    Check(MPI_Comm_dup(MPI_COMM_WORLD, &control_), "MPI_Comm_dup");
    for (const MPI_Comm each : {data_, control_}) {
      Check(MPI_Comm_set_errhandler(each, MPI_ERRORS_RETURN),
            "MPI_Comm_set_errhandler");
    }
    Check(MPI_Comm_rank(data_, &rank_), "MPI_Comm_rank");
    Check(MPI_Comm_size(data_, &size_), "MPI_Comm_size");
    int length = 0;
    char version[MPI_MAX_LIBRARY_VERSION_STRING] = "";
    Check(MPI_Get_library_version(version, &length), "MPI_Get_library_version");
    library_ = std::string(version, static_cast<size_t>(length));
    library_ = library_.substr(0, library_.find_first_of(",\n"));
    flights_.resize(kFlights);
    ShareCores();
  }

  int rank() const override { return rank_; }
  int size() const override { return size_; }
  std::string_view library() const override { return library_; }

  int64_t Start(Collective collective) override {
    std::unique_lock lock(mutex_);
    CheckWorks();
    Flight& flight = flights_[next_ % kFlights];
    if (!flight.done) WaitFor(flight, lock);
    flight.number = next_++;
    flight.what = std::move(collective);
    flight.label = label_;
    flight.done = false;
    LaunchStarted();
    return flight.number;
  }

  void Advance() override {
    const std::lock_guard lock(mutex_);
    if (!failure_.empty()) return;
    Drive();
  }

  void Wait(int64_t number) override {
    std::unique_lock lock(mutex_);
    Flight& flight = flights_[number % kFlights];
    if (flight.number != number || flight.done) return;
    const auto begun = Clock::now();
    WaitFor(flight, lock);
    waited_ += Clock::now() - begun;
  }

  double WaitedSeconds() const override {
    const std::lock_guard lock(mutex_);
    return Seconds(waited_);
  }

  void BeginPart(uint64_t digest, std::string_view text) override {
    std::unique_lock lock(mutex_);
    CheckWorks();
    BeginPart(digest, text, lock);
  }

  void SetLabel(std::string_view label) override {
    const std::lock_guard lock(mutex_);
    label_ = label;
  }

  void Fail(std::string_view why) noexcept override {
    try {
      const std::lock_guard lock(mutex_);
      if (!failure_.empty()) return;
      failure_ = Format("rank {}: {}", rank_, why);
      Tell(kFailTag, failure_);
    } catch (...) {
      // The others hear of it when this process ends.
    }
  }

  // Before the process ends. Nobody may be left waiting for this rank.
  void End() noexcept {
    if (getpid() != process_) return;  // a copy that a fork made
    try {
      std::unique_lock lock(mutex_);
      if (failure_.empty()) {
        BeginPart(kEndDigest, "the program ends here", lock);
        FinishAgreement(lock);
      }
    } catch (const std::exception& error) {
      platform::Log(platform::LogLevel::kError, "{}", error.what());
    }
    if (!failure_.empty()) {
      // The others shall have time for their own messages.
      usleep(1'000'000);
      MPI_Abort(MPI_COMM_WORLD, 1);
    }
    MPI_Finalize();
  }

 private:
  // Ranks that the launcher has not bound to cores of their own would use all
  // of them at once.
  void ShareCores() const {
    MPI_Comm host = MPI_COMM_NULL;
    Check(MPI_Comm_split_type(data_, MPI_COMM_TYPE_SHARED, rank_, MPI_INFO_NULL,
                              &host),
          "MPI_Comm_split_type");
    int ranks = 1;
    Check(MPI_Comm_size(host, &ranks), "MPI_Comm_size");
    Check(MPI_Comm_free(&host), "MPI_Comm_free");
    const auto cores = static_cast<int>(sysconf(_SC_NPROCESSORS_ONLN));
    if (ranks * platform::NumThreads() > cores) {
      platform::SetNumThreads(std::max(cores / ranks, 1));
    }
  }

  using Lock = std::unique_lock<std::mutex>;

  void CheckWorks() const {
    SLUICE_ENFORCE(failure_.empty(), ErrorCode::kFailedPrecondition,
                   "world.failed", "{}", failure_);
  }

  // The next part begins when all ranks have agreed on the one before.
  void BeginPart(uint64_t digest, std::string_view text, Lock& lock) {
    FinishAgreement(lock);
    part_text_ = text;
    ++parts_;
    // The largest of both is the digest and its complement, if all are equal.
    sent_ = {digest, ~digest};
    ChooseAllReduce(sizeof(sent_), size_);
    Check(MPI_Iallreduce(sent_.data(), received_.data(), 2, MPI_UINT64_T,
                         MPI_MAX, control_, &agreement_),
          "MPI_Iallreduce");
  }

  // Does what can be done at once.
  void Drive() {
    TestAgreement();
    LaunchStarted();
    while (first_ < launched_) {
      Flight& flight = flights_[first_ % kFlights];
      TestFlight(flight);
      if (!flight.done) break;
      ++first_;
    }
  }

  // No data moves before all ranks have agreed.
  void LaunchStarted() {
    while (launched_ < next_ && agreement_ == MPI_REQUEST_NULL && !disagree_) {
      Launch(flights_[launched_++ % kFlights]);
    }
  }

  void Launch(Flight& flight) {
    const Collective& what = flight.what;
    const auto count = static_cast<int>(what.count);
    const void* from = what.from == what.to ? MPI_IN_PLACE : what.from;
    switch (what.kind) {
      case CollectiveKind::kAllReduce:
        if (what.ordered) return LaunchOrdered(flight);
        ChooseAllReduce(Bytes(what), size_);
        return Check(MPI_Iallreduce(from, what.to, count, ReducedType(what),
                                    ReductionOf(what), data_, &flight.request),
                     "MPI_Iallreduce");
      case CollectiveKind::kBroadcast:
        if (rank_ == what.root && what.from != what.to) {
          std::memcpy(what.to, what.from, Bytes(what));
        }
        return Check(MPI_Ibcast(what.to, count, MovedType(what.dtype),
                                what.root, data_, &flight.request),
                     "MPI_Ibcast");
      case CollectiveKind::kAllGather:
        return Check(MPI_Iallgather(what.from, count, MovedType(what.dtype),
                                    what.to, count, MovedType(what.dtype),
                                    data_, &flight.request),
                     "MPI_Iallgather");
      case CollectiveKind::kReduceScatter:
        return Check(MPI_Ireduce_scatter_block(
                         what.from, what.to, count, ReducedType(what),
                         ReductionOf(what), data_, &flight.request),
                     "MPI_Ireduce_scatter_block");
      case CollectiveKind::kBarrier:
        return Check(MPI_Ibarrier(data_, &flight.request), "MPI_Ibarrier");
    }
  }

  // The parts of all ranks come to each of them, which adds them up.
  void LaunchOrdered(Flight& flight) {
    const Collective& what = flight.what;
    const auto count = static_cast<int>(what.count);
    flight.parts.resize(Bytes(what) * static_cast<size_t>(size_));
    Check(MPI_Iallgather(what.from, count, MovedType(what.dtype),
                         flight.parts.data(), count, MovedType(what.dtype),
                         data_, &flight.request),
          "MPI_Iallgather");
  }

  void TestFlight(Flight& flight) {
    if (flight.done) return;
    int flag = 0;
    Check(MPI_Test(&flight.request, &flag, MPI_STATUS_IGNORE), "MPI_Test");
    if (flag == 0) return;
    if (flight.what.ordered && flight.what.kind == CollectiveKind::kAllReduce) {
      ReduceInOrder(flight.what, size_, flight.parts.data());
    }
    flight.done = true;
    flight.what.from_owner.reset();
    flight.what.to_owner.reset();
  }

  void WaitFor(const Flight& flight, Lock& lock) {
    WaitUntil([&] { return flight.done; }, flight.label, lock);
  }

  void FinishAgreement(Lock& lock) {
    WaitUntil([&] { return agreement_ == MPI_REQUEST_NULL && !disagree_; },
              "the beginning of a run", lock);
  }

  template <typename Done>
  void WaitUntil(Done done, std::string_view label, Lock& lock) {
    constexpr int kCallsALook = 256;
    Clock::time_point begun;
    for (int calls = 1; !done(); ++calls) {
      CheckWorks();
      Drive();
      if (disagree_) RaiseDisagreement(lock);
      if (calls % kCallsALook != 0) continue;
      const auto now = Clock::now();
      if (begun == Clock::time_point()) begun = now;
      LookAround(Seconds(now - begun), label, lock);
    }
    stalled_at_ = Clock::time_point();
    stall_named_ = false;
  }

  // What may have gone wrong elsewhere.
  void LookAround(double waited, std::string_view label, Lock& lock) {
    platform::CheckCancelled();
    int flag = 0;
    MPI_Status status;
    Check(MPI_Iprobe(MPI_ANY_SOURCE, kFailTag, control_, &flag, &status),
          "MPI_Iprobe");
    if (flag != 0) {
      failure_ = Hear(kFailTag, status.MPI_SOURCE);
      CheckWorks();
    }
    if (waited > stall_seconds_) Stalled(waited, label);
    // Other threads of this rank may have to say something.
    lock.unlock();
    lock.lock();
  }

  void TestAgreement() {
    if (agreement_ == MPI_REQUEST_NULL) return;
    int flag = 0;
    Check(MPI_Test(&agreement_, &flag, MPI_STATUS_IGNORE), "MPI_Test");
    if (flag != 0) disagree_ = received_ != sent_;
  }

  // All ranks have found out: what each of them runs.
  [[noreturn]] void RaiseDisagreement(Lock& lock) {
    std::vector<char> own(kTextBytes, '\0');
    part_text_.copy(own.data(), kTextBytes - 1);
    std::vector<char> all(kTextBytes * static_cast<size_t>(size_));
    MPI_Request request = MPI_REQUEST_NULL;
    Check(MPI_Iallgather(own.data(), kTextBytes, MPI_CHAR, all.data(),
                         kTextBytes, MPI_CHAR, control_, &request),
          "MPI_Iallgather");
    const auto begun = Clock::now();
    for (int flag = 0; flag == 0;) {
      LookAround(Seconds(Clock::now() - begun), "an exchange of programs",
                 lock);
      Check(MPI_Test(&request, &flag, MPI_STATUS_IGNORE), "MPI_Test");
    }
    std::vector<std::string> texts;
    texts.reserve(static_cast<size_t>(size_));
    for (int rank = 0; rank < size_; ++rank) {
      texts.emplace_back(all.data() + kTextBytes * static_cast<size_t>(rank));
    }
    failure_ = "the ranks do not run the same collectives:\n" +
               platform::FirstDifference(texts);
    platform::Raise(ErrorCode::kFailedPrecondition, "world.disagree", "{}",
                    failure_);
  }

  // Says once who is missing: those that do not say that they wait, too.
  void Stalled(double waited, std::string_view label) {
    constexpr double kAnswerSeconds = 2;
    if (stalled_at_ == Clock::time_point()) {
      stalled_at_ = Clock::now();
      heard_.assign(static_cast<size_t>(size_), "");
      Tell(kStallTag, Format("{} {}", parts_, label));
    }
    int flag = 1;
    while (flag != 0) {
      MPI_Status status;
      Check(MPI_Iprobe(MPI_ANY_SOURCE, kStallTag, control_, &flag, &status),
            "MPI_Iprobe");
      if (flag != 0) {
        const std::string text = Hear(kStallTag, status.MPI_SOURCE);
        // Ranks are in the same part, or one apart: nothing older counts.
        const size_t space = text.find(' ');
        if (std::stoll(text.substr(0, space)) + 1 >= parts_) {
          heard_[status.MPI_SOURCE] = text.substr(space + 1);
        }
      }
    }
    const bool early = Seconds(Clock::now() - stalled_at_) < kAnswerSeconds;
    if (stall_named_ || early) return;
    stall_named_ = true;
    std::string text =
        Format("rank {} has waited for {:.0f} s in {}", rank_, waited, label);
    for (int rank = 0; rank < size_; ++rank) {
      if (rank == rank_) continue;
      const std::string& heard = heard_[static_cast<size_t>(rank)];
      text += heard.empty()
                  ? Format("\n  rank {} has not come to it", rank)
                  : Format("\n  rank {} waits, too, in {}", rank, heard);
    }
    platform::Log(platform::LogLevel::kWarning, "{}", text);
    if (!stall_aborts_) return;
    failure_ = text;
    platform::Raise(ErrorCode::kFailedPrecondition, "world.stalled", "{}",
                    failure_);
  }

  // Sends a text to all other ranks; does not wait for them to read it.
  void Tell(int tag, const std::string& text) {
    std::vector<char>& message = told_.emplace_back(kMessageBytes, '\0');
    text.copy(message.data(), kMessageBytes - 1);
    for (int rank = 0; rank < size_; ++rank) {
      if (rank == rank_) continue;
      MPI_Request request = MPI_REQUEST_NULL;
      Check(MPI_Isend(message.data(), kMessageBytes, MPI_CHAR, rank, tag,
                      control_, &request),
            "MPI_Isend");
      Check(MPI_Request_free(&request), "MPI_Request_free");
    }
  }

  std::string Hear(int tag, int from) {
    std::vector<char> message(kMessageBytes, '\0');
    Check(MPI_Recv(message.data(), kMessageBytes, MPI_CHAR, from, tag, control_,
                   MPI_STATUS_IGNORE),
          "MPI_Recv");
    return message.data();
  }

  mutable std::mutex mutex_;
  pid_t process_ = getpid();
  int rank_ = 0;
  int size_ = 1;
  std::string library_;
  MPI_Comm data_ = MPI_COMM_NULL;
  MPI_Comm control_ = MPI_COMM_NULL;
  std::vector<Flight> flights_;
  int64_t first_ = 0;     // not known to be done
  int64_t launched_ = 0;  // all before it are on their way
  int64_t next_ = 0;
  std::string_view label_;
  std::string part_text_;
  int64_t parts_ = 0;  // begun
  std::array<uint64_t, 2> sent_{};
  std::array<uint64_t, 2> received_{};
  MPI_Request agreement_ = MPI_REQUEST_NULL;
  bool disagree_ = false;
  std::string failure_;  // "" while all is well
  double stall_seconds_;
  bool stall_aborts_;
  Clock::duration waited_{};
  Clock::time_point stalled_at_;
  bool stall_named_ = false;
  std::vector<std::string> heard_;     // by rank: what it waits in
  std::list<std::vector<char>> told_;  // messages that may be on their way
};

}  // namespace
}  // namespace sluice::platform::mpi

extern "C" void SluiceStartModule();

void SluiceStartModule() {
  using sluice::platform::mpi::MpiWorld;
  static MpiWorld* world = nullptr;
  int given = MPI_THREAD_SINGLE;
  int joined = 0;
  MPI_Initialized(&joined);
  // Somebody else's MPI_Init is theirs to end.
  if (joined == 0) {
    MPI_Init_thread(nullptr, nullptr, MPI_THREAD_SERIALIZED, &given);
  }
  world = new MpiWorld();
  sluice::platform::SetWorld(world);
  if (joined == 0) std::atexit([] { world->End(); });
}
