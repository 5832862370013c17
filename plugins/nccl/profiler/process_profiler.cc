// See process_profiler.h.
#include "plugins/nccl/profiler/process_profiler.h"

#include <unistd.h>

#include "base/config.h"
#include "base/per_process.h"
#include "engine/process_recording.h"

namespace heddle::nccl {
namespace {

// NCCL's pointer of a context: its place, and bits of the communicator's number by which another
// process recognizes the communicator.
constexpr uint64_t kPlaceBits = 12;
constexpr uint64_t kPlaceMask = (1u << kPlaceBits) - 1;

void* pointer_of(size_t place, uint64_t hash) {
  return reinterpret_cast<void*>(hash << kPlaceBits | (place + 1));  // NOLINT: no address
}

}  // namespace

ProfileLevel profile_level(const std::string& name) {
  if (name == "calls") return ProfileLevel::kCalls;
  return name == "all" ? ProfileLevel::kAll : ProfileLevel::kProxy;
}

Result<ProfilerSettings> configured_profiler() {
  const Result<Config> config = Config::load(config_keys(), ConfigSources::of_process());
  if (!config) return fail(config.error());
  ProfilerSettings settings;
  settings.recording.directory = config->text("record");
  settings.recording.most = mebibytes(static_cast<uint64_t>(config->integer("record_mebibytes")));
  settings.recording.durable = seconds(config->integer("record_durable_seconds"));
  settings.recording.level = events::record_level(config->text("record_level"));
  settings.recording.node = config->boolean("record_node");
  settings.recording.clock = &engine::recording_clock;
  settings.level = profile_level(config->text("nccl.profile"));
  return settings;
}

ProcessProfiler::ProcessProfiler() : writers_(&engine::recording_clock) {}

Result<void> ProcessProfiler::open_session(const ProfilerSettings& settings) {
  auto recording = engine::open_recording(settings.recording);
  if (!recording) return fail(recording.error());
  recording_ = std::move(*recording);
  writers_.open(*recording_);
  level_ = settings.level;
  pid_ = getpid();
  return {};
}

Result<void*> ProcessProfiler::begin_communicator(const ProfilerSettings& settings,
                                                  const CommunicatorFacts& facts) {
  if (settings.recording.directory.empty()) return nullptr;
  const OwnMutex::Lock lock = mutex_.lock();
  size_t place = 0;
  Context* context = nullptr;
  for (; place < kMostContexts; ++place) {
    context = contexts_[place].load(std::memory_order_relaxed);
    if (context == nullptr || !context->is_open()) break;
  }
  if (place == kMostContexts) return nullptr;
  if (open_ == 0) {
    if (Result<void> opened = open_session(settings); !opened) return fail(opened.error());
  }
  if (context == nullptr) {
    context = new Context(static_cast<uint16_t>(place), settings.pools);  // NOLINT: never freed
    contexts_[place].store(context, std::memory_order_release);
  }
  ++open_;
  context->open({.writers = &writers_,
                 .clock = &engine::recording_clock,
                 .level = level_.load(),
                 .calls = &calls_},
                facts);
  return pointer_of(place, facts.hash);
}

void ProcessProfiler::end_communicator(void* pointer) {
  const OwnMutex::Lock lock = mutex_.enter();
  if (!lock) return;
  Context* const context = context_of(pointer);
  if (context == nullptr) return;
  context->close();
  if (--open_ > 0) return;
  writers_.close();
  recording_.reset();
}

Context* ProcessProfiler::context_of(const void* pointer) {
  const auto bits = reinterpret_cast<uint64_t>(pointer);
  const uint64_t place = (bits & kPlaceMask) - 1;
  const uint64_t hash = bits >> kPlaceBits;
  constexpr uint64_t kHashMask = UINT64_MAX >> kPlaceBits;
  const auto fits = [hash](Context* context) {
    if (context == nullptr || !context->is_open()) return false;
    return hash == 0 || (context->hash() & kHashMask) == hash;
  };
  if (place >= kMostContexts) return nullptr;
  Context* const own = contexts_[place].load(std::memory_order_acquire);
  if (fits(own)) return own;
  if (hash == 0) return nullptr;
  for (const auto& each : contexts_) {
    Context* const other = each.load(std::memory_order_acquire);
    if (other == nullptr) break;  // places are used in order
    if (fits(other)) return other;
  }
  return nullptr;
}

Context* ProcessProfiler::context_of(Handle handle) {
  if (handle.context >= kMostContexts) return nullptr;
  return contexts_[handle.context].load(std::memory_order_acquire);
}

ProcessProfiler& process_profiler() {
  static constinit PerProcess<ProcessProfiler> profiler;
  return profiler.get();
}

}  // namespace heddle::nccl
