#include <string>

#include <dlfcn.h>
#include <gtest/gtest.h>

#include "sluice/onnx/provider/runtime_api.h"

namespace sluice::testing {
namespace {

// A host of another version of ONNX Runtime's interface than Sluice needs.
std::string made_status;
bool knows_oldest = true;

ort::Status* CreateStatus(int /*code*/, const char* text) {
  made_status = text;
  return reinterpret_cast<ort::Status*>(&made_status);
}
void* const kOldTable[] = {reinterpret_cast<void*>(&CreateStatus)};

ort::Table GetApi(uint32_t version) {
  return version == 1 && knows_oldest ? kOldTable : nullptr;
}
const char* GetVersion() {
  return "1.19.2";
}

class OnnxProvider : public ::testing::Test {
 protected:
  void SetUp() override {
    void* library = dlopen(SLUICE_ONNX_PROVIDER, RTLD_NOW | RTLD_LOCAL);
    ASSERT_NE(library, nullptr) << dlerror();
    create_ = reinterpret_cast<decltype(create_)>(
        dlsym(library, "CreateEpFactories"));
    ASSERT_NE(create_, nullptr);
    ASSERT_NE(dlsym(library, "ReleaseEpFactory"), nullptr);
  }

  ort::Status* Create(const ort::ApiBase* base) {
    return create_("Sluice", base, nullptr, factories_, 1, &count_);
  }

  ort::Status* (*create_)(const char*,
                          const ort::ApiBase*,
                          const void*,
                          ort::EpFactory**,
                          size_t,
                          size_t*) = nullptr;
  ort::EpFactory* factories_[1] = {};
  size_t count_ = 7;
};

TEST_F(OnnxProvider, RefusesAHostOfAnotherVersion) {
  const ort::ApiBase base = {GetApi, GetVersion};
  knows_oldest = true;
  EXPECT_NE(Create(&base), nullptr);
  EXPECT_EQ(made_status,
            "Sluice's execution provider needs ONNX Runtime 1.24 or newer; "
            "this program has 1.19.2");
  EXPECT_EQ(count_, 0u);
}

TEST_F(OnnxProvider, SaysSoOnStderrWhereTheHostTakesNoStatus) {
  const ort::ApiBase base = {GetApi, GetVersion};
  knows_oldest = false;
  ::testing::internal::CaptureStderr();
  EXPECT_EQ(Create(&base), nullptr);
  EXPECT_EQ(Create(nullptr), nullptr);
  const std::string text = ::testing::internal::GetCapturedStderr();
  EXPECT_NE(text.find("this program has 1.19.2\n"), std::string::npos) << text;
  EXPECT_NE(text.find("this program has none\n"), std::string::npos) << text;
  EXPECT_EQ(count_, 0u);
  EXPECT_EQ(factories_[0], nullptr);
}

}  // namespace
}  // namespace sluice::testing
