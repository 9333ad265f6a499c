#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "sluice/platform/dtype.h"
#include "sluice/platform/export.h"

namespace sluice {

enum class CollectiveKind : uint8_t {
  kAllReduce,      // every rank gets the reduction over all ranks
  kBroadcast,      // every rank gets the data of `root`
  kAllGather,      // every rank gets the data of all, in rank order
  kReduceScatter,  // rank r gets chunk r of the reduction over all ranks
  kBarrier,        // no rank continues before all have arrived
};
SLUICE_API std::string_view ToString(CollectiveKind kind);

enum class Reduction : uint8_t { kSum, kMax };

// One collective: each rank calls it with the same kind, sizes and dtype.
struct Collective {
  CollectiveKind kind = CollectiveKind::kBarrier;
  const void* from = nullptr;
  void* to = nullptr;  // may be `from` if all elements stay in place
  // The owners of that memory. They are kept until the collective is done, even
  // if its caller has given up.
  std::shared_ptr<const void> from_owner;
  std::shared_ptr<const void> to_owner;
  // All-gather and reduce-scatter: elements of one rank. At most 2^31 - 1.
  int64_t count = 0;
  DType dtype = DType::kFloat32;
  Reduction reduction = Reduction::kSum;
  int root = 0;
  // The sum is in rank order: the bits are the same for any (power of two)
  // number of processes that the same data is divided among.
  bool ordered = false;
};

// The section of a program that all ranks must agree on before data moves:
// lines of text that must be equal on every rank.
class SLUICE_API Part {
 public:
  struct Line {
    std::string text;
    // Shown where lines differ, but not compared: "created at train.py:12".
    std::string where;
  };

  void Add(std::string text, std::string where = "");
  const std::vector<Line>& lines() const { return lines_; }
  // Returns a digest of the first `count` lines, or of all.
  uint64_t Digest(size_t count) const;
  uint64_t Digest() const { return digest_; }

 private:
  // FNV-1a, by G. Fowler, L. Noll and P. Vo.
  static constexpr uint64_t kEmptyDigest = 0xcbf29ce484222325;
  static uint64_t Extend(uint64_t digest, std::string_view line);

  std::vector<Line> lines_;
  uint64_t digest_ = kEmptyDigest;
};

// How a rank acts that waits too long, by environment variables.
struct StallSettings {
  double seconds = 60;  // SLUICE_STALL_SECONDS: time until it reports
  bool aborts = false;  // SLUICE_STALL_ABORT: whether it then ends

  // Raises InvalidArgument for malformed variables.
  SLUICE_API static StallSettings OfEnvironment();
};

// The processes that run one program together, with ranks 0 to size() - 1. All
// ranks must start the same collectives in the same order, and so on one
// thread; other functions may be called from any thread.
class SLUICE_API World {
 public:
  virtual ~World();
  World(const World&) = delete;
  World& operator=(const World&) = delete;

  // Returns the world of this process; before Join, it has a single rank.
  static World& Get();
  // Joins the ranks that were started with this one (mpirun, srun); without
  // other ranks, the world keeps its single rank. Later calls return the same.
  // If the ranks of one host use more threads than it has cores, they divide
  // the cores (SetNumThreads). Raises FailedPrecondition if ranks were started,
  // but their MPI is missing or is not the one that Sluice was built for, and
  // InvalidArgument if StallSettings does.
  static World& Join();
  // Raises FailedPrecondition if ranks were started with this one and it has
  // not joined them: `what` would act as a single process.
  static void RequireJoined(std::string_view what);

  // Notes that the error that ends this process has been shown. Otherwise the
  // World shows at exit why its ranks have failed.
  static void NoteErrorShown();
  static bool ErrorIsShown();

  virtual int rank() const = 0;
  virtual int size() const = 0;
  // The library that moves the data: "Open MPI 4.1.4"; "" for a single rank.
  virtual std::string_view library() const = 0;

  // Starts a collective and returns its number. Its memory must stay unchanged
  // until Wait has returned for it. Raises Unimplemented for a dtype that the
  // library cannot reduce, and world.failed.
  virtual int64_t Start(Collective collective) = 0;
  // Advances the started collectives, and returns at once.
  virtual void Advance() = 0;
  // Returns when the collective is done. Raises FailedPrecondition
  //  - world.failed      with the message of the rank that called Fail
  //  - world.disagree    if ranks started different collectives, with these
  //  - world.stalled     after SLUICE_STALL_SECONDS with SLUICE_STALL_ABORT=1;
  //                      without it, a warning says which rank is missing
  //  - run.cancelled     when the user interrupts
  virtual void Wait(int64_t number) = 0;
  // Seconds spent in all calls of Wait so far.
  virtual double WaitedSeconds() const = 0;

  // Begins a section in which this rank starts the collectives of `part`. No
  // data moves before all ranks have begun an equal section; if they differ,
  // Wait raises world.disagree with the first such line. Raises
  // FailedPrecondition world.other_thread on another thread than the first
  // call's: the order of two threads' sections could differ between ranks.
  virtual void BeginPart(std::shared_ptr<const Part> part) = 0;
  // Begins a run, which may begin parts. All ranks begin equally many: the
  // number of runs is compared with each part.
  virtual void BeginRun() = 0;
  // Notes that the last run has failed. If it failed only on some ranks, before
  // its part began, the next parts differ, and that error includes `why`.
  virtual void NoteFailedRun(std::string_view why) = 0;
  // Describes the collectives that are started next, e.g. "op 3
  // (c_allreduce_sum), created at train.py:12". The text must stay valid until
  // they have been waited for.
  virtual void SetLabel(std::string_view label) = 0;
  // Tells all other ranks that this one has failed, and why. Only the first
  // call counts; a failed world starts nothing any more.
  virtual void Fail(std::string_view why) noexcept = 0;

 protected:
  World() = default;
};

// "rank 1", "ranks 0 and 2", "ranks 0 to 5 and 7": for ascending numbers, one
// or more.
SLUICE_API std::string NameRanks(const std::vector<int>& ranks);

// Groups ranks by their lines; `lines` has one for each rank:
//   ranks 0, 2 and 3: op 1: y = relu(X=x), created at train.py:12
//   rank 1: op 1: y = tanh(X=x), created at train.py:12
// An empty text is shown as "nothing more". Long ones are truncated.
SLUICE_API std::string DescribeLines(std::vector<Part::Line> lines);

// Called by a library's module: sets the world of the process.
SLUICE_API void SetWorld(World* world);

// Called by modules that move data between devices: `abort` ends the
// collectives that it has started and rejects new ones.
SLUICE_API void SetDeviceAbort(void (*abort)());
// Calls that function when a run fails on this rank: collectives that other
// ranks do not join would never end.
SLUICE_API void AbortDeviceCollectives();

}  // namespace sluice
