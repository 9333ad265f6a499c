#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "sluice/platform/dtype.h"
#include "sluice/platform/export.h"

namespace sluice::platform {

enum class CollectiveKind : uint8_t {
  kAllReduce,      // every rank gets what all of them gave, reduced
  kBroadcast,      // every rank gets what `root` gave
  kAllGather,      // every rank gets the parts of all, in the order of ranks
  kReduceScatter,  // rank r gets part r of what all of them gave, reduced
  kBarrier,        // nobody goes on before all have come
};
SLUICE_API std::string_view ToString(CollectiveKind kind);

enum class Reduction : uint8_t { kSum, kMax };

// One collective: each rank calls it with the same kind, sizes and dtype.
struct Collective {
  CollectiveKind kind = CollectiveKind::kBarrier;
  const void* from = nullptr;
  void* to = nullptr;  // may be `from` where all elements stay in their place
  // What owns that memory: kept until the collective is done, also where
  // whoever started it has given up.
  std::shared_ptr<const void> from_owner;
  std::shared_ptr<const void> to_owner;
  // All-gather and reduce-scatter: of one rank's part. At most 2^31 - 1.
  int64_t count = 0;
  DType dtype = DType::kFloat32;
  Reduction reduction = Reduction::kSum;
  int root = 0;
  // A sum whose order is that of the ranks: the same bits however many
  // processes the same parts are spread over (in powers of two).
  bool ordered = false;
};

// What all ranks must agree on before data moves: a part of their programs,
// line by line, each a sentence's worth that is the same text on every rank.
class SLUICE_API Part {
 public:
  struct Line {
    std::string text;
    // Said where lines differ, not compared: "created at train.py:12".
    std::string where;
  };

  void Add(std::string text, std::string where = "");
  const std::vector<Line>& lines() const { return lines_; }
  // Of the first `count` lines, or of all: the same number on every rank.
  uint64_t Digest(size_t count) const;
  uint64_t Digest() const { return digest_; }

 private:
  // FNV-1a, by G. Fowler, L. Noll and P. Vo.
  static constexpr uint64_t kEmptyDigest = 0xcbf29ce484222325;
  static uint64_t Extend(uint64_t digest, std::string_view line);

  std::vector<Line> lines_;
  uint64_t digest_ = kEmptyDigest;
};

// What a rank does that waits for others, as the environment says.
struct StallSettings {
  double seconds = 60;  // SLUICE_STALL_SECONDS: until it says so
  bool aborts = false;  // SLUICE_STALL_ABORT: whether it ends then

  // Raises InvalidArgument.
  SLUICE_API static StallSettings OfEnvironment();
};

// The processes that run one program together: each has a rank from 0 to
// size() - 1. All ranks start the same collectives in the same order, and so in
// one thread; what starts none may be called from any.
class SLUICE_API World {
 public:
  virtual ~World();
  World(const World&) = delete;
  World& operator=(const World&) = delete;

  // That of this process: joined by Join, until then one of a single rank.
  static World& Get();
  // Joins the ranks that were started with this one (mpirun, srun); where none
  // were, the world stays one of a single rank. Later calls return the same.
  // Ranks of one host that use more threads than it has cores share these out
  // (SetNumThreads).
  // Raises FailedPrecondition where ranks were started, but their MPI is not
  // there or is another one than Sluice was built for, and InvalidArgument
  // where StallSettings does.
  static World& Join();
  // Raises FailedPrecondition where ranks were started with this one and it has
  // not joined them: `what` would work as if it were alone.
  static void RequireJoined(std::string_view what);

  // The error that ends this process has been shown. Otherwise the World shows
  // at the end why its ranks have failed.
  static void NoteErrorShown();
  static bool ErrorIsShown();

  virtual int rank() const = 0;
  virtual int size() const = 0;
  // What moves the data: "Open MPI 4.1.4"; "" in a world of a single rank.
  virtual std::string_view library() const = 0;

  // Starts a collective and returns its number. Its memory must stay as it is
  // until Wait has returned for it. Raises Unimplemented for a dtype that the
  // library cannot reduce, and world.failed.
  virtual int64_t Start(Collective collective) = 0;
  // Drives on what was started, and returns at once.
  virtual void Advance() = 0;
  // Returns when the collective is done. Raises FailedPrecondition
  //  - world.failed      with what a rank told the others with Fail
  //  - world.disagree    where ranks started different collectives: which
  //  - world.stalled     after SLUICE_STALL_SECONDS with SLUICE_STALL_ABORT=1;
  //                      without it, a warning says which rank is missing
  // and Cancelled where the user interrupts.
  virtual void Wait(int64_t number) = 0;
  // Seconds that all calls of Wait so far have taken.
  virtual double WaitedSeconds() const = 0;

  // Begins a part in which this rank starts the collectives that `part` is
  // about. No data moves before all ranks have begun an equal part; where they
  // differ, Wait raises world.disagree with the first line that does. Raises
  // FailedPrecondition world.other_thread in another thread than the first call
  // was in: two threads would begin theirs in an order that differs by rank.
  virtual void BeginPart(std::shared_ptr<const Part> part) = 0;
  // A run begins in which parts may begin. All ranks begin equally many: their
  // number belongs to each part.
  virtual void BeginRun() = 0;
  // The last one has failed. Where it did before its part began, and only on
  // some ranks, the next parts differ, and `why` is told.
  virtual void NoteFailedRun(std::string_view why) = 0;
  // What the collectives that are started next are for, e.g. "op 3
  // (c_allreduce_sum), created at train.py:12". The text must stay until they
  // have been waited for.
  virtual void SetLabel(std::string_view label) = 0;
  // Tells all other ranks that this one cannot go on, and why. The first call
  // counts; a world that has failed starts nothing any more.
  virtual void Fail(std::string_view why) noexcept = 0;

 protected:
  World() = default;
};

// "rank 1", "ranks 0 and 2", "ranks 0 to 5 and 7": for ascending numbers, one
// or more.
SLUICE_API std::string NameRanks(const std::vector<int>& ranks);

// Who has which of these lines, one a rank:
//   ranks 0, 2 and 3: op 1: y = relu(X=x), created at train.py:12
//   rank 1: op 1: y = tanh(X=x), created at train.py:12
// An empty text is "nothing more". Long ones are cut to where they differ.
SLUICE_API std::string DescribeLines(std::vector<Part::Line> lines);

// For the module that has a library: makes `world` that of the process.
SLUICE_API void SetWorld(World* world);

// For what moves data between devices: `abort` ends the collectives that it has
// started and takes no others.
SLUICE_API void SetDeviceAbort(void (*abort)());
// Calls it, where a run fails on this rank: what other ranks do not take part
// in would never end.
SLUICE_API void AbortDeviceCollectives();

}  // namespace sluice::platform
