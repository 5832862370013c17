// See trace.h.
#include "plugins/nccl/trace/trace.h"

#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <vector>

#include "base/hash.h"
#include "base/per_process.h"
#include "engine/node_recording.h"
#include "engine/process_recording.h"
#include "insight/expected.h"
#include "nccl/types.h"
#include "plugins/nccl/trace/next_function.h"
#include "plugins/nccl/trace/params.h"

namespace heddle::nccl::trace {
namespace {

using events::ElementType;
using events::Operation;

void complain(const Error& error) {
  std::fprintf(stderr, "heddle: %s; the program goes on without a recording\n",
               error.message().c_str());
}

// Types of one byte that heddle does not know (8-bit floats) count as bytes.
ElementType type_of(int type) {
  constexpr std::array kTypes = {ElementType::kInt8,    ElementType::kUint8, ElementType::kInt32,
                                 ElementType::kUint32,  ElementType::kInt64, ElementType::kUint64,
                                 ElementType::kHalf,    ElementType::kFloat, ElementType::kDouble,
                                 ElementType::kBfloat16};
  const auto index = static_cast<size_t>(type);
  return index < kTypes.size() ? kTypes[index] : ElementType::kUint8;
}

uint64_t number_of_process() {
  std::array<char, 256> host{};
  gethostname(host.data(), host.size() - 1);
  return std::max<uint64_t>(
      1, hash_text("devices of " + std::string(host.data()) + " " + std::to_string(getpid())));
}

struct Process {
  OwnMutex mutex;
  std::atomic<bool> looked{false};
  std::unique_ptr<Trace> trace;
};
constinit PerProcess<Process> process;

// Recordings of a process that ends are closed, although threads may go on.
struct AtExit {
  ~AtExit() {
    Process& own = process.get();
    if (own.looked.load(std::memory_order_acquire) && own.trace) own.trace->close();
  }
};
const AtExit at_exit;

}  // namespace

uint64_t number_of_ids(const void* ids, size_t bytes) {
  return std::max<uint64_t>(1, hash_text({static_cast<const char*>(ids), bytes}));
}

uint64_t number_of_child(uint64_t parent, uint32_t child, uint64_t common) {
  return std::max<uint64_t>(1, mix_bits(mix_bits(parent + child) + mix_bits(common + 1)));
}

Trace* process_trace() noexcept {
  Process& own = process.get();
  if (own.looked.load(std::memory_order_acquire)) return own.trace.get();
  try {
    const OwnMutex::Lock lock = own.mutex.enter();
    if (!lock || own.looked.load(std::memory_order_relaxed)) return own.trace.get();
    auto settings =
        read_settings([](const char* name) -> const char* { return std::getenv(name); });
    if (!settings) {
      complain(settings.error());
    } else if (!settings->recording.directory.empty()) {
      own.trace = std::make_unique<Trace>(std::move(*settings));
    }
  } catch (...) {
    own.trace.reset();
  }
  own.looked.store(true, std::memory_order_release);
  return own.trace.get();
}

Trace::Trace(Settings settings)
    : settings_(std::move(settings)), copies_number_(number_of_process()) {}

CallRecord Trace::begin(const DataCall& call, uint64_t group) noexcept {
  Communicator* const communicator = known(call.comm);
  if (communicator == nullptr) return {};
  const auto root = static_cast<uint32_t>(call.root);
  const bool message = call.operation == Operation::kSend || call.operation == Operation::kRecv;
  uint64_t number = 0;
  if (!message) {
    number = communicator->collectives.fetch_add(1) + 1;
  } else if (!call.one_sided) {
    number = communicator->next_message(call.operation == Operation::kRecv, root);
  }
  if (group != 0 && communicator->group.exchange(group) != group) {
    communicator->group_call = communicator->calls.fetch_add(1) + 1;
  }
  const CallRecord record = {communicator->device.load(), communicator->number.load(),
                             communicator->calls.fetch_add(1) + 1, call.operation};
  record.device->write(events::CallMade{engine::recording_clock(), record.communicator, record.call,
                                        number, call.operation, type_of(call.type), call.count,
                                        root, group != 0 ? communicator->group_call.load() : 0});
  return record;
}

void Trace::end(const CallRecord& record, bool ok) noexcept {
  if (record.device == nullptr) return;
  const Nanos now = engine::recording_clock();
  if (ok) {
    record.device->write(events::CallStarted{
        now, record.communicator, record.call, record.operation,
        insight::least_algorithm(record.operation), 0, 0, 0, params::kChunkBytes});
  }
  record.device->write(events::CallEnded{now, record.communicator, record.call, ok});
}

// A communicator with a rank and a recording.
Communicator* Trace::known(const void* comm) {
  Communicator* const communicator = communicators_.find(comm);
  if (communicator == nullptr) return nullptr;
  if (communicator->size.load(std::memory_order_acquire) == 0) {
    const auto count = other_function<"ncclCommCount", int(const void*, int*)>();
    const auto user_rank = other_function<"ncclCommUserRank", int(const void*, int*)>();
    int size = 0;
    int rank = 0;
    if (count == nullptr || user_rank == nullptr || count(comm, &size) != 0 || size <= 0 ||
        user_rank(comm, &rank) != 0) {
      return nullptr;
    }
    communicator->rank = static_cast<uint32_t>(rank);
    communicator->size.store(static_cast<uint32_t>(size), std::memory_order_release);
    const DeviceRecording* const parent = communicator->device.load();
    place(*communicator, parent == nullptr ? kUnknownDevice : parent->device(), false);
  }
  return communicator->device.load() == nullptr ? nullptr : communicator;
}

void Trace::made(std::span<const Birth> births) noexcept {
  try {
    for (const Birth& birth : births) {
      if (*birth.handle == nullptr) continue;
      Communicator* const communicator = communicators_.add(*birth.handle, birth.number);
      if (communicator == nullptr) return;
      communicator->rank = birth.rank;
      communicator->size = birth.size;
      if (birth.size > 0) {
        place(*communicator, birth.device, births.size() > 1);
      } else if (birth.device >= 0 && static_cast<uint32_t>(birth.device) < kMostDevices) {
        communicator->device = by_device_[static_cast<size_t>(birth.device)].load();
      }
    }
  } catch (...) {
    failed_ = true;
  }
}

void Trace::made_all(void* const* handles, int count, const int* devices) noexcept {
  try {
    std::vector<Birth> births;
    const uint64_t number = number_of_child(copies_number_, made_all_.fetch_add(1) + 1, 0);
    for (int i = 0; i < count; ++i) {
      births.push_back({handles + i, number, static_cast<uint32_t>(i), static_cast<uint32_t>(count),
                        devices == nullptr ? i : devices[i]});
    }
    made(births);
  } catch (...) {
    return;
  }
}

void Trace::ended(const void* comm, bool failed) noexcept {
  Communicator* const communicator = communicators_.find(comm);
  if (communicator == nullptr) return;
  const uint64_t number = communicator->number;
  DeviceRecording* const device =
      communicator->size.load() == 0 ? nullptr : communicator->device.load();
  communicators_.remove(comm);
  if (device == nullptr) return;
  const OwnMutex::Lock lock = mutex_.enter();
  if (!lock) return;
  device->leave(number);
  device->note(events::CommunicatorEnded{engine::recording_clock(), number, failed});
}

void Trace::called(const LibraryCall& call) noexcept {
  try {
    const Communicator* const communicator = communicators_.find(call.comm);
    const Nanos now = engine::recording_clock();
    events::LibraryCall event;
    event.time = now;
    event.communicator = communicator == nullptr ? 0 : communicator->number.load();
    event.function = events::Text(call.function);
    event.bytes = call.bytes;
    event.status = call.status;
    event.took = now - call.began;
    DeviceRecording* device = communicator == nullptr ? nullptr : communicator->device.load();
    if (device == nullptr) device = first_.load(std::memory_order_acquire);
    if (device != nullptr) return device->write(event);
    const OwnMutex::Lock lock = mutex_.enter();
    if (!lock) return;
    device = first_.load(std::memory_order_relaxed);
    // A call that failed may be the last.
    const bool failed = call.status != kSuccess && call.status != kInProgress;
    const bool keep = failed || early_.size() == params::kMostEarly;
    if (device == nullptr && keep) device = add_recording(kUnknownDevice, 0, false);
    if (device != nullptr) return device->write(event);
    if (early_.size() < params::kMostEarly) early_.push_back(event);
  } catch (...) {
    return;
  }
}

CallRecord Trace::begin(const Copy& copy) noexcept {
  const auto most = static_cast<int>(kMostDevices);
  const bool between =
      copy.from != copy.to && copy.from >= 0 && copy.to >= 0 && copy.from < most && copy.to < most;
  DeviceRecording* const device = between ? device_of_copy(copy.from) : nullptr;
  if (device == nullptr) return {};
  const auto devices = static_cast<uint32_t>(std::max(copy.from, copy.to) + 1);
  if (copies_devices_.load(std::memory_order_acquire) < devices) widen_copies(devices);
  DeviceRecording::Copies& copies = device->copies();
  const CallRecord record = {device, copies_number_, copies.calls.fetch_add(1) + 1,
                             Operation::kSend};
  const uint64_t number = copies.to[static_cast<size_t>(copy.to)].fetch_add(1) + 1;
  device->write(events::CallMade{engine::recording_clock(), record.communicator, record.call,
                                 number, Operation::kSend, ElementType::kUint8, copy.bytes,
                                 static_cast<uint32_t>(copy.to), 0});
  return record;
}

void Trace::close() noexcept {
  const OwnMutex::Lock lock = mutex_.try_lock();
  if (!lock) return;
  for (const auto& each : devices_) each->recording().mark_closed();
}

void Trace::place(Communicator& communicator, int device, bool together) {
  const OwnMutex::Lock lock = mutex_.enter();
  if (!lock) return;
  DeviceRecording* found = recording_for(communicator.number, device);
  if (found == nullptr) {
    // The launcher's number is that of a process with one rank.
    const bool own_rank = together || !devices_.empty() || !engine::launched_rank();
    found = add_recording(device, communicator.rank, own_rank);
  }
  if (found == nullptr) return;
  found->join(communicator.number);
  found->note(events::CommunicatorMade{engine::recording_clock(), communicator.number,
                                       communicator.rank, communicator.size});
  communicator.device.store(found, std::memory_order_release);
}

// A recording that holds no other rank of this communicator, preferably the device's; else null.
DeviceRecording* Trace::recording_for(uint64_t communicator, int device) {
  for (const bool exactly : {true, false}) {
    for (const auto& each : devices_) {
      const bool unknown = device == kUnknownDevice || each->device() == kUnknownDevice;
      const bool fits = each->device() == device || (!exactly && unknown);
      if (fits && !each->has(communicator)) return each.get();
    }
  }
  return nullptr;
}

DeviceRecording* Trace::add_recording(int device, uint32_t rank, bool own_rank) {
  if (failed_ || devices_.size() == kMostDevices) return nullptr;
  events::RecordingOptions options = settings_.recording;
  options.identity.emplace_back("source", "libheddle-nccl-trace");
  if (own_rank) options.identity.emplace_back("rank", std::to_string(rank));
  if (device != kUnknownDevice) options.identity.emplace_back("device", std::to_string(device));
  auto recording = events::Recording::create(engine::with_process(std::move(options)));
  if (!recording) {
    failed_ = true;
    complain(recording.error());
    return nullptr;
  }
  const auto index = static_cast<uint32_t>(devices_.size());
  if (index == 0) {
    // Without it the calls are recorded all the same.
    const Result<void> sampled = engine::record_node_beside(**recording, settings_.recording);
    if (!sampled) complain(sampled.error());
  }
  devices_.push_back(std::make_unique<DeviceRecording>(index, device, std::move(*recording)));
  DeviceRecording* const added = devices_.back().get();
  if (device >= 0 && static_cast<uint32_t>(device) < kMostDevices) {
    DeviceRecording* none = nullptr;
    by_device_[static_cast<size_t>(device)].compare_exchange_strong(none, added);
  }
  join_copies(*added);
  if (index == 0) first_.store(added, std::memory_order_release);
  for (; !early_.empty(); early_.pop_front()) added->write(early_.front());
  return added;
}

void Trace::widen_copies(uint32_t devices) {
  const OwnMutex::Lock lock = mutex_.enter();
  if (!lock || copies_devices_.load(std::memory_order_relaxed) >= devices) return;
  copies_devices_.store(devices, std::memory_order_release);
  for (const auto& each : devices_) join_copies(*each);
}

// All devices that are recorded take part; else readers would report that they are missing.
void Trace::join_copies(DeviceRecording& device) {
  const uint32_t devices = copies_devices_.load(std::memory_order_relaxed);
  if (device.device() < 0 || static_cast<uint32_t>(device.device()) >= devices) return;
  device.note(events::CommunicatorMade{engine::recording_clock(), copies_number_,
                                       static_cast<uint32_t>(device.device()), devices});
}

DeviceRecording* Trace::device_of_copy(int device) {
  std::atomic<DeviceRecording*>& slot = by_device_[static_cast<size_t>(device)];
  DeviceRecording* found = slot.load(std::memory_order_acquire);
  if (found != nullptr) return found;
  try {
    const OwnMutex::Lock lock = mutex_.enter();
    if (!lock) return nullptr;
    found = slot.load(std::memory_order_relaxed);
    if (found != nullptr) return found;
    const bool own_rank = !devices_.empty() || !engine::launched_rank();
    return add_recording(device, static_cast<uint32_t>(device), own_rank);
  } catch (...) {
    return nullptr;
  }
}

}  // namespace heddle::nccl::trace
