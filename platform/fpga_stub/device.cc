#include "sluice/platform/fpga_stub/device.h"

#include <algorithm>
#include <charconv>
#include <cstdio>
#include <cstring>
#include <utility>

namespace sluice::fpga_stub {
namespace {

// FNV-1a over eight bytes at a time; it only has to detect a change.
uint64_t Checksum(const void* bytes, size_t count) {
  constexpr uint64_t kPrime = 0x100000001B3;
  const char* in = static_cast<const char*>(bytes);
  uint64_t sum = 0xCBF29CE484222325;
  while (count > 0) {
    const size_t piece = count < sizeof(uint64_t) ? count : sizeof(uint64_t);
    uint64_t word = 0;
    std::memcpy(&word, in, piece);
    sum = (sum ^ word) * kPrime;
    in += piece;
    count -= piece;
  }
  return sum;
}

bool Overlap(const void* a, const void* b, size_t a_bytes, size_t b_bytes) {
  const auto first = reinterpret_cast<uintptr_t>(a);
  const auto second = reinterpret_cast<uintptr_t>(b);
  return first < second + b_bytes && second < first + a_bytes;
}

// Returns whether a queue entry has this host memory as its `side`.
bool IsAwaited(const Queue& queue,
               const void* Entry::*side,
               const void* host,
               size_t bytes) {
  return std::any_of(
      queue.entries.begin(), queue.entries.end(), [&](const Entry& entry) {
        return Overlap(entry.*side, host, entry.host_bytes, bytes);
      });
}

}  // namespace

Device::Device(int index, size_t memory_bytes)
    : index_(index), memory_(memory_bytes), memory_limit_(memory_.capacity()) {
  counters_.struct_size = sizeof(counters_);
  queues_.insert(&own_queue_);
}

void* Device::Allocate(size_t bytes) {
  std::lock_guard<std::mutex> lock(mutex_);
  return memory_.Allocate(bytes, memory_limit_);
}

bool Device::Free(void* address) {
  std::lock_guard<std::mutex> lock(mutex_);
  return memory_.Free(address);
}

size_t Device::memory_limit() {
  std::lock_guard<std::mutex> lock(mutex_);
  return memory_limit_;
}

Queue* Device::CreateQueue() {
  auto queue = std::make_unique<Queue>();
  std::lock_guard<std::mutex> lock(mutex_);
  queues_.insert(queue.get());
  return queue.release();
}

void Device::DestroyQueue(Queue* queue) {
  std::lock_guard<std::mutex> lock(mutex_);
  if (queues_.erase(queue) > 0) delete queue;
}

Queue* Device::Resolve(SluiceQueue queue) {
  return queue == nullptr ? &own_queue_ : reinterpret_cast<Queue*>(queue);
}

void Device::Enqueue(SluiceQueue queue, Entry entry) {
  std::lock_guard<std::mutex> lock(mutex_);
  Resolve(queue)->entries.push_back(std::move(entry));
}

void Device::CopyToDevice(const SluiceCopy& copy) {
  std::lock_guard<std::mutex> lock(mutex_);
  Queue* queue = Resolve(copy.queue);
  // An earlier copy of this queue fills this host memory, so it may differ when
  // this copy runs.
  const bool checked =
      !IsAwaited(*queue, &Entry::host_to, copy.from, copy.bytes);
  const uint64_t sum = checked ? Checksum(copy.from, copy.bytes) : 0;
  Entry entry;
  entry.op_index = copy.op_index;
  entry.host_from = copy.from;
  entry.host_bytes = copy.bytes;
  entry.run = [this, copy, checked, sum] {
    return RunCopyToDevice(copy, checked, sum);
  };
  queue->entries.push_back(std::move(entry));
}

void Device::CopyFromDevice(const SluiceCopy& copy) {
  std::lock_guard<std::mutex> lock(mutex_);
  Queue* queue = Resolve(copy.queue);
  if (!IsAwaited(*queue, &Entry::host_from, copy.to, copy.bytes)) {
    FillWithPoison(copy.to, copy.bytes);
  }
  Entry entry;
  entry.op_index = copy.op_index;
  entry.host_to = copy.to;
  entry.host_bytes = copy.bytes;
  entry.run = [this, copy] { return RunCopyFromDevice(copy); };
  queue->entries.push_back(std::move(entry));
}

void Device::CopyOnDevice(const SluiceCopy& copy) {
  Entry entry;
  entry.op_index = copy.op_index;
  entry.run = [this, copy] { return RunCopyOnDevice(copy); };
  Enqueue(copy.queue, std::move(entry));
}

void Device::EnqueueKernel(SluiceQueue queue,
                           int32_t op_index,
                           std::string name,
                           std::function<Outcome()> run) {
  Entry entry;
  entry.op_index = op_index;
  entry.run = [this, name = std::move(name), run = std::move(run)]() {
    ++counters_.kernels;
    Outcome outcome;
    if (Strikes(&fail_kernel_)) {
      outcome = {SLUICE_INTERNAL, "the fault that was asked for"};
    } else {
      outcome = run();
    }
    if (!outcome.ok()) outcome.text = name + ": " + outcome.text;
    return outcome;
  };
  Enqueue(queue, std::move(entry));
}

void Device::Record(Event* event, SluiceQueue queue) {
  auto mark = std::make_shared<Mark>();
  mark->queue = Resolve(queue);
  Entry entry;
  entry.run = [] { return Outcome(); };
  entry.mark = mark;
  Enqueue(queue, std::move(entry));
  event->mark = std::move(mark);
}

void Device::WaitFor(SluiceQueue queue, const Event& event) {
  if (event.mark == nullptr) return;  // never recorded
  Entry entry;
  entry.run = [this, mark = event.mark] { return RunWait(mark); };
  Enqueue(queue, std::move(entry));
}

Outcome Device::RunWait(const std::shared_ptr<Mark>& mark) {
  if (!mark->reached && queues_.count(mark->queue) > 0) {
    const Outcome outcome = Run(mark->queue, mark.get());
    if (!outcome.ok()) mark->queue->failure = outcome;
  }
  if (!mark->failed) return {};
  return {SLUICE_FAILED_PRECONDITION, "the queue that it waits for has failed"};
}

Outcome Device::Run(Queue* queue, const Mark* until) {
  Outcome outcome;
  while (!queue->entries.empty() && (until == nullptr || !until->reached)) {
    Entry entry = std::move(queue->entries.front());
    queue->entries.pop_front();
    if (outcome.ok()) {
      outcome = entry.run();
      if (outcome.op_index < 0) outcome.op_index = entry.op_index;
    }
    if (entry.mark != nullptr) {
      entry.mark->reached = true;
      entry.mark->failed = !outcome.ok();
    }
    if (!outcome.ok()) until = nullptr;  // drop the rest
  }
  return outcome;
}

Outcome Device::RunAll(Queue* queue) {
  Outcome failure = std::exchange(queue->failure, {});
  const Outcome outcome = Run(queue, nullptr);
  return failure.ok() ? outcome : failure;
}

Outcome Device::Synchronise(SluiceQueue queue) {
  std::lock_guard<std::mutex> lock(mutex_);
  if (queue != nullptr) return RunAll(Resolve(queue));
  Outcome first;
  for (Queue* each : queues_) {
    const Outcome outcome = RunAll(each);
    if (first.ok()) first = outcome;
  }
  return first;
}

Outcome Device::Freed(const char* what,
                      const void* address,
                      size_t bytes) const {
  char text[160];
  std::snprintf(text, sizeof(text),
                "%s of %zu bytes at %p: no device memory of fpga:%d (freed "
                "before the queue was waited for?)",
                what, bytes, address, index_);
  return {SLUICE_INVALID_ARGUMENT, text};
}

bool Device::Strikes(int64_t* countdown) {
  return *countdown > 0 && --*countdown == 0;
}

Outcome Device::RunCopyToDevice(const SluiceCopy& copy,
                                bool checked,
                                uint64_t sum) {
  char* to = Memory(copy.to, copy.bytes);
  if (to == nullptr) return Freed("copy to device", copy.to, copy.bytes);
  if (Strikes(&fail_copy_)) {
    return {SLUICE_INTERNAL, "copy to device: the fault that was asked for"};
  }
  if (checked && Checksum(copy.from, copy.bytes) != sum) {
    char text[160];
    std::snprintf(text, sizeof(text),
                  "copy to device: the host changed the %zu bytes at %p before "
                  "it waited for the queue",
                  copy.bytes, copy.from);
    return {SLUICE_FAILED_PRECONDITION, text};
  }
  std::memcpy(to, copy.from, copy.bytes);
  ++counters_.copies_to_device;
  counters_.bytes_to_device += copy.bytes;
  return {};
}

Outcome Device::RunCopyFromDevice(const SluiceCopy& copy) {
  const char* from = Memory(copy.from, copy.bytes);
  if (from == nullptr) return Freed("copy from device", copy.from, copy.bytes);
  if (Strikes(&fail_copy_)) {
    return {SLUICE_INTERNAL, "copy from device: the fault that was asked for"};
  }
  std::memcpy(copy.to, from, copy.bytes);
  ++counters_.copies_from_device;
  counters_.bytes_from_device += copy.bytes;
  return {};
}

Outcome Device::RunCopyOnDevice(const SluiceCopy& copy) {
  char* to = Memory(copy.to, copy.bytes);
  if (to == nullptr) return Freed("copy on device", copy.to, copy.bytes);
  const char* from = Memory(copy.from, copy.bytes);
  if (from == nullptr) return Freed("copy on device", copy.from, copy.bytes);
  std::memcpy(to, from, copy.bytes);
  return {};
}

SluiceDeviceCounters Device::counters() {
  std::lock_guard<std::mutex> lock(mutex_);
  return counters_;
}

bool Device::SetOption(const std::string& name, const std::string& value) {
  int64_t number = 0;
  const char* end = value.data() + value.size();
  const auto parsed = std::from_chars(value.data(), end, number);
  if (parsed.ec != std::errc() || parsed.ptr != end || number < 0) return false;
  std::lock_guard<std::mutex> lock(mutex_);
  if (name == "memory_limit") {
    const auto limit = static_cast<size_t>(number);
    memory_limit_ = limit < memory_.capacity() ? limit : memory_.capacity();
  } else if (name == "fail_kernel") {
    fail_kernel_ = number;
  } else if (name == "fail_copy") {
    fail_copy_ = number;
  } else {
    return false;
  }
  return true;
}

}  // namespace sluice::fpga_stub
