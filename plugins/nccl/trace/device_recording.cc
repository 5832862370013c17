// See device_recording.h.
#include "plugins/nccl/trace/device_recording.h"

#include <new>

namespace heddle::nccl::trace {
namespace {

// A thread's writers, which give their blocks back when it ends. In a child of fork() they are its
// parent's.
class ThreadWriters {
 public:
  ThreadWriters() = default;
  ~ThreadWriters();
  ThreadWriters(const ThreadWriters&) = delete;
  ThreadWriters& operator=(const ThreadWriters&) = delete;

  events::Recorder* at(uint32_t index, events::Recording& recording) {
    if (guard_.in_child()) {
      forget();
      guard_ = ForkGuard();
    }
    Writer& writer = writers_[index];
    if (writer.recording != &recording) {
      writer.recorder = recording.add_writer();
      writer.recording = &recording;
    }
    return writer.recorder.get();
  }

 private:
  struct Writer {
    const events::Recording* recording = nullptr;  // kept alive by its recorder
    std::unique_ptr<events::Recorder> recorder;
  };

  void forget() {
    for (Writer& writer : writers_) {
      static_cast<void>(writer.recorder.release());
      writer.recording = nullptr;
    }
  }

  ForkGuard guard_;
  std::array<Writer, kMostDevices> writers_;
};

thread_local bool ended = false;  // the thread's writers: a destructor may still call NCCL

ThreadWriters::~ThreadWriters() {
  if (guard_.in_child()) forget();
  ended = true;
}

}  // namespace

events::Recorder* DeviceRecording::of_this_thread() {
  if (ended) return nullptr;
  thread_local ThreadWriters writers;
  try {
    return writers.at(index_, *recording_);
  } catch (const std::bad_alloc&) {
    return nullptr;
  }
}

}  // namespace heddle::nccl::trace
