#include <csignal>
#include <cstring>

#include "tests/framework/checkpoint/checkpoint_fixture.h"
#include "tests/testing/resource_limit.h"
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <sys/wait.h>

#include "sluice/framework/run/executor.h"
#include "sluice/platform/plugin/plugin_loader.h"

namespace sluice::testing {
namespace {

TEST_F(CheckpointTest, KeepsValuesAndTheStep) {
  const std::string saved = Values(scope_);
  Save();
  Fill(&scope_, 2);
  EXPECT_NE(Values(scope_), saved);
  Load();
  EXPECT_EQ(Values(scope_), saved);
  Scope fresh;
  LoadParameters(path_, program_, fresh);
  EXPECT_EQ(Values(fresh), saved);
  EXPECT_EQ(Names(), std::vector<std::string>{"model.safetensors"});
}

TEST_F(CheckpointTest, IsASafetensorsFile) {
  Program program;
  program.Persistable("w\n\"\\", DType::kFloat32, {2, 1});
  program.Persistable("a", DType::kInt8, {3});
  Scope scope;
  scope.set_step(7);
  Set(&scope, "w\n\"\\", Floats({2, 1}, {1, -2}));
  Set(&scope, "a", Tensor::FromVector<int8_t>({3}, {1, 2, 3}));
  SaveParameters(path_, program, scope);
  const std::string bytes = Bytes();
  uint64_t size = 0;
  std::memcpy(&size, bytes.data(), 8);
  ASSERT_EQ(bytes.size(), 8 + size + 11);
  EXPECT_EQ((8 + size) % 64, 0u);
  const std::string header = bytes.substr(8, size);
  for (
      const char* part :
      {R"({"__metadata__":{"format":"sluice","format_version":"1","checksum":")",
       R"("step":"7")",
       R"("w\n\"\\":{"dtype":"F32","shape":[2,1],"data_offsets":[0,8]})",
       R"("a":{"dtype":"I8","shape":[3],"data_offsets":[8,11]}})"}) {
    EXPECT_NE(header.find(part), std::string::npos) << header;
  }
  float values[2];
  std::memcpy(values, bytes.data() + 8 + size, sizeof(values));
  EXPECT_EQ(values[0], 1);
  EXPECT_EQ(values[1], -2);
  EXPECT_EQ(bytes.substr(8 + size + 8), "\1\2\3");
  Scope loaded;
  LoadParameters(path_, program, loaded);
  EXPECT_EQ(loaded.step(), 7u);
}

TEST_F(CheckpointTest, TheSameValuesGiveTheSameBytes) {
  Save();
  const std::string bytes = Bytes();
  Load();
  Save();
  EXPECT_EQ(Bytes(), bytes);
}

TEST_F(CheckpointTest, EveryDType) {
  Program program;
  Scope scope;
  for (const DType dtype : kAllDTypes) {
    const std::string name(ToString(dtype));
    program.Persistable(name, dtype, {1, 2});
    Tensor value;
    value.Resize({1, 2}).mutable_data(dtype, PlaceKey());
    std::memset(value.raw_data(), 1, value.bytes());
    Set(&scope, name.c_str(), value);
  }
  SaveParameters(path_, program, scope);
  Scope loaded;
  LoadParameters(path_, program, loaded);
  for (const DType dtype : kAllDTypes) {
    const auto& value =
        *loaded.FindVar(std::string(ToString(dtype)))->Get<Tensor>();
    EXPECT_EQ(value.dtype(), dtype);
    const std::string ones(value.bytes(), '\1');
    EXPECT_EQ(std::memcmp(value.raw_data(), ones.data(), ones.size()), 0);
  }
}

TEST_F(CheckpointTest, LooksIntoParents) {
  Scope child(&scope_);
  child.set_step(3);
  SaveParameters(path_, program_, child);
  Fill(&scope_, 5);
  LoadParameters(path_, program_, child);
  EXPECT_TRUE(child.LocalVarNames().empty());
  EXPECT_EQ(scope_.FindVar("count")->Get<Tensor>()->data<int64_t>()[0], 1);
  EXPECT_EQ(child.step(), 3u);
  EXPECT_EQ(scope_.step(), 45u);
}

