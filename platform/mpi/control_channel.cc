#include "sluice/platform/mpi/control_channel.h"

#include <algorithm>
#include <string>
#include <utility>

#include "sluice/platform/error.h"
#include "sluice/platform/mpi/open_mpi.h"
#include "sluice/platform/text.h"

namespace sluice::mpi {

namespace {

constexpr int kFailTag = 1;
constexpr int kWaitTag = 2;
constexpr size_t kMessageBytes = 1024;
// The most bytes of a line that is sent to all ranks.
constexpr uint64_t kLineBytes = 1 << 16;

}  // namespace

void Check(int status, const char* function) {
  if (status == MPI_SUCCESS) return;
  char text[MPI_MAX_ERROR_STRING] = "";
  int length = 0;
  MPI_Error_string(status, text, &length);
  Raise(ErrorCode::kInternal, "mpi.call", "{}: {}", function,
        std::string_view(text, static_cast<size_t>(length)));
}

ControlChannel::ControlChannel(MPI_Comm all) {
  Check(MPI_Comm_dup(all, &comm_), "MPI_Comm_dup");
  Check(MPI_Comm_set_errhandler(comm_, MPI_ERRORS_RETURN),
        "MPI_Comm_set_errhandler");
  Check(MPI_Comm_rank(comm_, &rank_), "MPI_Comm_rank");
  Check(MPI_Comm_size(comm_, &size_), "MPI_Comm_size");
  waiting_.resize(static_cast<size_t>(size_));
}

void ControlChannel::Propose(uint64_t digest) {
  // The maximum equals this rank's pair on all ranks only if digests are equal.
  proposed_ = {digest, ~digest};
  ChooseAllReduce(sizeof(proposed_), size_);
  Check(MPI_Iallreduce(proposed_.data(), largest_.data(), 2, MPI_UINT64_T,
                       MPI_MAX, comm_, &proposal_),
        "MPI_Iallreduce");
}

bool ControlChannel::Pending() {
  if (proposal_ == MPI_REQUEST_NULL) return false;
  int flag = 0;
  Check(MPI_Test(&proposal_, &flag, MPI_STATUS_IGNORE), "MPI_Test");
  if (flag == 0) return true;
  differs_ = largest_ != proposed_;
  return false;
}

void ControlChannel::Finish(MPI_Request* request,
                            const std::function<void()>& idle) {
  for (;;) {
    int flag = 0;
    Check(MPI_Test(request, &flag, MPI_STATUS_IGNORE), "MPI_Test");
    if (flag != 0) return;
    idle();
  }
}

template <size_t kCount>
std::array<uint64_t, kCount> ControlChannel::Largest(
    const std::array<uint64_t, kCount>& own,
    const std::function<void()>& idle) {
  std::array<uint64_t, kCount> largest{};
  MPI_Request request = MPI_REQUEST_NULL;
  ChooseAllReduce(sizeof(own), size_);
  Check(MPI_Iallreduce(own.data(), largest.data(), kCount, MPI_UINT64_T,
                       MPI_MAX, comm_, &request),
        "MPI_Iallreduce");
  Finish(&request, idle);
  return largest;
}

std::vector<std::string> ControlChannel::Gather(
    const std::string& own, const std::function<void()>& idle) {
  const uint64_t longest = Largest<1>({own.size()}, idle)[0];
  const size_t bytes = std::min(longest, kLineBytes) + 1;
  std::vector<char> text(bytes, '\0');
  own.copy(text.data(), bytes - 1);
  std::vector<char> all(bytes * static_cast<size_t>(size_));
  MPI_Request request = MPI_REQUEST_NULL;
  Check(
      MPI_Iallgather(text.data(), static_cast<int>(bytes), MPI_CHAR, all.data(),
                     static_cast<int>(bytes), MPI_CHAR, comm_, &request),
      "MPI_Iallgather");
  Finish(&request, idle);
  std::vector<std::string> texts;
  texts.reserve(static_cast<size_t>(size_));
  for (int rank = 0; rank < size_; ++rank) {
    texts.emplace_back(all.data() + bytes * static_cast<size_t>(rank));
  }
  return texts;
}

bool ControlChannel::SameOnAll(uint64_t digest,
                               const std::function<void()>& idle) {
  const std::array<uint64_t, 2> own = {digest, ~digest};
  return Largest(own, idle) == own;
}

// Bisects: a digest of the first n lines is equal up to the first difference.
std::string ControlChannel::Difference(const Part& part,
                                       const std::function<void()>& idle) {
  const auto& lines = part.lines();
  size_t equal = 0;
  size_t unequal = Largest<1>({lines.size()}, idle)[0];
  while (unequal > equal + 1) {
    const size_t middle = equal + (unequal - equal) / 2;
    (SameOnAll(part.Digest(middle), idle) ? equal : unequal) = middle;
  }
  const Part::Line own = equal < lines.size() ? lines[equal] : Part::Line();
  const auto texts = Gather(own.text, idle);
  const auto places = Gather(own.where, idle);
  std::vector<Part::Line> of_ranks;
  of_ranks.reserve(texts.size());
  for (size_t rank = 0; rank < texts.size(); ++rank) {
    of_ranks.push_back({texts[rank], places[rank]});
  }
  return DescribeLines(std::move(of_ranks));
}

void ControlChannel::Tell(int tag, const std::string& text) {
  std::vector<char>& message = told_.emplace_back(kMessageBytes, '\0');
  const auto cut = Utf8Prefix(text, kMessageBytes - 1);
  std::copy(cut.begin(), cut.end(), message.begin());
  for (int rank = 0; rank < size_; ++rank) {
    if (rank == rank_) continue;
    MPI_Request request = MPI_REQUEST_NULL;
    Check(MPI_Isend(message.data(), kMessageBytes, MPI_CHAR, rank, tag, comm_,
                    &request),
          "MPI_Isend");
    Check(MPI_Request_free(&request), "MPI_Request_free");
  }
}

bool ControlChannel::Hear(int tag, std::string* text, int* from) {
  int flag = 0;
  MPI_Status status;
  Check(MPI_Iprobe(MPI_ANY_SOURCE, tag, comm_, &flag, &status), "MPI_Iprobe");
  if (flag == 0) return false;
  std::vector<char> message(kMessageBytes, '\0');
  Check(MPI_Recv(message.data(), kMessageBytes, MPI_CHAR, status.MPI_SOURCE,
                 tag, comm_, MPI_STATUS_IGNORE),
        "MPI_Recv");
  *text = message.data();
  *from = status.MPI_SOURCE;
  return true;
}

void ControlChannel::TellFailure(const std::string& why) {
  Tell(kFailTag, why);
}

std::string ControlChannel::HearFailure() {
  std::string why;
  int from = 0;
  Hear(kFailTag, &why, &from);
  return why;
}

void ControlChannel::TellWaiting(WaitState state, std::string_view label) {
  Tell(kWaitTag, Format("{}{}", static_cast<int>(state), label));
}

// Messages of one rank arrive in order.
const std::vector<ControlChannel::Waiting>& ControlChannel::HearWaiting() {
  std::string text;
  int from = 0;
  while (Hear(kWaitTag, &text, &from)) {
    waiting_[static_cast<size_t>(from)] = {
        static_cast<WaitState>(text[0] - '0'), text.substr(1)};
  }
  return waiting_;
}

}  // namespace sluice::mpi
