#include <algorithm>
#include <atomic>
#include <exception>
#include <thread>

#include "tools/conformance.h"

#include "sluice/platform/error.h"

namespace sluice::conformance {
namespace {

constexpr size_t kBytes = 5000;

std::string CheckOrder(PluginDevice& device) {
  PluginDeviceContext context(device);
  Block block(device, kBytes);
  const auto first = Pattern(kBytes, 1);
  const auto second = Pattern(kBytes, 2);
  std::vector<char> between(kBytes);
  std::vector<char> after(kBytes);
  context.CopyFromHost(block.data(), first.data(), kBytes);
  context.CopyToHost(between.data(), block.data(), kBytes);
  context.CopyFromHost(block.data(), second.data(), kBytes);
  context.CopyToHost(after.data(), block.data(), kBytes);
  context.Wait();
  if (between != first) return "a read did not see the copy before it";
  if (after != second) return "a read did not see the latest copy";
  return "";
}

std::string CheckWaiting(PluginDevice& device) {
  PluginDeviceContext context(device);
  context.Wait();  // with no work queued
  Block block(device, kBytes);
  const auto sent = Pattern(kBytes, 3);
  context.CopyFromHost(block.data(), sent.data(), kBytes);
  context.Wait();
  context.Wait();
  device.Call("synchronise", [&](SluiceError* error) {
    return device.table().synchronise(device.index(), nullptr, error);
  });
  return ReadBack(context, block.data(), kBytes) == sent
             ? ""
             : "waiting again changed what was copied";
}

std::string CheckWholeDevice(PluginDevice& device) {
  PluginDeviceContext context(device);
  Block block(device, kBytes);
  const auto sent = Pattern(kBytes, 4);
  std::vector<char> got(kBytes);
  context.CopyFromHost(block.data(), sent.data(), kBytes);
  context.CopyToHost(got.data(), block.data(), kBytes);
  device.Call("synchronise", [&](SluiceError* error) {
    return device.table().synchronise(device.index(), nullptr, error);
  });
  return got == sent ? "" : "a null queue did not wait for all queues";
}

std::string CheckTwoQueues(PluginDevice& device) {
  PluginDeviceContext one(device);
  PluginDeviceContext two(device);
  if (one.queue() == two.queue()) return "create_queue gave one queue twice";
  Block a(device, kBytes);
  Block b(device, kBytes);
  const auto sent_a = Pattern(kBytes, 5);
  const auto sent_b = Pattern(kBytes, 6);
  one.CopyFromHost(a.data(), sent_a.data(), kBytes);
  two.CopyFromHost(b.data(), sent_b.data(), kBytes);
  two.Wait();
  one.Wait();
  if (ReadBack(two, a.data(), kBytes) != sent_a) return "queue 1 lost a copy";
  if (ReadBack(one, b.data(), kBytes) != sent_b) return "queue 2 lost a copy";
  return "";
}

// Round trips by several threads at once, each with its own queue.
std::string CheckThreads(PluginDevice& device) {
  constexpr int kThreads = 4;
  std::vector<std::string> wrong(kThreads);
  std::vector<std::thread> threads;
  for (int i = 0; i < kThreads; ++i) {
    threads.emplace_back([&device, &text = wrong[i], i] {
      try {
        PluginDeviceContext context(device);
        for (unsigned round = 0; round < 50; ++round) {
          Block block(device, kBytes);
          const auto sent = Pattern(kBytes, 100 * i + round);
          context.CopyFromHost(block.data(), sent.data(), kBytes);
          if (ReadBack(context, block.data(), kBytes) != sent) {
            text = Format("thread {} read what it did not write", i);
          }
        }
      } catch (const std::exception& error) {
        text = error.what();
      }
    });
  }
  for (std::thread& thread : threads) {
    thread.join();
  }
  const auto bad = std::find_if(wrong.begin(), wrong.end(),
                                [](auto& text) { return !text.empty(); });
  return bad == wrong.end() ? "" : *bad;
}

// An event of the plug-in with the lifetime of a scope.
class Event {
 public:
  explicit Event(PluginDevice& device) : device_(device) {
    device.Call("create_event", [&](SluiceError* error) {
      return device.table().create_event(device.index(), &event_, error);
    });
  }
  ~Event() {
    device_.Try([&](SluiceError*) {
      device_.table().destroy_event(device_.index(), event_);
      return SLUICE_OK;
    });
  }
  Event(const Event&) = delete;
  Event& operator=(const Event&) = delete;

  void Record(PluginDeviceContext& context) {
    device_.Call("record_event", [&](SluiceError* error) {
      return device_.table().record_event(device_.index(), event_,
                                          context.queue(), error);
    });
  }
  void HoldUp(PluginDeviceContext& context) {
    device_.Call("wait_event", [&](SluiceError* error) {
      return device_.table().wait_event(device_.index(), context.queue(),
                                        event_, error);
    });
  }

 private:
  PluginDevice& device_;
  SluiceEvent event_ = nullptr;
};

std::string CheckEventOrder(PluginDevice& device) {
  PluginDeviceContext writer(device);
  PluginDeviceContext reader(device);
  Block block(device, kBytes);
  Event event(device);
  for (unsigned round = 0; round < 20; ++round) {  // events are reused
    const auto sent = Pattern(kBytes, round);
    std::vector<char> got(kBytes);
    writer.CopyFromHost(block.data(), sent.data(), kBytes);
    event.Record(writer);
    event.HoldUp(reader);
    reader.CopyToHost(got.data(), block.data(), kBytes);
    reader.Wait();
    if (got != sent) return "work behind wait_event ran too early";
    writer.Wait();
  }
  return "";
}

}  // namespace

void CheckQueues(Report& report, PluginDevice& device) {
  report.Check("queues.keep_their_order", [&] { return CheckOrder(device); });
  report.Check("queues.can_be_waited_for_twice",
               [&] { return CheckWaiting(device); });
  report.Check("queues.null_means_all",
               [&] { return CheckWholeDevice(device); });
  report.Check("queues.serve_several_threads",
               [&] { return CheckThreads(device); });
  if (device.table().create_queue == nullptr) {
    report.Skip("queues.are_independent", "not offered");
    return;
  }
  report.Check("queues.are_independent",
               [&] { return CheckTwoQueues(device); });
}

void CheckEvents(Report& report, PluginDevice& device) {
  if (device.table().create_event == nullptr) {
    report.Skip("events.order_queues", "not offered");
    return;
  }
  report.Check("events.order_queues", [&] { return CheckEventOrder(device); });
}

}  // namespace sluice::conformance
