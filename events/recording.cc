// The file of a recording, and the rotation of its blocks.
#include "events/recording.h"

#include <fcntl.h>
#include <fmt/core.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <span>

#include "events/params.h"
#include "events/recording/layout.h"
#include "events/recording/room_ahead.h"
#include "events/recording/syncing.h"
#include "events/recording_directory.h"

namespace heddle::events {

using recording::BlockHeader;
using recording::FileHeader;
using recording::kBlockBytes;
using recording::kHeaderBytes;

namespace {

// MADV_POPULATE_WRITE: glibc has it since 2.35, Linux since 5.14.
constexpr int kPopulateWrite = 23;

// The host name in the recording's identity, else this host's.
std::string host_of(const RecordingOptions& options) {
  for (const auto& [name, value] : options.identity) {
    if (name == "host" && !value.empty()) return value;
  }
  std::array<char, 256> host{};
  gethostname(host.data(), host.size() - 1);
  return host.data();
}

// Creates a file with a name that is not in use in the directory.
Result<int> new_file(const std::string& directory, std::string name, std::string& path) {
  std::replace(name.begin(), name.end(), '/', '_');
  for (int number = 0; number < 1000; ++number) {
    path = fmt::format("{}/{}.{}.{}.heddle", directory, name, getpid(), number);
    const int descriptor = open(path.c_str(), O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
    if (descriptor >= 0) return descriptor;
    if (errno != EEXIST) return cannot_record(directory, errno);
  }
  return cannot_record(directory, EEXIST);
}

// Allocates disk space; returns 0 or the error. Retries after signals.
int allocate(int descriptor, off_t from, off_t bytes) {
  int error = 0;
  do {
    error = posix_fallocate(descriptor, from, bytes);
  } while (error == EINTR);
  return error;
}

// Beyond RLIMIT_FSIZE the system would kill the process (SIGXFSZ).
uint64_t most_file_bytes() {
  rlimit limit{};
  getrlimit(RLIMIT_FSIZE, &limit);
  return limit.rlim_cur == RLIM_INFINITY ? UINT64_MAX : limit.rlim_cur;
}

int64_t realtime_now() {
  timespec time{};
  clock_gettime(CLOCK_REALTIME, &time);
  return (seconds(time.tv_sec) + nanos(time.tv_nsec)).count;
}

struct Moment {
  int64_t own_ns;
  int64_t realtime_ns;
};

// Reads both clocks as close together as possible; retries if the thread was interrupted in
// between.
template <typename Clock>
Moment moment_of(const Clock& clock) {
  Moment nearest{};
  int64_t least = INT64_MAX;
  for (int i = 0; i < params::writing::kClockTries && least > params::writing::kAtOnceNs; ++i) {
    const int64_t before = clock().count;
    const int64_t realtime = realtime_now();
    const int64_t span = clock().count - before;
    if (span >= least) continue;
    least = span;
    nearest = {before + span / 2, realtime};
  }
  return nearest;
}

std::string identity_text(const RecordingOptions& options) {
  std::string text;
  for (const auto& [name, value] : options.identity) text += name + "=" + value + "\n";
  return text;
}

}  // namespace

bool recorded_at(RecordLevel level, EventKind kind) {
  switch (kind) {
    case EventKind::kBurstSent:
    case EventKind::kAckReceived:
    case EventKind::kWindowChanged:
      return level >= RecordLevel::kSegments;
    case EventKind::kMessageCompleted:
    case EventKind::kSharedMessageCompleted:
      return level >= RecordLevel::kMessages;
    case EventKind::kCallMade:
    case EventKind::kCallStarted:
    case EventKind::kCallEnded:
    case EventKind::kWaitBegun:
    case EventKind::kWaitEnded:
    case EventKind::kBurstLost:
    case EventKind::kSegmentDropped:
    case EventKind::kStampsChecked:
      return level >= RecordLevel::kBins;
    default:
      return true;
  }
}

RecordLevel record_level(std::string_view name) {
  if (name == "counters") return RecordLevel::kCounters;
  if (name == "bins") return RecordLevel::kBins;
  return name == "segments" ? RecordLevel::kSegments : RecordLevel::kMessages;
}

Nanos wire_span(RecordLevel level) {
  return level == RecordLevel::kCounters ? seconds(1) : micros(100);
}

Result<std::shared_ptr<Recording>> Recording::create(const RecordingOptions& options) {
  if (Result<void> own = own_directory(options.directory); !own) return fail(own.error());
  std::string path;
  const Result<int> descriptor = new_file(options.directory, host_of(options), path);
  if (!descriptor) return fail(descriptor.error());
  const uint64_t least = kHeaderBytes + uint64_t{params::writing::kLeastBlocks} * kBlockBytes;
  if (most_file_bytes() < least) {
    close(*descriptor);
    unlink(path.c_str());
    return cannot_record(options.directory, EFBIG);
  }
  const uint64_t wanted =
      std::min(options.most.count, most_file_bytes() - kHeaderBytes) / kBlockBytes;
  const auto blocks = static_cast<uint32_t>(
      std::clamp<uint64_t>(wanted, params::writing::kLeastBlocks, params::kMostBlocks));
  const uint64_t bytes = kHeaderBytes + uint64_t{blocks} * kBlockBytes;
  // Space for the first block is allocated now, so that a full disk is an error and not a SIGBUS.
  int error = allocate(*descriptor, 0, kHeaderBytes + kBlockBytes);
  if (error == 0 && ftruncate(*descriptor, static_cast<off_t>(bytes)) != 0) error = errno;
  void* start = MAP_FAILED;
  if (error == 0) {
    start = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, *descriptor, 0);
    if (start == MAP_FAILED) error = errno;
  }
  if (error != 0) {
    close(*descriptor);
    unlink(path.c_str());
    return cannot_record(options.directory, error);
  }
  if (options.durable.count > 0) {
    if (auto found = recording::make_findable(*descriptor, options.directory); !found) {
      munmap(start, bytes);
      close(*descriptor);
      unlink(path.c_str());
      return fail(found.error());
    }
  }
  std::shared_ptr<Recording> made(
      new Recording(options, path, *descriptor, static_cast<std::byte*>(start), blocks));
  if (made->syncing_ != nullptr) {
    if (Result<void> started = made->syncing_->start(); !started) {
      unlink(path.c_str());
      return fail(started.error());
    }
  }
  return made;
}

Recording::Recording(const RecordingOptions& options, std::string path, int descriptor,
                     std::byte* start, uint32_t blocks)
    : path_(std::move(path)),
      level_(options.level),
      clock_(options.clock),
      descriptor_(descriptor),
      start_(start),
      blocks_(blocks),
      usable_(blocks),
      taken_(blocks),
      roomy_(blocks) {
  roomy_[0] = true;
  write_header(options);
  if (clock_ != nullptr) {
    ahead_ = std::make_unique<recording::RoomAhead>(
        blocks_, [this](uint32_t first, uint32_t count) { return ready_blocks(first, count); });
  }
  if (options.durable.count <= 0) return;
  const size_t bytes = kHeaderBytes + uint64_t{blocks_} * kBlockBytes;
  syncing_ = std::make_unique<recording::Syncing>(start_, bytes, options.durable);
}

void Recording::write_header(const RecordingOptions& options) {
  auto* header = new (start_) FileHeader{};
  std::string identity = identity_text(options);
  identity.resize(
      std::min(identity.size(), kHeaderBytes - sizeof(FileHeader) - kSchemaText.size()));
  header->version = recording::kVersion;
  header->header_bytes = kHeaderBytes;
  header->block_bytes = kBlockBytes;
  header->blocks = blocks_;
  header->schema_bytes = static_cast<uint32_t>(kSchemaText.size());
  header->identity_bytes = static_cast<uint32_t>(identity.size());
  header->started_realtime_ns = realtime_now();
  std::byte* texts = start_ + sizeof(FileHeader);
  std::memcpy(texts, kSchemaText.data(), kSchemaText.size());
  std::memcpy(texts + kSchemaText.size(), identity.data(), identity.size());
  std::atomic_thread_fence(std::memory_order_release);
  header->magic = recording::kMagic;  // marks the header as complete
}

void Recording::mark_closed() {
  reinterpret_cast<FileHeader*>(start_)->closed.store(1, std::memory_order_release);
}

Recording::~Recording() {
  notes_.reset();
  mark_closed();
  ahead_.reset();
  syncing_.reset();
  munmap(start_, kHeaderBytes + uint64_t{blocks_} * kBlockBytes);
  close(descriptor_);
}

std::unique_ptr<Recorder> Recording::add_writer() {
  return std::make_unique<Recorder>(shared_from_this(), writers_.fetch_add(1));
}

void Recording::note(const AnyEvent& event) {
  const OwnMutex::Lock lock = notes_mutex_.enter();
  if (!lock) return;
  if (!notes_) {
    const std::shared_ptr<Recording> not_kept(std::shared_ptr<void>(), this);
    notes_ = std::make_unique<Recorder>(not_kept, writers_.fetch_add(1));
  }
  std::visit([this](const auto& each) { notes_->on_any(each); }, event);
}

uint64_t Recording::dropped_events() const {
  return reinterpret_cast<const FileHeader*>(start_)->dropped_events.load();
}

uint64_t Recording::syncs() const { return syncing_ == nullptr ? 0 : syncing_->done(); }

std::byte* Recording::block_at(uint32_t block) const {
  return start_ + kHeaderBytes + uint64_t{block} * kBlockBytes;
}

// Allocates disk space before the block is written.
bool Recording::make_room(uint32_t block) {
  if (roomy_[block].load(std::memory_order_acquire)) return true;
  const auto from = static_cast<off_t>(kHeaderBytes + uint64_t{block} * kBlockBytes);
  const bool room = allocate(descriptor_, from, kBlockBytes) == 0;
  roomy_[block].store(room, std::memory_order_release);
  return room;
}

// The same for several blocks; also populates their pages, which would otherwise fault at first
// touch.
bool Recording::ready_blocks(uint32_t first, uint32_t count) {
  if (first + count > usable_.load()) return false;
  const uint64_t from = kHeaderBytes + uint64_t{first} * kBlockBytes;
  const uint64_t bytes = uint64_t{count} * kBlockBytes;
  const auto rooms = std::span(roomy_).subspan(first, count);
  const bool roomy =
      std::all_of(rooms.begin(), rooms.end(), [](const auto& room) { return room.load(); });
  // Does not use posix_fallocate as allocate() does: on file systems without support it reads and
  // rewrites data, which would race with the writers.
  if (!roomy &&
      fallocate(descriptor_, 0, static_cast<off_t>(from), static_cast<off_t>(bytes)) != 0) {
    return false;
  }
  for (std::atomic<bool>& room : rooms) room.store(true, std::memory_order_release);
  madvise(start_ + from, bytes, kPopulateWrite);  // no effect on kernels without it
  return true;
}

void Recording::give_back(const std::byte* block) {
  if (block == nullptr) return;
  taken_[static_cast<size_t>(block - block_at(0)) / kBlockBytes].store(false,
                                                                       std::memory_order_release);
}

bool Recording::may_keep_one_more() {
  if (lasting_.fetch_add(1) < usable_.load() / 4) return true;
  lasting_.fetch_sub(1);
  return false;
}

std::byte* Recording::next_block(uint32_t writer, Nanos base) {
  // At most one round: then all blocks belong to writers.
  for (uint32_t tried = 0; tried < blocks_; ++tried) {
    const uint64_t sequence = sequence_.fetch_add(1);
    if (ahead_ != nullptr) ahead_->reached(sequence);
    const auto block = static_cast<uint32_t>(sequence % usable_.load());
    if (taken_[block].exchange(true, std::memory_order_acquire)) continue;
    if (!make_room(block)) {
      taken_[block].store(false, std::memory_order_release);
      usable_.store(std::max(block, 1u));
      continue;
    }
    auto* header = reinterpret_cast<BlockHeader*>(block_at(block));
    if (header->magic == recording::kBlockMagic) count_dropped(header->events.load());
    header->used.store(0, std::memory_order_release);
    header->events.store(0, std::memory_order_release);
    header->writer = writer;
    header->sequence = sequence;
    const Moment now = clock_ != nullptr ? moment_of(clock_) : Moment{base.count, base.count};
    // Simulated time starts at the first event.
    if (clock_ == nullptr && sequence == 0) {
      reinterpret_cast<FileHeader*>(start_)->started_realtime_ns = base.count;
    }
    header->base_ns = now.own_ns;
    header->realtime_ns = now.realtime_ns;
    std::atomic_thread_fence(std::memory_order_release);
    header->magic = recording::kBlockMagic;
    return block_at(block);
  }
  return nullptr;
}

void Recording::count_dropped(uint64_t events) {
  reinterpret_cast<FileHeader*>(start_)->dropped_events += events;
}

Recorder::Recorder(std::shared_ptr<Recording> recording, uint32_t writer)
    : recording_(std::move(recording)), writer_(writer) {
  for (size_t kind = 0; kind < kEventKindCount; ++kind) {
    if (recorded_at(recording_->level_, static_cast<EventKind>(kind))) {
      wanted_.add(static_cast<EventKind>(kind));
    }
  }
}

Recorder::~Recorder() { recording_->give_back(newest_.block); }

bool Recorder::has_room_to_last(uint32_t bytes) {
  const auto left = static_cast<size_t>(lasting_.end - lasting_.at);
  return left >= bytes + recording::kJumpBytes || recording_->may_keep_one_more();
}

std::byte* Recorder::begin_apart(Place& place, Nanos time, uint32_t bytes) {
  if (static_cast<size_t>(place.end - place.at) < bytes + recording::kJumpBytes) {
    if (place.lost % params::writing::kAskedAgainAfter == 0) {
      const bool lasting = &place == &lasting_;
      if (!lasting) recording_->give_back(place.block);  // lasting blocks are never overwritten
      place.block = recording_->next_block(writer_ | (lasting ? recording::kLasting : 0), time);
      place.events = 0;
      place.at = place.end = nullptr;
    }
    if (place.block == nullptr) {
      ++place.lost;
      recording_->count_dropped(1);
      return nullptr;
    }
    place.lost = 0;
    place.at = place.block + sizeof(BlockHeader);
    place.end = place.block + kBlockBytes;
    place.latest = {reinterpret_cast<const BlockHeader*>(place.block)->base_ns};
  }
  const uint64_t step = static_cast<uint64_t>((time - place.latest).count);
  if (step > UINT32_MAX) {
    *place.at++ = static_cast<std::byte>(recording::kJump);
    put(place.at, time.count);
    place.latest = time;
  }
  return place.at;
}

void Recorder::publish(const Place& place) {
  auto* header = reinterpret_cast<BlockHeader*>(place.block);
  header->events.store(place.events, std::memory_order_relaxed);
  header->used.store(static_cast<uint32_t>(place.at - place.block - sizeof(BlockHeader)),
                     std::memory_order_release);
}

}  // namespace heddle::events
