#pragma once

#include <cstdio>
#include <fstream>
#include <string>
#include <vector>

#include "tests/testing/expect_error.h"
#include "tests/testing/temp_folder.h"
#include <gtest/gtest.h>
#include <unistd.h>

#include "sluice/framework/checkpoint/parameters_io.h"

namespace sluice::testing {

inline Tensor Floats(const DDim& dims, const std::vector<float>& values) {
  return Tensor::FromVector(dims, values);
}

// A program with persistables of several dtypes, their values, and a folder for
// files.
class CheckpointTest : public ::testing::Test {
 protected:
  CheckpointTest() {
    program_.Data("x", DType::kFloat32, {2});
    program_.Persistable("b", DType::kFloat32, {3});
    program_.Persistable("w", DType::kFloat64, {2, 2});
    program_.Persistable("count", DType::kInt64, {});
    program_.Persistable("flag", DType::kBool, {1});
    program_.Persistable("none", DType::kFloat32, {0, 4});
    Fill(&scope_, 1);
  }

  static void Set(Scope* scope, const char* name, const Tensor& value) {
    *scope->Var(name).GetMutable<Tensor>() = value;
  }
  static void Fill(Scope* scope, double value) {
    const auto single = static_cast<float>(value);
    Set(scope, "b", Floats({3}, {single, single + 1, single + 2}));
    Set(scope, "w",
        Tensor::FromVector<double>({2, 2}, {value, 0.1, -value, 1e300}));
    Set(scope, "count",
        Tensor::FromVector<int64_t>({}, {static_cast<int64_t>(value)}));
    Set(scope, "flag", Tensor::FromVector<bool>({1}, {value > 0}));
    Set(scope, "none", Floats({0, 4}, {}));
    scope->set_step(static_cast<uint64_t>(value) + 40);
  }
  static std::string Values(const Scope& scope) {
    std::string text = std::to_string(scope.step());
    for (const char* name : {"b", "w", "count", "flag", "none"}) {
      const Tensor& value = *scope.FindVar(name)->Get<Tensor>();
      text += ToString(value) + ':';
      text.append(static_cast<const char*>(value.raw_data()), value.bytes());
    }
    return text;
  }
  std::vector<std::string> Names() const { return temp_.Names(); }
  std::string Bytes() const { return ReadFile(path_); }
  void Write(const std::string& bytes) const {
    std::remove(path_.c_str());  // faster than to cut it off
    std::ofstream(path_, std::ios::binary) << bytes;
  }
  void Save() { SaveParameters(path_, program_, scope_); }
  void Load() { LoadParameters(path_, program_, scope_); }
  // Expects Load to raise, and to change nothing.
  void ExpectRefused(ErrorCode code,
                     std::string_view id,
                     std::initializer_list<std::string_view> fragments) {
    const std::string before = Values(scope_);
    const size_t count = scope_.LocalVarNames().size();
    ExpectError(code, id, fragments, [&] { Load(); });
    EXPECT_EQ(Values(scope_), before);
    EXPECT_EQ(scope_.LocalVarNames().size(), count);
  }

  TempFolder temp_;
  std::string folder_ = temp_.path();
  std::string path_ = folder_ + "/model.safetensors";
  Program program_;
  Scope scope_;
};

}  // namespace sluice::testing
