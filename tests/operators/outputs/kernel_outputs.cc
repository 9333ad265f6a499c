// Writes the outputs of every kernel of a place for the examples of its op's
// case, or compares them, bit by bit, with those of another build or machine,
// e.g. a GPU with its emulation:
//
//   sluice_kernel_outputs --write FOLDER            one file an op
//   sluice_kernel_outputs --compare FOLDER --ops relu,softmax
//   sluice_kernel_outputs --ops relu                runs it, and no more
//   sluice_kernel_outputs --largest                 one example a kernel
//   sluice_kernel_outputs --list
//
// Prints one line of JSON for each op. The exit status is 1 when a kernel
// raised an error, gave another shape or dtype, or differs by more than the
// tolerance of the dtype.
#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <set>
#include <stdexcept>

#include "tests/operators/harness/harness.h"
#include "tests/operators/outputs/compare_bits.h"
#include <CLI/CLI.hpp>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "sluice/framework/op/op_schema.h"
#include "sluice/laboratory/tuning/reference.h"

namespace sluice::testing {
namespace {

using Json = nlohmann::ordered_json;

struct Options {
  std::vector<std::string> ops;
  std::string place = "cuda";
  std::string write;
  std::string compare;
  bool list = false;
  bool largest = false;
};

std::vector<const KernelDef*> KernelsAt(const std::string& op,
                                        const std::string& place) {
  std::vector<const KernelDef*> kernels;
  for (const KernelDef* kernel : KernelsOf(op)) {
    if (ToString(kernel->key.place) == place) kernels.push_back(kernel);
  }
  return kernels;
}

std::string FileOf(const std::string& folder, const std::string& op) {
  return (std::filesystem::path(folder) / (op + ".cbor")).string();
}

Json ToJson(const Tensor& tensor) {
  const auto* bytes = static_cast<const uint8_t*>(tensor.raw_data());
  std::vector<int64_t> dims;
  for (int axis = 0; axis < tensor.dims().rank(); ++axis) {
    dims.push_back(tensor.dims()[axis]);
  }
  return {{"dtype", static_cast<int>(tensor.dtype())},
          {"dims", dims},
          {"bytes", Json::binary({bytes, bytes + tensor.bytes()})}};
}

Tensor FromJson(const Json& json) {
  const auto& bytes = json.at("bytes").get_binary();
  Tensor tensor;
  tensor.Resize(DDim(json.at("dims").get<std::vector<int64_t>>()));
  const auto dtype = static_cast<DType>(json.at("dtype").get<int>());
  tensor.mutable_data(dtype, CPUPlace());
  if (tensor.bytes() != bytes.size()) {
    throw std::runtime_error(
        "the file is damaged: a tensor has other bytes "
        "than its dims and dtype say");
  }
  std::copy(bytes.begin(), bytes.end(),
            static_cast<uint8_t*>(tensor.raw_data()));
  return tensor;
}

size_t LargestOf(const std::vector<OpExample>& examples) {
  const auto bytes = [](const OpExample& example) {
    size_t sum = 0;
    for (const auto& [argument, tensor] : example.inputs) {
      sum += tensor.bytes();
    }
    return sum;
  };
  const auto largest = std::max_element(
      examples.begin(), examples.end(),
      [&](const auto& a, const auto& b) { return bytes(a) < bytes(b); });
  return static_cast<size_t>(largest - examples.begin());
}

// The outputs of one op's kernels, and the comparison with earlier outputs.
class OpOutputs {
 public:
  OpOutputs(std::string op, const Options& options)
      : op_(std::move(op)), options_(options) {
    if (!options.compare.empty()) ReadBefore();
  }

  // Runs all kernels with all examples; returns false on a fault.
  bool Run() {
    for (const KernelDef* kernel : KernelsAt(op_, options_.place)) {
      ++kernels_;
      const auto& examples = ExamplesOf(op_, kernel->key.dtype);
      for (size_t i = 0; i < examples.size(); ++i) {
        if (options_.largest && i != LargestOf(examples)) continue;
        RunExample(*kernel, examples[i], i);
      }
    }
    if (runs_ == 0) errors_.push_back("no kernel took any example");
    if (!options_.largest) {
      for (const auto& [name, unused] : before_.items()) {
        if (compared_.count(name) == 0) {
          errors_.push_back(name + ": was written down, and is not here");
        }
      }
    }
    if (!options_.write.empty()) Write();
    Print();
    return errors_.empty();
  }

 private:
  void ReadBefore() {
    const std::string path = FileOf(options_.compare, op_);
    std::ifstream file(path, std::ios::binary);
    if (!file) throw std::runtime_error(path + " cannot be read");
    const std::vector<uint8_t> bytes{std::istreambuf_iterator<char>(file), {}};
    before_ = Json::from_cbor(bytes);
  }

