#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <set>
#include <string>

#include "sluice/platform/device_plugin.h"
#include "sluice/platform/fpga_stub/device_memory.h"

namespace sluice::fpga_stub {

// The result of a piece of work.
struct Outcome {
  SluiceStatus status = SLUICE_OK;
  std::string text;
  int32_t op_index = -1;

  bool ok() const { return status == SLUICE_OK; }
};

// A position in a queue; shared by events and the waits for them.
struct Mark {
  struct Queue* queue = nullptr;
  bool reached = false;
  bool failed = false;
};

// A piece of work that runs when a caller waits.
struct Entry {
  int32_t op_index = -1;
  std::function<Outcome()> run;
  std::shared_ptr<Mark> mark;       // reached when this entry has ended
  const void* host_from = nullptr;  // host memory that it reads
  const void* host_to = nullptr;    // host memory that it writes
  size_t host_bytes = 0;            // of either
};

struct Queue {
  std::deque<Entry> entries;
  Outcome failure;  // not reported yet
};

struct Event {
  std::shared_ptr<Mark> mark;
};

// One simulated device. Queued work runs only when a caller waits, so that a
// missing wait shows every time and not only under load:
// - memory that is copied to the host is poison until the wait (unless the same
//   queue has yet to read it);
// - memory that is copied from the host is read at the wait; if it has changed
//   since the copy was enqueued, the wait reports it;
// - memory that was freed in between makes the wait fail.
// Thread-safe; queued work runs one piece at a time under the device's lock.
class Device {
 public:
  Device(int index, size_t memory_bytes);

  void* Allocate(size_t bytes);
  bool Free(void* address);
  size_t memory_limit();

  Queue* CreateQueue();
  void DestroyQueue(Queue* queue);

  // All of these only enqueue; a null queue is the device's own.
  void CopyToDevice(const SluiceCopy& copy);
  void CopyFromDevice(const SluiceCopy& copy);
  void CopyOnDevice(const SluiceCopy& copy);
  // Enqueues a kernel: `run` is called in queue order and finds its memory with
  // Memory(). `name` is for messages.
  void EnqueueKernel(SluiceQueue queue,
                     int32_t op_index,
                     std::string name,
                     std::function<Outcome()> run);
  void Record(Event* event, SluiceQueue queue);
  void WaitFor(SluiceQueue queue, const Event& event);

  // Runs all enqueued work; a null queue means every queue.
  Outcome Synchronise(SluiceQueue queue);

  // For queued work only: translates a device address, or returns null.
  char* Memory(const void* address, size_t bytes) const {
    return memory_.Find(address, bytes);
  }

  SluiceDeviceCounters counters();
  // memory_limit=BYTES, fail_kernel=K and fail_copy=K (the K-th from now on
  // fails, once; 0 for none). False for an unknown name or a bad value.
  bool SetOption(const std::string& name, const std::string& value);

 private:
  Queue* Resolve(SluiceQueue queue);
  void Enqueue(SluiceQueue queue, Entry entry);
  Outcome Run(Queue* queue, const Mark* until);
  Outcome RunAll(Queue* queue);
  Outcome RunWait(const std::shared_ptr<Mark>& mark);
  Outcome RunCopyToDevice(const SluiceCopy& copy, bool checked, uint64_t sum);
  Outcome RunCopyFromDevice(const SluiceCopy& copy);
  Outcome RunCopyOnDevice(const SluiceCopy& copy);
  Outcome Freed(const char* what, const void* address, size_t bytes) const;
  // Counts down; returns whether the injected fault occurs now.
  static bool Strikes(int64_t* countdown);

  const int index_;
  std::mutex mutex_;
  DeviceMemory memory_;
  size_t memory_limit_;
  Queue own_queue_;
  std::set<Queue*> queues_;
  SluiceDeviceCounters counters_{};
  int64_t fail_kernel_ = 0;
  int64_t fail_copy_ = 0;
};

}  // namespace sluice::fpga_stub
