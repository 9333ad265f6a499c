#include "sluice/framework/op/kernel_library.h"

#include <algorithm>
#include <cfenv>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <string>
#include <thread>
#include <vector>

#include "tests/testing/expect_error.h"
#include "tests/testing/temp_folder.h"
#include <elf.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include "sluice/framework/inspect/explain.h"
#include "sluice/framework/op/op_schema.h"
#include "sluice/framework/run/executor.h"
#include "sluice/framework/run/run_op.h"
#include "sluice/ops.h"
#include "sluice/platform/error.h"
#include "sluice/platform/plugin/kernel_module.h"

namespace sluice {
namespace {

using sluice::testing::ExpectError;

std::vector<float> Relu(const std::string& hint) {
  const Tensor x = Tensor::FromVector<float>({3}, {-1, 0, 2});
  return RunOp("relu", {{"X", x}}, {}, {.hint = hint})["Out"].ToVector<float>();
}

size_t KernelsOf(const std::string& op) {
  return Registry::Global().Kernels(op).size();
}

// A copy of the correct library with some bytes replaced by others.
class PatchedKernelLibrary : public ::testing::Test {
 protected:
  PatchedKernelLibrary() { unsetenv("TEST_KERNELS_OPENED"); }

  std::string Replace(const std::string& from, const std::string& to) {
    std::string bytes = testing::ReadFile(SLUICE_GOOD_KERNELS);
    EXPECT_EQ(from.size(), to.size());
    size_t count = 0;
    for (size_t at = bytes.find(from); at != std::string::npos;
         at = bytes.find(from, at + 1)) {
      bytes.replace(at, to.size(), to);
      ++count;
    }
    EXPECT_GT(count, 0U) << from;
    return folder_.Write("libpatched.so", bytes);
  }

  // A refused library must change nothing, and none of its code may run.
  void ExpectRefused(ErrorCode code,
                     std::string_view check_id,
                     std::initializer_list<std::string_view> fragments,
                     const std::string& path) {
    const size_t before = KernelsOf("relu");
    const size_t libraries = LoadedKernelLibraries().size();
    ExpectError(code, check_id, fragments, [&] { LoadKernelLibrary(path); });
    EXPECT_EQ(KernelsOf("relu"), before);
    EXPECT_EQ(LoadedKernelLibraries().size(), libraries);
    EXPECT_EQ(getenv("TEST_KERNELS_OPENED"), nullptr);
  }

