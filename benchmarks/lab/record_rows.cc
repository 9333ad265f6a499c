#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <string>
#include <vector>

#include "benchmarks/lab/rows.h"
#include <unistd.h>

#include "sluice/framework/costs/machine.h"
#include "sluice/laboratory/records/record_file.h"
#include "sluice/laboratory/records/record_store.h"

namespace sluice::bench {
namespace {

constexpr int kSignatures = 2000;
// The number of CPU kernels of an op of the library.
constexpr int kKernels = 5;

std::string Signature(int number) {
  const std::string n = std::to_string(number % 40 + 1);
  const std::string c = std::to_string(number / 40 + 1);
  return "conv2d(Input: float32[" + n + ", " + c + ", 56, 56]/" +
         "NCHW@64, Filter: float32[64, " + c + ", 3, 3]/OIHW@64; " +
         "strides=[1, 1], paddings=[1, 1], dilations=[1, 1], groups=1)";
}

std::string Kernel(int number) {
  return "conv2d/variant" + std::to_string(number) + " (cpu float32 PLAIN)";
}

std::vector<Record> MakeRecords() {
  std::vector<Record> records;
  for (int signature = 0; signature < kSignatures; ++signature) {
    for (int kernel = 0; kernel < kKernels; ++kernel) {
      Record record;
      record.op = "conv2d";
      record.signature = Signature(signature);
      record.kernel = Kernel(kernel);
      record.kernel_version = "0123456789abcdef";
      record.machine = MachineId().text;
      record.best = record.median = record.low = record.high =
          1e-3 * (kernel + 1);
      record.rounds = 31;
      records.push_back(record);
    }
  }
  return records;
}

// Microseconds to find all kernels of a signature. The signatures take turns,
// so that caches help no more than in a large graph.
double LookupMicroseconds(const Options& options, const RecordStore& store) {
  std::vector<std::string> signatures;
  for (int i = 0; i < kSignatures; ++i) {
    signatures.push_back(Signature(i * 7919 % kSignatures));
  }
  std::vector<std::string> kernels;
  std::vector<RecordQuery> queries;
  for (int i = 0; i < kKernels; ++i) {
    kernels.push_back(Kernel(i));
  }
  for (const std::string& kernel : kernels) {
    queries.push_back({.signature = "",
                       .kernel = kernel,
                       .kernel_version = "0123456789abcdef"});
  }
  std::vector<FoundRecord> results(kKernels);
  int missed = 0;
  const double seconds = MedianSeconds(options.seconds, [&] {
    for (const std::string& signature : signatures) {
      const RecordText text = signature;
      for (RecordQuery& query : queries) {
        query.signature = text;
      }
      store.Find(queries, results);
      for (const FoundRecord& result : results) {
        missed += result.match == RecordMatch::kExact ? 0 : 1;
      }
    }
  });
  if (missed != 0) {
    std::fprintf(stderr, "%d records were not found\n", missed);
    std::exit(1);
  }
  return seconds / kSignatures * 1e6;
}

}  // namespace

void AddRecordRows(const Options& options, Report& report) {
  const std::string temporary = std::filesystem::temp_directory_path();
  std::string folder = temporary + "/sluice_lab_XXXXXX";
  if (mkdtemp(folder.data()) == nullptr) {
    report.LeaveOut("lab/lookup_us", "no folder can be made in " + temporary);
    return;
  }
  const std::string path = folder + "/records.jsonl";
  AppendToRecordFile(path, MakeRecords(), {});
  const RecordStore store({.system = {}, .user = path});
  static_cast<void>(store.size());  // reads the file
  report.Add({.id = "lab/lookup_us",
              .unit = "us",
              .value = LookupMicroseconds(options, store),
              .at_most = 1});
  const double load = MedianSeconds(options.seconds, [&path] {
    const RecordStore fresh({.system = {}, .user = path});
    static_cast<void>(fresh.size());
  });
  report.Add({.id = "lab/load_records_ms", .unit = "ms", .value = load * 1e3});
  std::remove(path.c_str());
  rmdir(folder.c_str());
}

}  // namespace sluice::bench
