#include "sluice/framework/files/file.h"

#include <atomic>
#include <chrono>
#include <filesystem>
#include <thread>

#include "tests/testing/expect_error.h"
#include "tests/testing/temp_folder.h"
#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/file.h>
#include <unistd.h>

#include "sluice/platform/cancel.h"

namespace sluice::testing {
namespace {

// Another writer of the file at `path`, which only holds its lock.
class Holder {
 public:
  explicit Holder(const std::string& path)
      : temporary_(path + ".saving"),
        descriptor_(
            open(temporary_.c_str(), O_WRONLY | O_CREAT | O_CLOEXEC, 0666)) {
    EXPECT_EQ(flock(descriptor_, LOCK_EX), 0);
  }
  ~Holder() { Release(); }
  Holder(const Holder&) = delete;
  Holder& operator=(const Holder&) = delete;

  void Write() const { EXPECT_EQ(write(descriptor_, "x", 1), 1); }
  void Release() {
    if (descriptor_ >= 0) close(descriptor_);
    descriptor_ = -1;
  }

 private:
  std::string temporary_;
  int descriptor_;
};

class FileReplacementTest : public ::testing::Test {
 protected:
  FileReplacementTest() : path_(folder_.Write("file", "old")) {}
  ~FileReplacementTest() override { SetCancelRequested(false); }

  TempFolder folder_;
  const std::string path_;
};

TEST_F(FileReplacementTest, ALockThatAnotherWriterKeepsIsAnError) {
  Holder holder(path_);
  ExpectError(ErrorCode::kFailedPrecondition, "file.locked",
              {"cannot write " + path_, path_ + ".saving", "0.1 seconds"},
              [&] { FileReplacement(path_, 0.1); });
  EXPECT_EQ(ReadFile(path_), "old");
  // The other writer continues.
  EXPECT_TRUE(std::filesystem::exists(path_ + ".saving"));
  holder.Release();
  ReplaceFile(path_, {"new"});
  EXPECT_EQ(ReadFile(path_), "new");
}

TEST_F(FileReplacementTest, SaysWhetherAnotherWriterHasReplacedTheFile) {
  FileReplacement first(path_);
  first.Write({"new"});
  EXPECT_TRUE(first.IsInPlace());
  ReplaceFile(path_, {"newer"});
  EXPECT_FALSE(first.IsInPlace());
  std::filesystem::remove(path_);
  EXPECT_FALSE(first.IsInPlace());
}

TEST_F(FileReplacementTest, WaitingEndsWhereTheRunIsCancelled) {
  const Holder holder(path_);
  std::thread canceller([] {
    std::this_thread::sleep_for(std::chrono::milliseconds(50));
    SetCancelRequested(true);
  });
  ExpectError(ErrorCode::kFailedPrecondition, "run.cancelled", {},
              [&] { ReplaceFile(path_, {"new"}); });
  canceller.join();
  EXPECT_EQ(ReadFile(path_), "old");
}

TEST_F(FileReplacementTest, WritingEndsWhereTheRunIsCancelled) {
  FileReplacement file(path_);
  SetCancelRequested(true);
  ExpectError(ErrorCode::kResourceExhausted, "file.write", {path_, "anceled"},
              [&] { file.Write({"new"}); });
  EXPECT_EQ(ReadFile(path_), "old");
}

TEST_F(FileReplacementTest, WaitsAsLongAsTheOtherWriterWrites) {
  Holder holder(path_);
  std::thread other([&] {
    for (int i = 0; i < 10; ++i) {
      std::this_thread::sleep_for(std::chrono::milliseconds(200));
      holder.Write();
    }
    holder.Release();
  });
  FileReplacement(path_, 1.5).Write({"new"});
  other.join();
  EXPECT_EQ(ReadFile(path_), "new");
}

TEST_F(FileReplacementTest, NothingIsLeftOfOneThatIsGivenUp) {
  { const FileReplacement file(path_); }
  EXPECT_FALSE(std::filesystem::exists(path_ + ".saving"));
  EXPECT_EQ(ReadFile(path_), "old");
}

}  // namespace
}  // namespace sluice::testing