TEST_F(CheckpointTest, WhatTheUserHoldsDoesNotChange) {
  Save();
  const Tensor held = *scope_.FindVar("b")->Get<Tensor>();
  Set(&scope_, "b", held);
  Fill(&scope_, 2);
  const Tensor second = *scope_.FindVar("b")->Get<Tensor>();
  Load();
  EXPECT_EQ(second.data<float>()[0], 2);
}

TEST_F(CheckpointTest, CopiesFromOtherPlaces) {
  if (FindPlugin("fpga").empty()) GTEST_SKIP() << "no FPGA stub";
  const std::string saved = Values(scope_);
  Tensor& w = *scope_.Var("w").GetMutable<Tensor>();
  w = w.CopyTo(FPGAPlace{0});
  Save();
  Load();
  EXPECT_EQ(Values(scope_), saved);
}

TEST_F(CheckpointTest, TheNextRunUsesWhatWasLoaded) {
  program_.Data("g", DType::kFloat32, {3});
  program_.Data("rate", DType::kFloat32, {1});
  program_.AppendOp(
      "sgd", {{"Param", {"b"}}, {"Grad", {"g"}}, {"LearningRate", {"rate"}}},
      {}, {}, {{"ParamOut", {"b"}}});
  Executor executor;
  const auto run = [&] {
    return executor
        .Run(program_,
             {{"g", Floats({3}, {1, 1, 1})}, {"rate", Floats({1}, {1})}}, {"b"},
             &scope_)[0]
        .ToVector<float>();
  };
  run();
  Save();
  const auto next = run();
  EXPECT_NE(run(), next);
  Load();
  EXPECT_EQ(run(), next);
}

// --- values that cannot be saved
TEST_F(CheckpointTest, NamesVariablesWithoutAValue) {
  program_.Persistable("lost", DType::kFloat32, {1});
  program_.Persistable("empty", DType::kFloat32, {1});
  scope_.Var("empty");
  ExpectError(ErrorCode::kFailedPrecondition, "checkpoint.no_value",
              {"lost", "empty"}, [&] { Save(); });
  EXPECT_TRUE(Names().empty());
}

TEST_F(CheckpointTest, NamesValuesThatDoNotFit) {
  for (const Tensor& wrong :
       {Floats({2}, {1, 2}), Tensor::FromVector<int32_t>({3}, {1, 2, 3})}) {
    Set(&scope_, "b", wrong);
    ExpectError(ErrorCode::kInvalidArgument, "checkpoint.value",
                {"variable b is float32 [3]"}, [&] { Save(); });
  }
}

TEST_F(CheckpointTest, RefusesTheNameThatTheFormatKeepsForItself) {
  Program program;
  program.Persistable("__metadata__", DType::kBool, {1});
  Scope scope;
  Set(&scope, "__metadata__", Tensor::FromVector<bool>({1}, {true}));
  ExpectError(ErrorCode::kInvalidArgument, "checkpoint.name", {"__metadata__"},
              [&] { SaveParameters(path_, program, scope); });
}

TEST_F(CheckpointTest, NamesAFileThatCannotBeWritten) {
  ExpectError(ErrorCode::kNotFound, "file.create", {"/nowhere/"}, [&] {
    SaveParameters(folder_ + "/nowhere/a", program_, scope_);
  });
  EXPECT_TRUE(Names().empty());
}

// Runs `call` in a child and returns its exit status.
template <typename Call>
int InAChild(Call call) {
  const pid_t child = fork();
  if (child == 0) {
    int status = 99;
    try {
      status = call();
    } catch (...) {
    }
    _exit(status);
  }
  int status = 0;
  waitpid(child, &status, 0);
  return WIFEXITED(status) ? WEXITSTATUS(status) : 98;
}

