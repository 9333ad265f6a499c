#include "sluice/platform/cuda_emulation/rank_group.h"

#include <cerrno>
#include <cstring>
#include <random>
#include <stdexcept>

#include <fcntl.h>
#include <poll.h>
#include <sched.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

namespace sluice::cuda_emulation {

struct RankGroup::Shared {
  struct Member {
    std::atomic<pid_t> process;  // 0: has not joined
    RankCall call;
  };
  std::atomic<uint32_t> joined;
  std::atomic<bool> left;  // a rank has given up
  std::atomic<uint64_t> met;
  Member members[kMostRanks];
  alignas(64) std::byte chunks[];
};

namespace {

// Also returns false for a zombie, a dead process that was not reaped yet.
bool Lives(pid_t process) {
  const int file = static_cast<int>(syscall(SYS_pidfd_open, process, 0U));
  if (file < 0) return errno != ESRCH;
  pollfd ended{file, POLLIN, 0};
  const bool lives = poll(&ended, 1, 0) == 0;
  close(file);
  return lives;
}

// There may be more ranks than cores.
void LetOthersRun(int turn) {
  constexpr int kQuickTurns = 64;
  constexpr useconds_t kMicroseconds = 50;
  turn < kQuickTurns ? static_cast<void>(sched_yield())
                     : static_cast<void>(usleep(kMicroseconds));
}

}  // namespace

std::string RankGroup::NewName() {
  std::random_device random;
  return "/sluice-nccl-" + std::to_string(getpid()) + "-" +
         std::to_string(random());
}

RankGroup::RankGroup(const std::string& name, int ranks, int rank)
    : ranks_(ranks), rank_(rank) {
  bytes_ = sizeof(Shared) + kChunkBytes * static_cast<size_t>(ranks);
  const int file = shm_open(name.c_str(), O_CREAT | O_RDWR, S_IRUSR | S_IWUSR);
  void* memory = MAP_FAILED;
  // Fresh memory is 0, which is a valid initial Shared.
  if (file >= 0 && ftruncate(file, static_cast<off_t>(bytes_)) == 0) {
    memory = mmap(nullptr, bytes_, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
  }
  const int error = errno;
  if (file >= 0) close(file);
  if (memory == MAP_FAILED) {
    throw std::runtime_error("no shared memory " + name + ": " +
                             std::strerror(error));
  }
  shared_ = static_cast<Shared*>(memory);
  pid_t nobody = 0;
  if (!shared_->members[rank].process.compare_exchange_strong(nobody,
                                                              getpid())) {
    munmap(memory, bytes_);
    throw std::invalid_argument("rank " + std::to_string(rank) +
                                " of the communicator is there already");
  }
  ++shared_->joined;
  for (int turn = 0; shared_->joined < static_cast<uint32_t>(ranks); ++turn) {
    LetOthersRun(turn);
  }
  // All ranks have mapped it; the name can be removed.
  if (rank == 0) shm_unlink(name.c_str());
}

RankGroup::~RankGroup() {
  munmap(shared_, bytes_);
}

bool RankGroup::OthersLive() const {
  for (int rank = 0; rank < ranks_; ++rank) {
    if (!Lives(shared_->members[rank].process)) return false;
  }
  return true;
}

RankGroup::Outcome RankGroup::Meet() {
  constexpr int kTurnsALook = 1024;
  const uint64_t all = ++meetings_ * static_cast<uint64_t>(ranks_);
  ++shared_->met;
  for (int turn = 0; shared_->met < all; ++turn) {
    const bool left = shared_->left || given_up_ ||
                      (turn % kTurnsALook == 0 && !OthersLive());
    // A rank that left may have met this one before it left.
    if (left && shared_->met < all) {
      return given_up_ ? Outcome::kGivenUp : Outcome::kLeft;
    }
    LetOthersRun(turn);
  }
  return Outcome::kMet;
}

void RankGroup::GiveUp() {
  given_up_ = true;
  shared_->left = true;
}

RankCall& RankGroup::call(int rank) {
  return shared_->members[rank].call;
}

std::byte* RankGroup::chunk(int rank) {
  return shared_->chunks + kChunkBytes * static_cast<size_t>(rank);
}

}  // namespace sluice::cuda_emulation
