#include <memory>

#include "sluice/platform/cuda_emulation/api.h"

using namespace sluice::cuda_emulation;  // NOLINT(google-build-using-namespace)

cudaError_t cudaStreamCreate(cudaStream_t* stream) {
  return cudaStreamCreateWithFlags(stream, cudaStreamDefault);
}

cudaError_t cudaStreamCreateWithFlags(cudaStream_t* stream, unsigned flags) {
  return Call([&] {
    if (GetOptions().devices == 0) return cudaErrorNoDevice;
    auto handle = std::make_unique<CUstream_st>();
    handle->stream = AllStreams().Create((flags & cudaStreamNonBlocking) == 0);
    *stream = handle.release();
    return cudaSuccess;
  });
}

// As in CUDA, enqueued work finishes first. The handle is freed even when there
// is a fault.
cudaError_t cudaStreamDestroy(cudaStream_t stream) {
  const cudaError_t error = cudaStreamSynchronize(stream);
  std::lock_guard<std::recursive_mutex> lock(RuntimeLock());
  const std::unique_ptr<CUstream_st> owned(stream);
  AllStreams().Destroy(owned->stream.get());
  return error;
}

cudaError_t cudaStreamSynchronize(cudaStream_t stream) {
  return Call([&] {
    AllStreams().WaitFor(AllStreams().Last(Resolve(stream)));
    return cudaSuccess;
  });
}

// Each call runs one piece of the stream's work.
cudaError_t cudaStreamQuery(cudaStream_t stream) {
  return Call([&] {
    const std::shared_ptr<Stream>& queue = Resolve(stream);
    if (queue->finished == queue->enqueued) return cudaSuccess;
    AllStreams().WaitFor({queue, queue->finished + 1});
    return cudaErrorNotReady;
  });
}

cudaError_t cudaStreamWaitEvent(cudaStream_t stream,
                                cudaEvent_t event,
                                unsigned /*flags*/) {
  return Call([&] {
    if (event->mark.stream != nullptr) {
      Resolve(stream)->waits.push_back(event->mark);
    }
    return cudaSuccess;
  });
}

cudaError_t cudaEventCreate(cudaEvent_t* event) {
  return cudaEventCreateWithFlags(event, cudaEventDefault);
}

cudaError_t cudaEventCreateWithFlags(cudaEvent_t* event, unsigned flags) {
  return Call([&] {
    if (GetOptions().devices == 0) return cudaErrorNoDevice;
    *event = new CUevent_st;
    (*event)->timed = (flags & cudaEventDisableTiming) == 0;
    return cudaSuccess;
  });
}

cudaError_t cudaEventDestroy(cudaEvent_t event) {
  std::lock_guard<std::recursive_mutex> lock(RuntimeLock());
  delete event;
  return Remember(CurrentFault());
}

cudaError_t cudaEventRecord(cudaEvent_t event, cudaStream_t stream) {
  return Call([&] {
    const std::shared_ptr<Stream>& queue = Resolve(stream);
    event->reached = std::make_shared<CUevent_st::Time>();
    const auto reach = [reached = event->reached] {
      *reached = std::chrono::steady_clock::now();
    };
    AllStreams().Enqueue(queue, {"event", reach, false, {}});
    event->mark = AllStreams().Last(queue);
    return cudaSuccess;
  });
}

cudaError_t cudaEventSynchronize(cudaEvent_t event) {
  return Call([&] {
    if (event->mark.stream != nullptr) AllStreams().WaitFor(event->mark);
    return cudaSuccess;
  });
}

cudaError_t cudaEventQuery(cudaEvent_t event) {
  return Call([&] {
    const Mark& mark = event->mark;
    if (mark.stream == nullptr || mark.stream->finished >= mark.sequence) {
      return cudaSuccess;
    }
    AllStreams().WaitFor({mark.stream, mark.stream->finished + 1});
    return cudaErrorNotReady;
  });
}

cudaError_t cudaEventElapsedTime(float* milliseconds,
                                 cudaEvent_t begin,
                                 cudaEvent_t end) {
  return Call([&] {
    for (const CUevent_st* event : {begin, end}) {
      const Mark& mark = event->mark;
      if (!event->timed || mark.stream == nullptr) {
        return cudaErrorInvalidResourceHandle;
      }
      if (mark.stream->finished < mark.sequence) return cudaErrorNotReady;
    }
    using Milliseconds = std::chrono::duration<float, std::milli>;
    *milliseconds = Milliseconds(*end->reached - *begin->reached).count();
    return cudaSuccess;
  });
}

cudaError_t cudaLaunchHostFunc(cudaStream_t stream,
                               cudaHostFn_t function,
                               void* argument) {
  return Call([&] {
    const auto run = [=] { function(argument); };
    AllStreams().Enqueue(Resolve(stream), {"host function", run, false, {}});
    return cudaSuccess;
  });
}
