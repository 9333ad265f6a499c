#pragma once

#include <filesystem>
#include <string>

#include <gtest/gtest.h>

#include "sluice/platform/plugin/kernel_module.h"

namespace sluice::testing {

// Whether the module libsluice_<name>.so is built. One that is built and
// cannot be loaded fails the test.
inline bool HasModule(const std::string& name) {
  const std::string file = LibraryFolder() + "/libsluice_" + name + ".so";
  if (!std::filesystem::exists(file)) return false;
  EXPECT_EQ(LoadModule(name), "");
  return true;
}

}  // namespace sluice::testing
