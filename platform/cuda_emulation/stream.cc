#include "sluice/platform/cuda_emulation/stream.h"

#include <algorithm>

#include "sluice/platform/cuda_emulation/device_memory.h"
#include "sluice/platform/cuda_emulation/memory_guard.h"

namespace sluice::cuda_emulation {

std::recursive_mutex& RuntimeLock() {
  static auto* mutex = new std::recursive_mutex;
  return *mutex;
}

Streams& AllStreams() {
  static auto* streams = new Streams;
  return *streams;
}

Streams::Streams() : default_(std::make_shared<Stream>()) {
  streams_.push_back(default_);
}

std::shared_ptr<Stream> Streams::Create(bool blocking) {
  auto stream = std::make_shared<Stream>();
  stream->blocking = blocking;
  streams_.push_back(stream);
  return stream;
}

void Streams::Destroy(Stream* stream) {
  // Events may still refer to the stream; waiting for them returns at once.
  stream->work.clear();
  stream->finished = stream->enqueued;
  std::erase_if(streams_,
                [&](const auto& each) { return each.get() == stream; });
}

Mark Streams::Last(const std::shared_ptr<Stream>& stream) const {
  return {stream, stream->enqueued};
}

void Streams::Enqueue(const std::shared_ptr<Stream>& stream, Work work) {
  work.after = std::move(stream->waits);
  stream->waits.clear();
  if (stream == default_) {
    for (const auto& other : streams_) {
      if (other->blocking && other != default_) {
        work.after.push_back(Last(other));
      }
    }
  } else if (stream->blocking) {
    work.after.push_back(Last(default_));
  }
  stream->work.push_back(std::move(work));
  ++stream->enqueued;
  if (GetOptions().streams == StreamMode::kEager) {
    RunUpTo(*stream, stream->enqueued);
  }
}

void Streams::RunUpTo(Stream& stream, uint64_t sequence) {
  while (stream.finished < sequence) {
    const Work work = std::move(stream.work.front());
    stream.work.pop_front();
    ++stream.finished;
    for (const Mark& mark : work.after) {
      RunUpTo(*mark.stream, mark.sequence);
    }
    if (!work.on_device) {
      work.run();
      continue;
    }
    const DeviceWork running(work.name);
    try {
      work.run();
    } catch (...) {
      Memory().CloseAll();
      throw;
    }
    Memory().CloseAll();
  }
}

void Streams::WaitFor(const Mark& mark) {
  if (GetOptions().streams == StreamMode::kOthers) {
    const auto others = streams_;
    for (const auto& other : others) {
      if (other != mark.stream) RunUpTo(*other, other->enqueued);
    }
  }
  RunUpTo(*mark.stream, mark.sequence);
}

void Streams::WaitForAll() {
  const auto all = streams_;
  for (const auto& stream : all) {
    RunUpTo(*stream, stream->enqueued);
  }
}

void Streams::Clear() {
  for (const auto& stream : streams_) {
    stream->work.clear();
    stream->waits.clear();
    stream->finished = stream->enqueued;
  }
}

}  // namespace sluice::cuda_emulation
