#include "sluice/framework/op/registry.h"

#include <atomic>
#include <chrono>
#include <memory>
#include <set>
#include <stdexcept>
#include <string>
#include <thread>

#include "tests/framework/test_ops.h"
#include "tests/testing/expect_error.h"
#include <gtest/gtest.h>

#include "sluice/framework/op/infer_shape_context.h"
#include "sluice/framework/op/kernel_call.h"
#include "sluice/framework/op/kernel_name.h"
#include "sluice/framework/op/op_registry.h"

namespace sluice {
namespace {

using sluice::testing::ExpectError;

class NothingKernel final : public OpKernel {
 public:
  void Compute(OpKernelContext&) const override {}
};

class PlainKernel final : public OpKernel {
 public:
  explicit PlainKernel(const OpKernelConstruction& construction)
      : OpKernel(construction) {}
  void Compute(OpKernelContext&) const override {}
};

void Schema(OpSchema& op) {
  op.Output("Out", "float32", "").InferShape([](InferShapeContext&) {});
}

KernelDef Kernel(const char* variant, DType dtype) {
  KernelDef kernel;
  kernel.op = "op";
  kernel.key.dtype = dtype;
  kernel.variant = variant;
  kernel.make = [](const OpKernelConstruction&) {
    return std::make_unique<NothingKernel>();
  };
  return kernel;
}

TEST(RegistryTest, FindsOperators) {
  Registry registry;
  registry.AddOperator("crop_it", &Schema);
  EXPECT_EQ(registry.Schema("crop_it").name(), "crop_it");
  EXPECT_EQ(registry.FindSchema("crop_at"), nullptr);
  EXPECT_EQ(registry.OpNames(), std::vector<std::string>{"crop_it"});
  ExpectError(ErrorCode::kNotFound, "registry.unknown_op",
              {"no operator crop_at", "did you mean crop_it?",
               "loaded or registered first"},
              [&] { registry.Schema("crop_at"); });
}

TEST(RegistryTest, RefusesAnOperatorTwice) {
  Registry registry;
  registry.AddOperator("op", &Schema);
  ExpectError(ErrorCode::kInvalidArgument, "registry.operator_twice", {"op"},
              [&] { registry.AddOperator("op", &Schema); });
}

TEST(RegistryTest, FindsTheOpThatServesARole) {
  Registry registry;
  ExpectError(ErrorCode::kNotFound, "registry.no_op_for_role", {"sum"},
              [&] { registry.OpFor(OpRole::kSum); });
  const auto sum = [](OpSchema& op) {
    Schema(op);
    op.Serves(OpRole::kSum);
  };
  registry.AddOperator("add_up", sum);
  registry.AddOperator("op", &Schema);
  EXPECT_EQ(registry.OpFor(OpRole::kSum).name(), "add_up");
  ExpectError(ErrorCode::kInvalidArgument, "registry.role_twice",
              {"total", "sum", "add_up"},
              [&] { registry.AddOperator("total", sum); });
  EXPECT_EQ(registry.FindSchema("total"), nullptr);
}

TEST(RegistryTest, RefusesASchemaThatContradictsItself) {
  Registry registry;
  EXPECT_THROW(registry.AddOperator("op", [](OpSchema&) {}), Error);
  EXPECT_EQ(registry.FindSchema("op"), nullptr);
}

TEST(RegistryTest, ListsKernelsInTheOrderOfRegistration) {
  Registry registry;
  registry.AddKernel(Kernel("first", DType::kFloat32));
  registry.AddKernel(Kernel("second", DType::kFloat32));
  std::vector<std::string> variants;
  for (const KernelDef* kernel : registry.Kernels("op")) {
    variants.push_back(kernel->variant);
  }
  EXPECT_EQ(variants, (std::vector<std::string>{"first", "second"}));
  EXPECT_TRUE(registry.Kernels("other").empty());
}

TEST(RegistryTest, RefusesAKernelTwice) {
  Registry registry;
  registry.AddKernel(Kernel("plain", DType::kFloat32));
  registry.AddKernel(Kernel("plain", DType::kFloat64));
  registry.AddKernel(Kernel("tiled", DType::kFloat32));
  ExpectError(ErrorCode::kInvalidArgument, "registry.kernel_twice",
              {"op/plain (cpu float32 PLAIN)"},
              [&] { registry.AddKernel(Kernel("plain", DType::kFloat32)); });
  EXPECT_EQ(registry.Kernels("op").size(), 3u);
}

TEST(RegistryTest, AReplacedKernelStaysForThoseWhoHaveIt) {
  Registry registry;
  registry.AddKernel(Kernel("plain", DType::kFloat32));
  registry.AddKernel(Kernel("tiled", DType::kFloat32));
  const KernelDef* before = registry.Kernels("op")[0];
  KernelDef second = Kernel("plain", DType::kFloat32);
  second.version = "2";
  registry.ReplaceKernel(std::move(second));
  registry.ReplaceKernel(Kernel("new", DType::kFloat32));
  const auto kernels = registry.Kernels("op");
  ASSERT_EQ(kernels.size(), 3u);
  EXPECT_EQ(kernels[0]->variant, "plain");
  EXPECT_EQ(kernels[0]->version, "2");
  EXPECT_EQ(kernels[1]->variant, "tiled");
  EXPECT_EQ(kernels[2]->variant, "new");
  EXPECT_EQ(before->variant, "plain");
  EXPECT_EQ(before->version, "1");
  ExpectError(ErrorCode::kInvalidArgument, "registry.kernel_incomplete", {},
              [&] { registry.ReplaceKernel(KernelDef()); });
}

TEST(RegistryTest, WhatAKernelRaisesIsAnErrorThatNamesIt) {
  KernelDef kernel = Kernel("hasty", DType::kFloat32);
  const OpSchema schema("op");
  const OpDesc op;
  const KernelQuery query{schema, op, {}, {}, {}, {}, PlaceKey()};
  KernelPreparation preparation{query};
  const OpKernelConstruction construction(op, kernel.key);
  EXPECT_EQ(Refusal(kernel, query), "");
  EXPECT_NE(MakePrepared(kernel, construction, &preparation), nullptr);
  kernel.predicate = [](const KernelQuery&) -> std::string {
    throw std::out_of_range("no input 7");
  };
  ExpectError(ErrorCode::kInternal, "error.foreign",
              {"When", "op/hasty (cpu float32 PLAIN)", "\"no input 7\""},
              [&] { Refusal(kernel, query); });
  kernel.estimate = [](const KernelQuery&) -> KernelWork { throw 7; };
  ExpectError(ErrorCode::kInternal, "error.foreign",
              {"estimate", "op/hasty", "no std::exception"},
              [&] { WorkOf(kernel, query); });
  kernel.make = [](const OpKernelConstruction&) -> std::unique_ptr<OpKernel> {
    throw std::logic_error("not so");
  };
  ExpectError(ErrorCode::kInternal, "error.foreign",
              {"Prepare of kernel op/hasty", "\"not so\""},
              [&] { MakePrepared(kernel, construction, &preparation); });
  kernel.make = [](const OpKernelConstruction&) -> std::unique_ptr<OpKernel> {
    Raise(ErrorCode::kUnimplemented, "test.refuses", "not this one");
  };
  ExpectError(ErrorCode::kUnimplemented, "test.refuses", {"not this one"},
              [&] { MakePrepared(kernel, construction, &preparation); });
}

TEST(RegistryTest, CountsWhatIsReplaced) {
  Registry registry;
  registry.ReplaceKernel(Kernel("plain", DType::kFloat32));
  EXPECT_EQ(registry.replacements(), 0u);
  registry.ReplaceKernel(Kernel("plain", DType::kFloat32));
  EXPECT_EQ(registry.replacements(), 1u);
  EXPECT_EQ(registry.Kernels().size(), 1u);
  registry.ReplaceOperator(OpSchema("op").Doc("before"));
  EXPECT_EQ(registry.replacements(), 1u);
  const OpSchema& before = registry.Schema("op");
  registry.ReplaceOperator(OpSchema("op").Doc("after"));
  EXPECT_EQ(registry.replacements(), 2u);
  EXPECT_EQ(before.doc(), "before");
  EXPECT_EQ(registry.Schema("op").doc(), "after");
  EXPECT_EQ(registry.OpNames().size(), 1u);
}

TEST(RegistryTest, RecordedVersionsHaveThatOfTheLibrary) {
  Registry registry;
  registry.AddKernel(Kernel("early", DType::kFloat32));
  registry.SetLibraryVersion("PLAIN", "plain 3.2.1");
  registry.SetLibraryVersion("OTHER", "other 7");
  KernelDef late = Kernel("late", DType::kFloat32);
  late.version = "4";
  late.recorded_version = "what a caller says";
  registry.AddKernel(late);
  registry.ReplaceKernel(Kernel("replaced", DType::kFloat32));
  const auto kernels = registry.Kernels("op");
  EXPECT_EQ(kernels[0]->recorded_version, "1");
  EXPECT_EQ(kernels[1]->recorded_version, "4, plain 3.2.1");
  EXPECT_EQ(kernels[2]->recorded_version, "1, plain 3.2.1");
}

TEST(RegistryTest, KernelsOfAMacroHaveTheVersionOfTheirSource) {
  Registry registry;
  registry.AddFrom("1f00c2a97b3e", "", [](Registry& to) {
    AddPlainKernels<PlainKernel>(to, "op", CPUPlace());
  });
  registry.AddKernel(Kernel("later", DType::kFloat32));
  const auto kernels = registry.Kernels("op");
  EXPECT_EQ(kernels.front()->recorded_version, "1f00c2a97b3e");
  EXPECT_EQ(kernels.back()->recorded_version, "1");
}

TEST(RegistryTest, NamesOfKernelsHaveParts) {
  KernelDef kernel = Kernel("tiled", DType::kBFloat16);
  kernel.key.place = PlaceKind::kCUDA;
  const auto parts = PartsOfKernelName(ToString(kernel));
  ASSERT_TRUE(parts);
  EXPECT_EQ(parts->op, "op");
  EXPECT_EQ(parts->variant, "tiled");
  EXPECT_EQ(parts->place, "cuda");
  EXPECT_EQ(parts->dtype, "bfloat16");
  EXPECT_EQ(parts->library, "PLAIN");
  for (const char* other :
       {"", "op", "op/plain", "op/plain (cpu float32)", "/plain (cpu any L)",
        "op/plain (cpu float32 PLAIN) more"}) {
    EXPECT_FALSE(PartsOfKernelName(other)) << other;
  }
}

TEST(RegistryTest, OperatorsOfAMacroHaveTheFamilyOfTheirSource) {
  Registry registry;
  registry.AddFrom("1", "conv", [](Registry& to) {
    to.AddOperator("of_folder", &Schema);
    to.AddOperator("of_schema", [](OpSchema& op) {
      Schema(op);
      op.Family("activation");
    });
  });
  registry.AddOperator("later", &Schema);
  EXPECT_EQ(registry.Schema("of_folder").family(), "conv");
  EXPECT_EQ(registry.Schema("of_schema").family(), "activation");
  EXPECT_EQ(registry.Schema("later").family(), "");
}

void AddLateOperator(Registry& registry) {
  registry.AddOperator("late", &Schema);
}

void AddLateKernel(Registry& registry) {
  AddPlainKernels<PlainKernel>(registry, "late", CPUPlace());
}

TEST(RegistryTest, RegistersLateWhatIsAskedFor) {
  Registry registry;
  int calls = 0;
  registry.AddOperatorLater("late", "1", "conv", &AddLateOperator);
  registry.AddKernelsLater("late", "1f00c2a97b3e", [&calls](Registry& to) {
    ++calls;
    AddLateKernel(to);
  });
  EXPECT_EQ(registry.OpNames(), std::vector<std::string>{"late"});
  EXPECT_EQ(registry.FindSchema("other"), nullptr);
  EXPECT_EQ(calls, 0);
  EXPECT_EQ(registry.Schema("late").family(), "conv");
  EXPECT_EQ(calls, 1);
  const auto kernels = registry.Kernels("late");
  ASSERT_FALSE(kernels.empty());
  EXPECT_EQ(kernels[0]->recorded_version, "1f00c2a97b3e");
  EXPECT_EQ(registry.Kernels().size(), kernels.size());
  EXPECT_EQ(calls, 1);
}

TEST(RegistryTest, WhatIsLateIsThereAlready) {
  Registry registry;
  registry.AddOperatorLater("late", "1", "conv", &AddLateOperator);
  registry.AddKernelsLater("late", "1", &AddLateKernel);
  ExpectError(ErrorCode::kInvalidArgument, "registry.operator_twice", {"late"},
              [&] { registry.AddOperator("late", &Schema); });
  ExpectError(ErrorCode::kInvalidArgument, "registry.kernel_twice", {"late"},
              [&] {
                AddLateKernel(registry);
                registry.Kernels("late");
              });
  registry.AddKernelsLater("late", "2", [](Registry& to) {
    KernelDef kernel = Kernel("after_an_error", DType::kFloat32);
    kernel.op = "late";
    to.AddKernel(std::move(kernel));
  });
  EXPECT_EQ(registry.Kernels("late").back()->variant, "after_an_error");
}

TEST(RegistryTest, ThreadsWaitForWhatIsLate) {
  Registry registry;
  registry.AddKernelsLater("late", "1", [](Registry& to) {
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
    AddLateKernel(to);
  });
  std::vector<std::thread> threads;
  std::atomic<int> without = 0;
  for (int i = 0; i < 4; ++i) {
    threads.emplace_back([&] { without += registry.Kernels("late").empty(); });
  }
  for (std::thread& thread : threads) {
    thread.join();
  }
  EXPECT_EQ(without, 0);
}

TEST(RegistryTest, EachBuiltInKernelHasTheHashOfItsSources) {
  std::set<std::string> versions;
  for (const char* op : {"conv2d", "matmul", "relu"}) {
    for (const KernelDef* kernel : Registry::Global().Kernels(op)) {
      if (kernel->key.library != "PLAIN") continue;
      EXPECT_EQ(kernel->version.size(), 12u) << ToString(*kernel);
      versions.insert(kernel->version);
    }
  }
  EXPECT_GT(versions.size(), 3u);
}

TEST(RegistryTest, RefusesAKernelWithoutOpOrMaker) {
  Registry registry;
  ExpectError(ErrorCode::kInvalidArgument, "registry.kernel_incomplete", {},
              [&] { registry.AddKernel(KernelDef()); });
}

TEST(RegistryTest, MacrosRegisterEveryDTypeWithItsTraits) {
  sluice::testing::UseTestOps();
  int picky = 0;
  int wrong = 0;
  for (const KernelDef* kernel : Registry::Global().Kernels("test_add")) {
    EXPECT_EQ(kernel->key.place, PlaceKind::kCPU);
    EXPECT_EQ(kernel->key.library, "PLAIN");
    if (kernel->variant == "picky") {
      ++picky;
      EXPECT_TRUE(kernel->estimate != nullptr);
      EXPECT_EQ(kernel->key.dtype, DType::kFloat32);
      EXPECT_TRUE(kernel->predicate != nullptr);
    }
    if (kernel->variant == "wrong") ++wrong;
  }
  EXPECT_EQ(picky, 1);
  EXPECT_EQ(wrong, 2);
}

TEST(RegistryTest, TheGlobalOneHoldsTheBuiltins) {
  EXPECT_NE(Registry::Global().FindSchema("crop"), nullptr);
  EXPECT_FALSE(Registry::Global().Kernels("manhattan_distance").empty());
}

TEST(OpKernelConstructionTest, NamesMistakesOfTheKernel) {
  OpDesc op;
  op.type = "op";
  op.attributes["axis"] = int64_t{1};
  const OpKernelType key;
  const OpKernelConstruction construction(op, key);
  EXPECT_EQ(construction.Attr<int64_t>("axis"), 1);
  ExpectError(ErrorCode::kInternal, "kernel.no_such_attribute", {"op", "axes"},
              [&] { construction.Attr<int64_t>("axes"); });
  ExpectError(ErrorCode::kInternal, "kernel.attribute_type",
              {"axis", "float", "int"},
              [&] { construction.Attr<double>("axis"); });
}

template <typename T, typename Option>
class TypedKernel final : public OpKernel {
 public:
  using OpKernel::OpKernel;
  void Compute(OpKernelContext&) const override {}
};

// float16, made of the kernel for float.
struct HalfOfFloat {
  using Computed = float;
  template <typename Body>
  class Kernel final : public OpKernel {
   public:
    static_assert(std::is_same_v<Body, TypedKernel<float, int*>>);
    static constexpr DType kDTypes[] = {DType::kFloat16};
    using OpKernel::OpKernel;
    void Compute(OpKernelContext&) const override {}
    static KernelTraits AdaptTraits(KernelTraits traits) {
      return traits.When([](const KernelQuery&) { return "adapted"; });
    }
  };
};

std::vector<DType> DTypesOfKernels(const Registry& registry) {
  std::vector<DType> dtypes;
  for (const KernelDef* kernel : registry.Kernels("op")) {
    dtypes.push_back(kernel->key.dtype);
  }
  return dtypes;
}

TEST(RegistryTest, ASetOfDTypesRegistersAKernelForEach) {
  Registry registry;
  AddPlainKernels<TypedKernel<NumberTypes, int*>>(registry, "op", CPUPlace());
  EXPECT_EQ(DTypesOfKernels(registry),
            (std::vector<DType>{DType::kFloat32, DType::kFloat64,
                                DType::kFloat16, DType::kBFloat16, DType::kInt8,
                                DType::kUInt8, DType::kInt32, DType::kInt64}));
}

TEST(RegistryTest, AnEntryOfASetMayMakeItsKernelOfAnother) {
  using Set = JoinTypes<FloatTypes, DTypeSet<HalfOfFloat>>;
  Registry registry;
  AddPlainKernels<TypedKernel<Set, int*>>(registry, "op", CPUPlace());
  EXPECT_EQ(
      DTypesOfKernels(registry),
      (std::vector<DType>{DType::kFloat32, DType::kFloat64, DType::kFloat16}));
  const auto kernels = registry.Kernels("op");
  EXPECT_EQ(kernels[0]->predicate, nullptr);
  EXPECT_NE(kernels[2]->predicate, nullptr);
}

}  // namespace
}  // namespace sluice