  void RunExample(const KernelDef& kernel, const OpExample& example, size_t i) {
    const std::string name = Format("{}#{}", ToString(kernel), i);
    try {
      RunOpOptions options{.hint = HintFor(kernel)};
      for (const auto& def : Registry::Global().Schema(op_).outputs()) {
        options.outputs.push_back(def.name);
      }
      const Outputs outputs =
          RunOp(op_, example.inputs, example.attributes, options);
      ++runs_;
      for (const auto& [argument, tensor] : outputs) {
        Take(name + "." + argument, tensor.CopyTo(CPUPlace()));
      }
    } catch (const Error& error) {
      // The kernel rejects these inputs.
      if (error.check_id() == "resolver.no_kernel") return;
      errors_.push_back(name + " with " + ToString(example) + ": " +
                        error.what());
      if (error.code() == ErrorCode::kDeviceLost) {
        Print();
        throw;
      }
    }
  }

  void Take(const std::string& name, const Tensor& tensor) {
    if (!options_.write.empty()) now_[name] = ToJson(tensor);
    if (options_.compare.empty()) return;
    if (!before_.contains(name)) {
      errors_.push_back(name + ": was not written down");
      return;
    }
    compared_.insert(name);
    const Tensor other = FromJson(before_[name]);
    const BitDifference difference = CompareBits(tensor, other);
    const double slack = 2 * OpCases().at(op_).slack;
    const double limit = NaiveBound(tensor.dtype(), slack).relative;
    if (!(difference.most_relative <= limit)) {
      errors_.push_back(Format(
          "{}: differs by {} of max(1, |x|) in {} of {} elements, allowed {}",
          name, difference.most_relative, difference.differing_elements,
          difference.elements, limit));
    }
    if (difference.most_ulps > all_.most_ulps) worst_ = name;
    all_.Add(difference);
  }

  void Write() const {
    std::filesystem::create_directories(options_.write);
    const std::string path = FileOf(options_.write, op_);
    const std::vector<uint8_t> bytes = Json::to_cbor(now_);
    std::ofstream file(path, std::ios::binary);
    file.write(reinterpret_cast<const char*>(bytes.data()),
               static_cast<std::streamsize>(bytes.size()));
    if (!file.flush()) throw std::runtime_error(path + " cannot be written");
  }

  void Print() const {
    Json line = {{"op", op_}, {"kernels", kernels_}, {"runs", runs_}};
    if (!options_.compare.empty()) {
      line["elements"] = all_.elements;
      line["differing_elements"] = all_.differing_elements;
      line["differing_bits"] = all_.differing_bits;
      line["most_ulps"] = all_.most_ulps;
      line["most_relative"] = all_.most_relative;
      if (!worst_.empty()) line["worst"] = worst_;
    }
    if (!errors_.empty()) line["errors"] = errors_;
    std::printf("%s\n", line.dump().c_str());
    std::fflush(stdout);
  }

  const std::string op_;
  const Options& options_;
  Json before_ = Json::object();
  Json now_ = Json::object();
  int kernels_ = 0;
  int runs_ = 0;
  BitDifference all_;
  std::string worst_;
  std::vector<std::string> errors_;
  std::set<std::string> compared_;
};

std::vector<std::string> OpsAt(const std::string& place) {
  std::vector<std::string> ops;
  for (const auto& [op, unused] : OpCases()) {
    if (Registry::Global().FindSchema(op) == nullptr) continue;
    if (!KernelsAt(op, place).empty()) ops.push_back(op);
  }
  return ops;
}

int Main(int argc, char** argv) {
  Options options;
  CLI::App app("Writes or compares the outputs of every kernel of a place");
  app.add_option("--ops", options.ops, "Only these")->delimiter(',');
  app.add_option("--place", options.place, "cpu, cuda or fpga")
      ->check(CLI::IsMember({"cpu", "cuda", "fpga"}))
      ->capture_default_str();
  auto* write = app.add_option("--write", options.write, "Folder to write to");
  app.add_option("--compare", options.compare, "Folder to compare with")
      ->excludes(write);
  app.add_flag("--largest", options.largest,
               "Only the example with the largest inputs of each kernel");
  app.add_flag("--list", options.list, "Print the ops that have such kernels");
  CLI11_PARSE(app, argc, argv);
  const std::vector<std::string> known = OpsAt(options.place);
  if (known.empty()) {
    std::fprintf(stderr, "no op has a kernel for %s here\n",
                 options.place.c_str());
    return 1;
  }
  if (options.list) {
    for (const std::string& op : known) {
      std::printf("%s\n", op.c_str());
    }
    return 0;
  }
  for (const std::string& op : options.ops) {
    if (std::find(known.begin(), known.end(), op) != known.end()) continue;
    std::fprintf(stderr,
                 "%s has no kernel for %s; --list prints those that do\n",
                 op.c_str(), options.place.c_str());
    return 1;
  }
  bool right = true;
  for (const std::string& op : options.ops.empty() ? known : options.ops) {
    right = OpOutputs(op, options).Run() && right;
  }
  return right ? 0 : 1;
}

}  // namespace
}  // namespace sluice::testing

int main(int argc, char** argv) {
  try {
    // The cases are in test files, whose tests do not run here.
    ::testing::InitGoogleTest();
    return sluice::testing::Main(argc, argv);
  } catch (const std::exception& error) {
    std::fprintf(stderr, "%s\n", error.what());
    return 1;
  }
}
