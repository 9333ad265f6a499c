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

// How a piece of work ended.
struct Outcome {
  SluiceStatus status = SLUICE_OK;
  std::string text;
  int32_t op_index = -1;

  bool ok() const { return status == SLUICE_OK; }
};

// Where a queue got to; shared by the events and the waits for them.
struct Mark {
  struct Queue* queue = nullptr;
  bool reached = false;
  bool failed = false;
};

// A piece of work that runs when somebody waits.
struct Entry {
  int32_t op_index = -1;
  std::function<Outcome()> run;
  std::shared_ptr<Mark> mark;       // reached once this entry is over
  const void* host_from = nullptr;  // host memory that it will read
  const void* host_to = nullptr;    // host memory that it will write
  size_t host_bytes = 0;            // of either
};

struct Queue {
  std::deque<Entry> entries;
  Outcome failure;  // not reported yet
};

struct Event {
  std::shared_ptr<Mark> mark;
};

// One simulated device. Nothing in its queues runs before somebody waits, so
// that a missing wait shows every time and not only under load:
// - what is copied to the host is poison until the wait (unless the same queue
//   has yet to read that host memory);
// - what is copied from the host is read at the wait, and must then be what it
//   was when the copy was enqueued, or the wait reports who changed it;
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

  // All of them only enqueue; a null queue is the device's own.
  void CopyToDevice(const SluiceCopy& copy);
  void CopyFromDevice(const SluiceCopy& copy);
  void CopyOnDevice(const SluiceCopy& copy);
  // A kernel: `run` is called when it is its turn and finds its memory by
  // Memory(). `name` is for messages.
  void EnqueueKernel(SluiceQueue queue,
                     int32_t op_index,
                     std::string name,
                     std::function<Outcome()> run);
  void Record(Event* event, SluiceQueue queue);
  void WaitFor(SluiceQueue queue, const Event& event);

  // Runs what is enqueued; a null queue means every queue.
  Outcome Synchronise(SluiceQueue queue);

  // For queued work only: where the device finds its memory, or null.
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
  // True when the injected fault strikes.
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
