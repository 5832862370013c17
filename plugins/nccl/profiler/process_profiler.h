// ProcessProfiler: the profiler of this process, whatever the version by which NCCL calls it. It
// opens the recording with the first communicator and closes it with the last, and finds the
// context of each event.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <memory>
#include <string>

#include "base/nanos.h"
#include "base/own_mutex.h"
#include "base/result.h"
#include "events/recording.h"
#include "plugins/nccl/params.h"
#include "plugins/nccl/profiler/begins.h"
#include "plugins/nccl/profiler/context.h"
#include "plugins/nccl/profiler/event_writers.h"

namespace heddle::nccl {

// What a profiler needs of the settings; tests make their own.
struct ProfilerSettings {
  events::RecordingOptions recording;  // no directory: nothing is recorded
  ProfileLevel level = ProfileLevel::kProxy;
  PoolSizes pools;
};

// "calls", "proxy" or "all"; kProxy for any other text.
ProfileLevel profile_level(const std::string& name);
// From HEDDLE_RECORD, HEDDLE_NCCL_PROFILE and their like. Errors: those of Config::load().
Result<ProfilerSettings> configured_profiler();

class ProcessProfiler {
 public:
  static constexpr size_t kMostContexts = params::profiler::kMostContexts;

  ProcessProfiler();
  ProcessProfiler(const ProcessProfiler&) = delete;
  ProcessProfiler& operator=(const ProcessProfiler&) = delete;

  // Not on a hot path: these take a lock and may allocate. Null: nothing is recorded of this
  // communicator (no directory, no place); an error: the recording cannot be made.
  Result<void*> begin_communicator(const ProfilerSettings& settings,
                                   const CommunicatorFacts& facts);
  void end_communicator(void* context);

  ProfileLevel level() const { return level_.load(std::memory_order_relaxed); }
  // The open context that init returned, or, for an event of another process of this host (PXN),
  // this process's context of the same communicator; null: there is none.
  Context* context_of(const void* pointer);
  Context* context_of(Handle handle);
  // The process whose events are its own.
  int pid() const { return pid_.load(std::memory_order_relaxed); }

 private:
  Result<void> open_session(const ProfilerSettings& settings);

  OwnMutex mutex_;
  uint32_t open_ = 0;  // communicators
  std::shared_ptr<events::Recording> recording_;
  EventWriters writers_;
  std::atomic<ProfileLevel> level_{ProfileLevel::kProxy};
  std::atomic<int> pid_{0};
  std::atomic<uint32_t> calls_{0};
  // Never freed: a late event may still name one.
  std::array<std::atomic<Context*>, kMostContexts> contexts_{};
};

// The process's own; a child of fork() gets a new one.
ProcessProfiler& process_profiler();

}  // namespace heddle::nccl
