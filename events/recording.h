// Recording: the events of a process, in a file that outlives it. Each endpoint writes through its
// own Recorder, without locks and with one system call per block. The newest events are kept;
// dropped ones are counted. recording_reader.h reads the file.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/nanos.h"
#include "base/own_mutex.h"
#include "base/result.h"
#include "base/units.h"
#include "events/events.h"

namespace heddle::events {

// How much is recorded; each level includes the ones before it.
enum class RecordLevel : uint8_t {
  kCounters,  // connections, communicators, marks, wire traffic per second
  kBins,      // calls, losses, wire traffic per 100 us
  kMessages,  // messages
  kSegments,  // every burst, acknowledgement and window
};
bool recorded_at(RecordLevel level, EventKind kind);
// Parses the name in the configuration; kMessages for an unknown name.
RecordLevel record_level(std::string_view name);
// The span of wire_bin events.
Nanos wire_span(RecordLevel level);

struct RecordingOptions {
  std::string directory;  // created with mode 0700 if it does not exist
  Bytes most = mebibytes(64);
  RecordLevel level = RecordLevel::kMessages;
  // Above zero: the interval at which the file is written to disk. It survives a crash of the host,
  // except for events since the last write.
  Nanos durable;
  // Names and values that identify the recording, without line breaks: "rank", "3".
  std::vector<std::pair<std::string, std::string>> identity;
  // The clock of the events' time stamps; null: simulated time.
  Nanos (*clock)() = nullptr;
  // The machine is sampled beside the process; see engine/node_recording.h.
  bool node = false;
};

namespace recording {
class RoomAhead;
class Syncing;
}  // namespace recording
class Recorder;

class Recording : public std::enable_shared_from_this<Recording> {
 public:
  // Errors: kPermission, kExhausted (no space for a block), kInvalid (no directory, not owned by
  // this user, or durable but not on a disk), kSystem.
  static Result<std::shared_ptr<Recording>> create(const RecordingOptions& options);
  // Marks the recording as closed in the file.
  ~Recording();
  Recording(const Recording&) = delete;
  Recording& operator=(const Recording&) = delete;

  // The Recorder keeps the recording alive.
  std::unique_ptr<Recorder> add_writer();
  // For rare events that belong to no endpoint; thread-safe; takes a lock.
  void note(const AnyEvent& event);

  // Marks the recording as closed in the file while writers may still hold it, for a process that
  // ends with other threads running. Events after this are recorded as before.
  void mark_closed();

  // Keeps `companion` until the recording ends.
  void keep(std::shared_ptr<void> companion) { companion_ = std::move(companion); }

  const std::string& path() const { return path_; }
  uint64_t dropped_events() const;
  // Number of complete writes to disk.
  uint64_t syncs() const;

 private:
  friend class Recorder;
  struct Block;

  Recording(const RecordingOptions& options, std::string path, int descriptor, std::byte* start,
            uint32_t blocks);
  void write_header(const RecordingOptions& options);
  // The next block without a writer; drops the events of the oldest one.
  std::byte* next_block(uint32_t writer, Nanos base);
  // True if one more lasting block stays within the limit of a quarter of all blocks.
  bool may_keep_one_more();
  void count_dropped(uint64_t events);
  void give_back(const std::byte* block);
  bool make_room(uint32_t block);
  bool ready_blocks(uint32_t first, uint32_t count);
  std::byte* block_at(uint32_t block) const;

  const std::string path_;
  const RecordLevel level_;
  Nanos (*const clock_)();
  const int descriptor_;
  std::byte* const start_;
  const uint32_t blocks_;
  std::atomic<uint32_t> usable_;  // blocks that the disk has space for; lowered when it is full
  std::atomic<uint64_t> sequence_{0};
  std::atomic<uint32_t> writers_{0};
  std::atomic<uint32_t> lasting_{0};      // blocks of lasting events
  std::vector<std::atomic<bool>> taken_;  // in use by a writer
  std::vector<std::atomic<bool>> roomy_;  // disk space is allocated
  OwnMutex notes_mutex_;
  std::unique_ptr<Recorder> notes_;  // does not keep the recording alive
  std::unique_ptr<recording::Syncing> syncing_;
  std::unique_ptr<recording::RoomAhead> ahead_;  // null with simulated time
  std::shared_ptr<void> companion_;
};

// A sink that writes to a Recording, from one thread at a time. A Recording may have many.
class Recorder final : public EachSink<Recorder> {
 public:
  Recorder(std::shared_ptr<Recording> recording, uint32_t writer);
  ~Recorder() override;
  Recorder(const Recorder&) = delete;
  Recorder& operator=(const Recorder&) = delete;

  // The event kinds of the recording's level.
  KindSet wanted() const override { return wanted_; }

  template <typename Event>
  void on_any(const Event& event) {
    if (!wanted_.has(Event::kKind)) return;
    const bool lasting = lasts(Event::kKind) && has_room_to_last(bytes_of<Event>());
    Place& place = lasting ? lasting_ : newest_;
    std::byte* at = begin(place, event.time, bytes_of<Event>());
    if (at == nullptr) return;
    *at++ = static_cast<std::byte>(Event::kKind);
    put(at, static_cast<uint32_t>((event.time - place.latest).count));
    Event copy = event;
    fill_fields(copy, [&at](const auto& value) { put(at, value); });
    commit(place, event.time, at);
  }

  // Events that readers need to interpret all others; they occur early, so they are kept in blocks
  // that are never overwritten.
  static constexpr bool lasts(EventKind kind) {
    return kind == EventKind::kEndpointOpened || kind == EventKind::kConnectionOpened ||
           kind == EventKind::kNicOpened || kind == EventKind::kCommunicatorMade ||
           kind == EventKind::kCommunicatorLinked || kind == EventKind::kPathTraced;
  }

  // A record's length without a jump record.
  template <typename Event>
  static constexpr uint32_t bytes_of() {
    uint32_t bytes = 5;
    Event event{};
    fill_fields(event, [&bytes](const auto& value) { bytes += sizeof(value); });
    return bytes;
  }

 private:
  template <typename Value>
  static void put(std::byte*& at, const Value& value) {
    std::memcpy(at, &value, sizeof value);
    at += sizeof value;
  }

  // A block and the write position in it.
  struct Place {
    std::byte* block = nullptr;
    std::byte* at = nullptr;
    std::byte* end = nullptr;
    Nanos latest;
    uint32_t events = 0;
    uint32_t lost = 0;  // events dropped since no block was free; retried periodically
  };

  // True if a lasting event still fits into blocks that are never overwritten.
  bool has_room_to_last(uint32_t bytes);

  // The position of the record, after a jump record if the time difference is too large. Null: no
  // block is available, and the event counts as dropped.
  std::byte* begin(Place& place, Nanos time, uint32_t bytes) {
    const uint64_t step = static_cast<uint64_t>((time - place.latest).count);
    if (static_cast<size_t>(place.end - place.at) >= bytes && step <= UINT32_MAX) return place.at;
    return begin_apart(place, time, bytes);
  }
  std::byte* begin_apart(Place& place, Nanos time, uint32_t bytes);

  void commit(Place& place, Nanos time, std::byte* at) {
    place.at = at;
    place.latest = time;
    ++place.events;
    publish(place);
  }
  static void publish(const Place& place);

  const std::shared_ptr<Recording> recording_;
  const uint32_t writer_;
  KindSet wanted_;
  Place newest_;
  Place lasting_;
};

}  // namespace heddle::events