  testing::TempFolder folder_;
};

TEST_F(PatchedKernelLibrary, OfAnotherVersionIsRefused) {
  ExpectRefused(ErrorCode::kFailedPrecondition, "kernel_library.version",
                {"libpatched.so", "another Sluice, version 9.1.0, than",
                 "version 0.1.0 in " + LibraryFolder() + ": its", "\"9.1.0\"",
                 "build it again with the headers of"},
                Replace("version=0.1.0", "version=9.1.0"));
}

TEST_F(PatchedKernelLibrary, BuiltWithOtherHeadersIsRefused) {
  ExpectRefused(ErrorCode::kFailedPrecondition, "kernel_library.version",
                {"libpatched.so", "headers", "\"\""},
                Replace(" headers=", " heaters="));
}

TEST_F(PatchedKernelLibrary, WithoutAStampIsRefused) {
  ExpectRefused(
      ErrorCode::kInvalidArgument, "kernel_library.stamp",
      {"libpatched.so", "no kernel library", "sluice_add_kernel_library"},
      Replace(std::string("Sluice\0\0version=", 16),
              std::string("Weir\0\0\0\0version=", 16)));
}

TEST_F(PatchedKernelLibrary, OfAnotherCudaIsRefused) {
  const std::string path = Replace("cuda=OFF", std::string("cuda=ON\0", 8));
  const std::string mode = TEST_CUDA_MODE;
  if (mode == "ON") GTEST_SKIP() << "it is the same";
  ExpectRefused(ErrorCode::kUnimplemented, "kernel_library.other_cuda",
                {"libpatched.so", "SLUICE_CUDA=ON", "SLUICE_CUDA=" + mode},
                path);
}

TEST_F(PatchedKernelLibrary, TruncatedIsRefused) {
  const std::string bytes = testing::ReadFile(SLUICE_GOOD_KERNELS);
  ExpectRefused(ErrorCode::kDataLoss, "plugin.truncated", {"libcut.so"},
                folder_.Write("libcut.so", bytes.substr(0, 5000)));
}

// A sparse file may claim such sizes, and have them.
TEST_F(PatchedKernelLibrary, WhoseNotesAreTerabytesIsPassedOver) {
  std::string bytes = testing::ReadFile(SLUICE_GOOD_KERNELS);
  Elf64_Ehdr header{};
  std::memcpy(&header, bytes.data(), sizeof(header));
  for (int i = 0; i < header.e_phnum; ++i) {
    char* at = bytes.data() + header.e_phoff + i * sizeof(Elf64_Phdr);
    Elf64_Phdr segment{};
    std::memcpy(&segment, at, sizeof(segment));
    if (segment.p_type != PT_NOTE) continue;
    segment.p_filesz = uint64_t{1} << 42;
    std::memcpy(at, &segment, sizeof(segment));
  }
  const std::string path = folder_.Write("libsparse.so", bytes);
  std::error_code error;
  std::filesystem::resize_file(path, (uint64_t{1} << 42) + bytes.size(), error);
  if (error) GTEST_SKIP() << "no such files here: " << error.message();
  EXPECT_FALSE(IsKernelLibrary(path));
  ExpectRefused(ErrorCode::kInvalidArgument, "kernel_library.stamp",
                {"libsparse.so"}, path);
}

TEST_F(PatchedKernelLibrary, MissingOrNoLibraryIsRefused) {
  ExpectRefused(ErrorCode::kNotFound, "plugin.missing",
                {"kernel library ", "nowhere.so"}, folder_.File("nowhere.so"));
  ExpectRefused(ErrorCode::kInvalidArgument, "plugin.not_a_library",
                {"text.so", "ELF"}, folder_.Write("text.so", "text"));
}

TEST_F(PatchedKernelLibrary, WithoutItsEntryPointIsRefused) {
  const std::string path =
      Replace("SluiceAddKernelLibrary", "SluiceSubKernelLibrary");
  ExpectError(ErrorCode::kInvalidArgument, "kernel_library.entry",
              {"libpatched.so", "SluiceAddKernelLibrary"},
              [&] { LoadKernelLibrary(path); });
}

TEST_F(PatchedKernelLibrary, WhoseOwnLibrariesAreMissingIsRefused) {
  ExpectError(ErrorCode::kNotFound, "kernel_library.open",
              {"libpatched.so", "libsluyce.so"}, [&] {
                LoadKernelLibrary(Replace("libsluice.so", "libsluyce.so"));
              });
}

TEST(KernelLibrary, AKernelForNoOpIsRefusedWithNearNames) {
  const size_t before = KernelsOf("abs");
  ExpectError(ErrorCode::kNotFound, "kernel_library.unknown_op",
              {"misspelt", "relux", "relu"},
              [] { LoadKernelLibrary(SLUICE_MISSPELT_KERNELS); });
  EXPECT_EQ(KernelsOf("abs"), before);
}

TEST(KernelLibrary, AKernelWithATakenNameIsRefused) {
  const size_t before = KernelsOf("abs");
  ExpectError(ErrorCode::kInvalidArgument, "kernel_library.kernel_taken",
              {"taken", "relu/plain", "float32", "variant name"},
              [] { LoadKernelLibrary(SLUICE_TAKEN_KERNELS); });
  EXPECT_EQ(KernelsOf("abs"), before);
}

TEST(KernelLibrary, AKernelForADTypeThatItsOpLacksIsRefused) {
  const size_t before = KernelsOf("relu");
  ExpectError(ErrorCode::kInvalidArgument, "kernel_library.dtype",
              {"foreign_dtype", "relu/test_foreign", "int64"},
              [] { LoadKernelLibrary(SLUICE_FOREIGN_DTYPE_KERNELS); });
  EXPECT_EQ(KernelsOf("relu"), before);
}

TEST(KernelLibrary, ARowWithOneDTypeTwiceIsRefused) {
  const size_t before = KernelsOf("relu");
  ExpectError(ErrorCode::kInvalidArgument, "registry.kernel_twice",
              {"libtest_twice", "relu/test_twice", "float32"},
              [] { LoadKernelLibrary(SLUICE_TWICE_KERNELS); });
  EXPECT_EQ(KernelsOf("relu"), before);
}

TEST(KernelLibrary, AnOperatorWithATakenNameIsRefused) {
  ExpectError(ErrorCode::kInvalidArgument, "kernel_library.op_taken",
              {"op_taken", "operator relu already"},
              [] { LoadKernelLibrary(SLUICE_OP_TAKEN_KERNELS); });
  EXPECT_EQ(Registry::Global().FindSchema("test_new_op"), nullptr);
}

TEST(KernelLibrary, AnOperatorWithARoleOfSluicesIsRefused) {
  ExpectError(ErrorCode::kInvalidArgument, "kernel_library.role",
              {"test_role_kernels", "operator test_role", "role sum"},
              [] { LoadKernelLibrary(SLUICE_ROLE_KERNELS); });
  EXPECT_EQ(Registry::Global().FindSchema("test_before_role"), nullptr);
}

TEST(KernelLibrary, TheLibraryWordOfAModuleIsTakenBeforeItIsLoaded) {
  const auto modules = Registry::Global().Modules("matmul");
  if (std::ranges::none_of(modules, [](const KernelModule* module) {
        return module->library == "EIGEN";
      })) {
    GTEST_SKIP() << "built without Eigen's kernels";
  }
  ExpectError(ErrorCode::kInvalidArgument, "kernel_library.module",
              {"module", "matmul/test_module", "EIGEN", "MINE"},
              [] { LoadKernelLibrary(SLUICE_MODULE_KERNELS); });
}

TEST(KernelLibrary, WhatARegistrationRaisesIsAnError) {
  ExpectError(ErrorCode::kInternal, "error.foreign",
              {"refusing", "a registration raised \"no table\""},
              [] { LoadKernelLibrary(SLUICE_REFUSING_KERNELS); });
}

// In a process of its own: the system's loader stays locked for others.
TEST(KernelLibrary, WhatAnInitialiserRaisesIsAnErrorEachTime) {
  const auto load = [] {
    for (int time = 0; time < 2; ++time) {
      ExpectError(ErrorCode::kInternal, "error.foreign",
                  {"raising", "an initialiser of it raised \"not today\"",
                   "start the process again"},
                  [] { LoadKernelLibrary(SLUICE_RAISING_KERNELS); });
    }
    std::_Exit(::testing::Test::HasFailure() ? 1 : 0);
  };
  EXPECT_EXIT(load(), ::testing::ExitedWithCode(0), "");
}

TEST(KernelLibrary, ItsInitialisersDoNotChangeHowTheThreadComputes) {
  LoadKernelLibrary(SLUICE_GOOD_KERNELS);
  EXPECT_EQ(std::fegetround(), FE_TONEAREST);
}

TEST(KernelLibrary, TheNameOfSluicesCudaKernelIsTakenBeforeItIsLoaded) {
  const size_t before = KernelsOf("abs");
  ExpectError(ErrorCode::kInvalidArgument, "kernel_library.plain_cuda",
              {"plain_cuda", "relu/plain", "REGISTER_OP_KERNEL"},
              [] { LoadKernelLibrary(SLUICE_PLAIN_CUDA_KERNELS); });
  EXPECT_EQ(KernelsOf("abs"), before);
}

TEST(KernelLibrary, ItsKernelsAreCandidatesThatHintsCanName) {
  const KernelLibrary& library = LoadKernelLibrary(SLUICE_GOOD_KERNELS);
  ASSERT_EQ(library.kernels.size(), 2U);
  EXPECT_EQ(ToString(*library.kernels[0]),
            "relu/test_mine (cpu float32 PLAIN)");
  EXPECT_TRUE(library.operators.empty());
  EXPECT_EQ(Relu("require variant=test_mine"),
            (std::vector<float>{100, 100, 102}));
  EXPECT_EQ(Relu(""), (std::vector<float>{0, 0, 2}));
}

TEST(KernelLibrary, IsLoadedOnceUnderAnyName) {
  const KernelLibrary& library = LoadKernelLibrary(SLUICE_GOOD_KERNELS);
  const size_t before = KernelsOf("relu");
  const testing::TempFolder folder;
  const std::string link = folder.File("liblink.so");
  ASSERT_EQ(symlink(SLUICE_GOOD_KERNELS, link.c_str()), 0);
  EXPECT_EQ(&LoadKernelLibrary(link), &library);
  EXPECT_EQ(KernelsOf("relu"), before);
}

TEST(KernelLibrary, ManyThreadsMayLoadIt) {
  std::vector<const KernelLibrary*> loaded(4);
  std::vector<std::thread> threads;
  for (auto& library : loaded) {
    threads.emplace_back(
        [&library] { library = &LoadKernelLibrary(SLUICE_GOOD_KERNELS); });
  }
  for (std::thread& thread : threads)
    thread.join();
  for (const KernelLibrary* library : loaded)
    EXPECT_EQ(library, loaded[0]);
}

// Also for a program that has run, and back again.
TEST(KernelLibrary, ReplacesKernelsOfOthersWhenAsked) {
  const KernelLibrary& good = LoadKernelLibrary(SLUICE_GOOD_KERNELS);
  ExpectError(ErrorCode::kInvalidArgument, "kernel_library.kernel_taken",
              {"better", "relu/test_mine"},
              [] { LoadKernelLibrary(SLUICE_BETTER_KERNELS); });
  ExpectError(ErrorCode::kInvalidArgument, "kernel_library.kernel_taken",
              {"taken", "relu/plain"}, [] {
                LoadKernelLibrary(SLUICE_TAKEN_KERNELS, {.replace = true});
              });

  Program program;
  const Var x = program.Data("x", DType::kFloat32, {-1});
  const Var y = ops::Relu(x);
  program.Hint("require variant=test_mine");
  Executor executor;
  const auto run = [&] {
    const Tensor values = Tensor::FromVector<float>({1}, {1});
    return executor.Run(program, {{"x", values}}, {y})[0].ToVector<float>()[0];
  };
  EXPECT_EQ(run(), 101);
  const auto paths = [] {
    std::vector<std::string> paths;
    for (const KernelLibrary* library : LoadedKernelLibraries()) {
      paths.push_back(std::filesystem::path(library->path).stem());
    }
    return paths;
  };
  LoadKernelLibrary(SLUICE_BETTER_KERNELS, {.replace = true});
  EXPECT_EQ(run(), 201);
  ExpectError(ErrorCode::kInvalidArgument, "kernel_library.kernel_taken",
              {"good", "relu/test_mine"},
              [] { LoadKernelLibrary(SLUICE_GOOD_KERNELS); });
  EXPECT_THAT(paths(), ::testing::Contains("libtest_better_kernels"));
  EXPECT_THAT(paths(),
              ::testing::Not(::testing::Contains("libtest_good_kernels")));
  const Tensor doubles = Tensor::FromVector<double>({1}, {1});
  ExpectError(ErrorCode::kNotFound, "resolver.no_kernel",
              {"again without this dtype"}, [&] {
                RunOp("relu", {{"X", doubles}}, {},
                      {.hint = "require variant=test_mine"});
              });

  LoadKernelLibrary(SLUICE_GOOD_KERNELS, {.replace = true});
  EXPECT_EQ(run(), 101);
  EXPECT_EQ(
      LoadKernelLibrary(SLUICE_GOOD_KERNELS, {.replace = true}).kernels.size(),
      good.kernels.size());
}

TEST(KernelLibrary, ExplainListsItsKernels) {
  LoadKernelLibrary(SLUICE_GOOD_KERNELS);
  Program program;
  const Var x = program.Data("x", DType::kFloat32, {-1});
  const Var y = ops::Relu(x);
  Executor executor;
  executor.Run(program, {{"x", Tensor::FromVector<float>({1}, {1})}}, {y});
  EXPECT_NE(executor.Explain(program, {.all = true}).find("test_mine"),
            std::string::npos);
}

}  // namespace
}  // namespace sluice