TEST_F(CheckpointTest, RefusesToReplaceWhatIsNoRegularFile) {
  mkfifo(path_.c_str(), 0600);
  const auto refused = [&](const std::string& path) {
    ExpectError(ErrorCode::kInvalidArgument, "file.not_regular",
                {path, "no regular file"},
                [&] { SaveParameters(path, program_, scope_); });
  };
  refused(path_);
  struct stat status {};
  ASSERT_EQ(lstat(path_.c_str(), &status), 0);
  EXPECT_TRUE(S_ISFIFO(status.st_mode));
  refused(folder_);
  // A node like /dev/null, which only root can create. A failing test would
  // destroy the system's own.
  const std::string device = folder_ + "/null";
  const bool made = mknod(device.c_str(), S_IFCHR | 0600, makedev(1, 3)) == 0;
  if (made) refused(device);
  EXPECT_EQ(Names().size(), made ? 2U : 1U);
}

TEST_F(CheckpointTest, FollowsSymbolicLinks) {
  const std::string target = folder_ + "/target";
  ASSERT_EQ(symlink("second", path_.c_str()), 0);
  ASSERT_EQ(symlink(target.c_str(), (folder_ + "/second").c_str()), 0);
  for (int round = 0; round < 2; ++round) {  // the target exists in the second
    Save();
    struct stat status {};
    ASSERT_EQ(lstat(path_.c_str(), &status), 0);
    EXPECT_TRUE(S_ISLNK(status.st_mode));
    ASSERT_EQ(lstat(target.c_str(), &status), 0);
    EXPECT_TRUE(S_ISREG(status.st_mode));
    Load();
  }
  std::remove(target.c_str());
  ASSERT_EQ(symlink("second", target.c_str()), 0);
  EXPECT_THROW(Save(), Error);
}

TEST_F(CheckpointTest, FollowsAsManySymbolicLinksAsLinux) {
  std::string last = path_;
  const auto link = [&](int number) {
    const std::string next = folder_ + "/" + std::to_string(number);
    ASSERT_EQ(symlink(last.c_str(), next.c_str()), 0);
    last = next;
  };
  for (int number = 1; number <= 40; ++number) {
    link(number);
  }
  SaveParameters(last, program_, scope_);
  Load();
  link(41);
  ExpectError(ErrorCode::kInvalidArgument, "file.links", {last, "nowhere"},
              [&] { SaveParameters(last, program_, scope_); });
}

TEST_F(CheckpointTest, TheNewFileHasThePermissionsOfTheOldOne) {
  for (const mode_t mode : {0600U, 0640U, 0666U}) {
    Save();
    ASSERT_EQ(chmod(path_.c_str(), mode), 0);
    Save();
    struct stat status {};
    ASSERT_EQ(stat(path_.c_str(), &status), 0);
    EXPECT_EQ(status.st_mode & 0777, mode);
  }
}

TEST_F(CheckpointTest, SaysThatTheFileCannotBeWritten) {
  ExpectError(ErrorCode::kResourceExhausted, "file.write",
              {"cannot write", path_, "File too large"}, [&] {
                const ResourceLimit limit(RLIMIT_FSIZE, 100);
                Save();
              });
  EXPECT_TRUE(Names().empty());
}

// A disk that is full after some bytes: the old file must remain.
TEST_F(CheckpointTest, AFullDiskLeavesTheOldFile) {
  Save();
  const std::string saved = Values(scope_);
  const std::string bytes = Bytes();
  for (size_t limit = 0; limit < bytes.size(); limit += 37) {
    Fill(&scope_, 2);
    const int status = InAChild([&] {
      std::signal(SIGXFSZ, SIG_IGN);  // write fails with EFBIG
      const struct rlimit size { limit, limit };
      setrlimit(RLIMIT_FSIZE, &size);
      try {
        Save();
      } catch (const Error& error) {
        return error.code() == ErrorCode::kResourceExhausted ? 7 : 8;
      }
      return 9;
    });
    ASSERT_EQ(status, 7) << limit;
    ASSERT_EQ(Names(), std::vector<std::string>{"model.safetensors"});
    Load();
    ASSERT_EQ(Values(scope_), saved);
  }
}

}  // namespace
}  // namespace sluice::testing
