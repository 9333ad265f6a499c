// The world of ranks that an MPI launcher started. It calls only non-blocking
// functions (MPI_I..., MPI_Test), so that a waiting rank can receive another
// rank's error and can report for whom it waits.
#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <cstring>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include <mpi.h>
#include <unistd.h>

#include "sluice/platform/cancel.h"
#include "sluice/platform/diagnostics/logging.h"
#include "sluice/platform/error.h"
#include "sluice/platform/mpi/control_channel.h"
#include "sluice/platform/mpi/mpi_types.h"
#include "sluice/platform/mpi/open_mpi.h"
#include "sluice/platform/mpi/watchdog.h"
#include "sluice/platform/parallel_for.h"
#include "sluice/platform/ranks/world.h"

namespace sluice::mpi {
namespace {

using Clock = std::chrono::steady_clock;

// Time for other ranks to report their wait state.
constexpr double kAnswerSeconds = 2;
// The most collectives started and not waited for; programs have fewer.
constexpr size_t kFlights = 4096;

double Seconds(Clock::duration time) {
  return std::chrono::duration<double>(time).count();
}

// A started collective.
struct Flight {
  int64_t number = -1;
  Collective what;
  MPI_Request request = MPI_REQUEST_NULL;
  bool done = true;
  std::string_view label;
  std::vector<std::byte> parts;  // of all ranks, to be summed in order
};

class MpiWorld final : public World {
 public:
  MpiWorld()
      : control_(MPI_COMM_WORLD),
        rank_(control_.rank()),
        size_(control_.size()),
        // It is later than the reports of ranks that are not blocked.
        watchdog_(
            rank_, settings_.seconds + 2 * kAnswerSeconds, settings_.aborts) {
    Check(MPI_Comm_dup(MPI_COMM_WORLD, &data_), "MPI_Comm_dup");
    Check(MPI_Comm_set_errhandler(data_, MPI_ERRORS_RETURN),
          "MPI_Comm_set_errhandler");
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
    const Watchdog::Call call(watchdog_);
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

  void BeginPart(std::shared_ptr<const Part> part) override {
    SLUICE_ENFORCE(getpid() == process_, ErrorCode::kFailedPrecondition,
                   "world.other_process",
                   "collectives belong to the process that the launcher "
                   "started; this one was forked from it");
    std::unique_lock lock(mutex_);
    CheckStillWorks();
    if (thread_ == std::thread::id()) thread_ = std::this_thread::get_id();
    SLUICE_ENFORCE(
        thread_ == std::this_thread::get_id(), ErrorCode::kFailedPrecondition,
        "world.other_thread",
        "collectives of a process belong to the thread that ran the first; "
        "this is another one, and ranks would run those of two threads in "
        "different orders");
    BeginPart(std::move(part), lock);
  }

  void BeginRun() override {
    const std::lock_guard lock(mutex_);
    ++runs_;
  }

  void NoteFailedRun(std::string_view why) override {
    const std::lock_guard lock(mutex_);
    failed_run_ = Format("run {} failed before it began: {}", runs_,
                         why.substr(0, why.find('\n')));
  }

  void SetLabel(std::string_view label) override {
    const std::lock_guard lock(mutex_);
    label_ = label;
  }

  void Fail(std::string_view why) noexcept override {
    if (getpid() != process_) return;  // a copy that a fork made
    try {
      const std::lock_guard lock(mutex_);
      if (!failure_.empty()) return;
      failure_ = Format("rank {}: {}", rank_, why);
      failed_here_ = true;
      control_.TellFailure(failure_);
    } catch (...) {
      // The others detect the failure when this process ends.
    }
  }

  // Called before the process ends, so that no rank keeps waiting for this one.
  void End(bool finalizes) noexcept {
    if (getpid() != process_) return;  // a copy that a fork made
    int finalized = 0;
    MPI_Finalized(&finalized);
    if (finalized != 0) return;
    try {
      std::unique_lock lock(mutex_);
      if (failure_.empty()) {
        const auto end = std::make_shared<Part>();
        end->Add("the program ends here", Format("after {} runs", runs_));
        BeginPart(end, lock);
        FinishAgreement(lock);
      }
    } catch (const std::exception& error) {
      Log(LogLevel::kError, "{}", error.what());
    }
    if (!failure_.empty()) {
      // The user's code may have caught the error.
      if (!ErrorIsShown()) {
        Log(LogLevel::kError, "{}", failure_);
      }
      // Gives the others time to print their own messages.
      LetOthersHear();
      usleep(1'000'000);
      MPI_Abort(MPI_COMM_WORLD, 1);
    }
    if (finalizes) MPI_Finalize();
  }

 private:
  // Called after this rank failed. Waits, for limited time, until each other
  // rank has reported a failure of its own, or until a rank that received this
  // failure ends all ranks.
  void LetOthersHear() noexcept {
    constexpr int kTurns = 1000;
    constexpr useconds_t kMicroseconds = 10'000;
    int others = failed_here_ ? size_ - 1 : 0;
    try {
      const std::lock_guard lock(mutex_);
      for (int turn = 0; others > 0 && turn < kTurns; ++turn) {
        if (control_.HearFailure().empty()) {
          usleep(kMicroseconds);
        } else {
          --others;
        }
      }
    } catch (const std::exception& error) {
      Log(LogLevel::kError, "{}", error.what());
    }
  }

  // Divides the host's cores between ranks that the launcher has not bound to
  // cores; each of them would otherwise use all cores.
  void ShareCores() const {
    MPI_Comm host = MPI_COMM_NULL;
    Check(MPI_Comm_split_type(data_, MPI_COMM_TYPE_SHARED, rank_, MPI_INFO_NULL,
                              &host),
          "MPI_Comm_split_type");
    int ranks = 1;
    Check(MPI_Comm_size(host, &ranks), "MPI_Comm_size");
    Check(MPI_Comm_free(&host), "MPI_Comm_free");
    const auto cores = static_cast<int>(sysconf(_SC_NPROCESSORS_ONLN));
    if (ranks * NumThreads() > cores) {
      SetNumThreads(std::max(cores / ranks, 1));
    }
  }

  using Lock = std::unique_lock<std::mutex>;

  void CheckWorks() const {
    SLUICE_ENFORCE(failure_.empty(), ErrorCode::kFailedPrecondition,
                   "world.failed", "{}", failure_);
  }

  // Checks before new work: an earlier failure may have been caught.
  void CheckStillWorks() const {
    SLUICE_ENFORCE(failure_.empty(), ErrorCode::kFailedPrecondition,
                   "world.failed_before",
                   "the ranks can do nothing more together, as this failed "
                   "before: {}",
                   failure_);
  }

  // A part begins after all ranks have agreed on the last one.
  void BeginPart(std::shared_ptr<const Part> part, Lock& lock) {
    FinishAgreement(lock);
    part_ = std::move(part);
    constexpr uint64_t kOdd = 0x9e3779b97f4a7c15;
    control_.Propose(part_->Digest() + runs_ * kOdd);
  }

  // Starts and completes collectives without waiting.
  void Drive() {
    LaunchStarted();
    while (first_ < launched_) {
      Flight& flight = flights_[first_ % kFlights];
      TestFlight(flight);
      if (!flight.done) break;
      ++first_;
    }
  }

  // No data moves before all ranks have agreed on the part.
  void LaunchStarted() {
    while (launched_ < next_ && !control_.Pending() && !control_.differs()) {
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
        return Check(MPI_Iallreduce(from, what.to, count, TypeOf(what.dtype),
                                    ReductionOf(what), data_, &flight.request),
                     "MPI_Iallreduce");
      case CollectiveKind::kBroadcast:
        if (rank_ == what.root && what.from != what.to) {
          std::memcpy(what.to, what.from, Bytes(what));
        }
        return Check(MPI_Ibcast(what.to, count, TypeOf(what.dtype), what.root,
                                data_, &flight.request),
                     "MPI_Ibcast");
      case CollectiveKind::kAllGather:
        return Check(
            MPI_Iallgather(what.from, count, TypeOf(what.dtype), what.to, count,
                           TypeOf(what.dtype), data_, &flight.request),
            "MPI_Iallgather");
      case CollectiveKind::kReduceScatter:
        return Check(MPI_Ireduce_scatter_block(
                         what.from, what.to, count, TypeOf(what.dtype),
                         ReductionOf(what), data_, &flight.request),
                     "MPI_Ireduce_scatter_block");
      case CollectiveKind::kBarrier:
        return Check(MPI_Ibarrier(data_, &flight.request), "MPI_Ibarrier");
    }
  }

  // Gathers the contributions of all ranks on each rank, which sums them.
  void LaunchOrdered(Flight& flight) {
    const Collective& what = flight.what;
    const auto count = static_cast<int>(what.count);
    flight.parts.resize(Bytes(what) * static_cast<size_t>(size_));
    Check(MPI_Iallgather(what.from, count, TypeOf(what.dtype),
                         flight.parts.data(), count, TypeOf(what.dtype), data_,
                         &flight.request),
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
    std::vector<std::byte>().swap(flight.parts);
    flight.what.from_owner.reset();
    flight.what.to_owner.reset();
  }

  void WaitFor(const Flight& flight, Lock& lock) {
    WaitUntil([&] { return flight.done; }, flight.label, lock);
  }

  void FinishAgreement(Lock& lock) {
    WaitUntil([&] { return !control_.Pending() && !control_.differs(); },
              "the beginning of a run", lock);
  }

  template <typename Done>
  void WaitUntil(Done done, std::string_view label, Lock& lock) {
    constexpr int kCallsALook = 256;
    if (done()) return;
    const Watchdog::Wait wait(watchdog_, label);
    for (int calls = 1; !done(); ++calls) {
      CheckWorks();
      Drive();
      if (control_.differs()) RaiseDisagreement(lock);
      if (calls % kCallsALook == 0) LookAround(label, lock);
    }
    if (stall_.told != WaitState::kGoesOn) Tell(WaitState::kGoesOn, label);
    stall_ = Stall();
  }

  // Checks for cancellation, failures of other ranks, and stalls.
  void LookAround(std::string_view label, Lock& lock) {
    watchdog_.Beat();
    CheckCancelled();
    failure_ = control_.HearFailure();
    CheckWorks();
    LookForStall(label);
    // Lets other threads of this rank acquire the lock.
    lock.unlock();
    lock.lock();
  }

  // All ranks have detected the difference.
  [[noreturn]] void RaiseDisagreement(Lock& lock) {
    Part part = *part_;
    part.Add(Format("this is run {} of programs with collective ops", runs_),
             failed_run_);
    failure_ = "the ranks do not run the same:\n" +
               control_.Difference(
                   part, [&] { LookAround("an exchange of programs", lock); });
    Raise(ErrorCode::kFailedPrecondition, "world.disagree", "{}", failure_);
  }

  // Reports the missing ranks once: those that do not report a wait of their
  // own before this rank has waited for settings_.seconds.
  void LookForStall(std::string_view label) {
    const double stall = settings_.seconds;
    const auto now = Clock::now();
    if (stall_.begun == Clock::time_point()) stall_.begun = now;
    const double waited = Seconds(now - stall_.begun);
    const auto& others = control_.HearWaiting();
    bool answer = false;
    bool lower_asks = false;
    for (int rank = 0; rank < size_; ++rank) {
      const auto& other = others[static_cast<size_t>(rank)];
      answer |= other.state >= WaitState::kAsks;
      lower_asks |= rank < rank_ && other.state >= WaitState::kAsks;
      if (other.state == WaitState::kNamed) stall_.named = true;
    }
    const bool asks = waited > stall - std::min(kAnswerSeconds, stall / 2);
    const WaitState state = asks     ? WaitState::kAsks
                            : answer ? WaitState::kWaits
                                     : WaitState::kGoesOn;
    if (state > stall_.told) Tell(state, label);
    // The lowest waiting rank reports it for all, if it still can.
    if (stall_.named || waited < stall + (lower_asks ? kAnswerSeconds : 0)) {
      return;
    }
    stall_.named = true;
    Tell(WaitState::kNamed, label);
    NameStall(waited, label, others);
  }

  void Tell(WaitState state, std::string_view label) {
    control_.TellWaiting(state, label);
    stall_.told = state;
  }

  void NameStall(double waited,
                 std::string_view label,
                 const std::vector<ControlChannel::Waiting>& others) {
    std::vector<int> missing;
    std::map<std::string, std::vector<int>> waiting;  // by label
    for (int rank = 0; rank < size_; ++rank) {
      const auto& other = others[static_cast<size_t>(rank)];
      if (rank == rank_) continue;
      const bool waits = other.state != WaitState::kGoesOn;
      (waits ? waiting[other.label] : missing).push_back(rank);
    }
    std::string text =
        Format("rank {} has waited for {:.1f} s in {}", rank_, waited, label);
    if (!missing.empty()) {
      text += Format("\n  {} {} not come to it", NameRanks(missing),
                     missing.size() == 1 ? "has" : "have");
    }
    for (const auto& [where, ranks] : waiting) {
      text += Format("\n  {} {}, too, in {}", NameRanks(ranks),
                     ranks.size() == 1 ? "waits" : "wait", where);
    }
    Log(LogLevel::kWarning, "{}", text);
    if (!settings_.aborts) return;
    failure_ = text;
    Raise(ErrorCode::kFailedPrecondition, "world.stalled", "{}", failure_);
  }

  // A long wait of this rank.
  struct Stall {
    Clock::time_point begun;
    WaitState told = WaitState::kGoesOn;
    bool named = false;  // by this rank or another one
  };

  mutable std::mutex mutex_;
  pid_t process_ = getpid();
  std::thread::id thread_;  // that began the first part
  ControlChannel control_;
  int rank_;
  int size_;
  std::string library_;
  MPI_Comm data_ = MPI_COMM_NULL;
  std::vector<Flight> flights_;
  int64_t first_ = 0;     // the oldest that may not be done
  int64_t launched_ = 0;  // all before it have been launched
  int64_t next_ = 0;
  std::string_view label_;
  std::shared_ptr<const Part> part_;
  uint64_t runs_ = 0;         // number of runs begun
  std::string failed_run_;    // message of the last failed run
  std::string failure_;       // "" if there is none
  bool failed_here_ = false;  // this rank reported it to the others
  const StallSettings settings_ = StallSettings::OfEnvironment();
  Clock::duration waited_{};
  Stall stall_;
  Watchdog watchdog_;
};

}  // namespace
}  // namespace sluice::mpi

extern "C" void SluiceStartModule();

void SluiceStartModule() {
  using sluice::mpi::MpiWorld;
  static MpiWorld* world = nullptr;
  int given = MPI_THREAD_SINGLE;
  int joined = 0;
  MPI_Initialized(&joined);
  // Only the caller of MPI_Init may call MPI_Finalize.
  static const bool kFinalizes = joined == 0;
  if (kFinalizes) {
    MPI_Init_thread(nullptr, nullptr, MPI_THREAD_SERIALIZED, &given);
  }
  world = new MpiWorld();
  sluice::SetWorld(world);
  std::atexit([] { world->End(kFinalizes); });
}
