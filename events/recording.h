// Recording: what a process observed, in a file that survives it. Each endpoint writes by a
// Recorder of its own, without locks and without system calls but one a block; the newest events
// are kept, and how many were dropped is counted. recording_reader.h reads it.
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

// How much is recorded; each level holds those before it.
enum class RecordLevel : uint8_t {
  kCounters,  // connections, communicators, marks, what was on the wire in each second
  kBins,      // calls, losses, what was on the wire in each 100 us
  kMessages,  // messages
  kSegments,  // every burst, acknowledgement and window
};
bool recorded_at(RecordLevel level, EventKind kind);
// By its name in the configuration; kMessages for a name that is none.
RecordLevel record_level(std::string_view name);
// How long the spans of wire_bin are.
Nanos wire_span(RecordLevel level);

struct RecordingOptions {
  std::string directory;  // made if it is missing, for its owner only
  Bytes most = mebibytes(64);
  RecordLevel level = RecordLevel::kMessages;
  // Above zero: it is written to the disk so often, and outlives a crash of the host but for what
  // was told since.
  Nanos durable;
  // Names and values without line breaks that tell what is recorded: "rank", "3".
  std::vector<std::pair<std::string, std::string>> identity;
  // The clock that events are stamped with; null: none (simulated time).
  Nanos (*clock)() = nullptr;
};

namespace recording {
class RoomAhead;
class Syncing;
}  // namespace recording
class Recorder;

class Recording : public std::enable_shared_from_this<Recording> {
 public:
  // Errors: kPermission, kExhausted (no room for a block), kInvalid (no directory, or it is not
  // this user's, or not on a disk where it is to be durable), kSystem.
  static Result<std::shared_ptr<Recording>> create(const RecordingOptions& options);
  // In good order: readers can tell.
  ~Recording();
  Recording(const Recording&) = delete;
  Recording& operator=(const Recording&) = delete;

  // It keeps the recording alive.
  std::unique_ptr<Recorder> add_writer();
  // For what is rare and no endpoint's: any thread may, and it takes a lock.
  void note(const AnyEvent& event);

  const std::string& path() const { return path_; }
  uint64_t dropped_events() const;
  // Times that all of it was written to the disk.
  uint64_t syncs() const;

 private:
  friend class Recorder;
  struct Block;

  Recording(const RecordingOptions& options, std::string path, int descriptor, std::byte* start,
            uint32_t blocks);
  void write_header(const RecordingOptions& options);
  // The next block that nobody writes; the oldest one's events are dropped.
  std::byte* next_block(uint32_t writer, Nanos base);
  // One that is kept from then on is among the quarter of all that may be.
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
  std::atomic<uint32_t> usable_;  // that the disk had room for, once it is known to have no more
  std::atomic<uint64_t> sequence_{0};
  std::atomic<uint32_t> writers_{0};
  std::atomic<uint32_t> lasting_{0};      // blocks that hold what lasts
  std::vector<std::atomic<bool>> taken_;  // by a writer, now
  std::vector<std::atomic<bool>> roomy_;  // the disk has room for it
  OwnMutex notes_mutex_;
  std::unique_ptr<Recorder> notes_;  // does not keep the recording alive
  std::unique_ptr<recording::Syncing> syncing_;
  std::unique_ptr<recording::RoomAhead> ahead_;  // none where time is simulated
};

// A sink that records. For one thread at a time; a Recording may have many.
class Recorder final : public EachSink<Recorder> {
 public:
  Recorder(std::shared_ptr<Recording> recording, uint32_t writer);
  ~Recorder() override;
  Recorder(const Recorder&) = delete;
  Recorder& operator=(const Recorder&) = delete;

  // What its level holds.
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

  // Without these nobody knows what the others are about, and they come first.
  static constexpr bool lasts(EventKind kind) {
    return kind == EventKind::kEndpointOpened || kind == EventKind::kConnectionOpened ||
           kind == EventKind::kNicOpened || kind == EventKind::kCommunicatorMade ||
           kind == EventKind::kCommunicatorLinked || kind == EventKind::kPathTraced;
  }

  // A record's length without a jump.
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

  // A block and how far it is written.
  struct Place {
    std::byte* block = nullptr;
    std::byte* at = nullptr;
    std::byte* end = nullptr;
    Nanos latest;
    uint32_t events = 0;
    uint32_t lost = 0;  // since there was no block; it is asked for again now and then
  };

  // Whether what lasts can still be put where nothing is overwritten.
  bool has_room_to_last(uint32_t bytes);

  // Where the record goes; a jump stands before it if its time is far. Null: nothing can be
  // written, and the event counts as dropped.
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
