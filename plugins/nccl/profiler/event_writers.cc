// Opening and closing of the writers.
#include "plugins/nccl/profiler/event_writers.h"

#include <sched.h>

namespace heddle::nccl {

void EventWriters::open(events::Recording& recording) {
  for (Writer& writer : writers_) {
    while (writer.busy.exchange(true, std::memory_order_acquire)) sched_yield();
    writer.recorder = recording.add_writer();
    writer.busy.store(false, std::memory_order_release);
  }
}

void EventWriters::close() {
  for (Writer& writer : writers_) {
    while (writer.busy.exchange(true, std::memory_order_acquire)) sched_yield();
    writer.recorder.reset();
    writer.busy.store(false, std::memory_order_release);
  }
}

}  // namespace heddle::nccl
