// RecordingReader: what a recording's file holds, in the order of time, as far as it is sound. It
// trusts nothing in the file. Events that this version does not know are counted; fields that the
// writer did not know are zero.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <queue>
#include <string>
#include <utility>
#include <vector>

#include "base/nanos.h"
#include "base/result.h"
#include "events/events.h"

namespace heddle::events {

namespace recording {
class Source;
}

struct RecordedEvent {
  uint32_t writer = 0;  // which endpoint of the process
  AnyEvent event;
};

// What is known without reading the events.
struct RecordingFacts {
  std::vector<std::pair<std::string, std::string>> identity;
  int64_t started_realtime_ns = 0;
  bool closed = false;          // else its process was killed, or still runs
  uint64_t dropped_events = 0;  // older than all that are there
  uint64_t events = 0;          // as the blocks claim
  uint32_t writers = 0;
  uint32_t blocks = 0;          // that hold something
  uint32_t blocks_damaged = 0;  // whose header makes no sense: left out
  bool cut_short = false;       // the file is shorter than it says
  uint64_t missing_bytes = 0;   // by so many
  int64_t first_ns = 0;  // the clock that events are stamped with, when the first block began
  // Of the clock that events are stamped with to CLOCK_REALTIME: the first and the last known.
  int64_t first_offset_ns = 0;
  int64_t last_offset_ns = 0;
};

class RecordingReader {
 public:
  // Errors: kUnavailable (no such file), kPermission, kInvalid (no recording), kVersion.
  static Result<RecordingReader> open(const std::string& path);
  // What it would tell without reading the events. Errors: those of open().
  static Result<RecordingFacts> facts_of(const std::string& path);
  // From bytes that outlive it.
  static Result<RecordingReader> over(const std::byte* start, size_t bytes,
                                      const std::string& name);

  const RecordingFacts& facts() const { return facts_; }

  // The next event of all writers; false at the end.
  bool next(RecordedEvent& event);

  // So far: records of kinds unknown here, and blocks whose records end in nonsense.
  uint64_t unknown_events() const { return unknown_; }
  uint64_t blocks_broken() const { return broken_; }
  // So far nothing is missing but what the ring's size dropped.
  bool sound() const { return facts_.blocks_damaged == 0 && broken_ == 0 && !facts_.cut_short; }

 private:
  // How the writer laid out one kind.
  struct Kind {
    uint32_t known = kEventKindCount;  // its place here
    uint32_t bytes = 0;
    uint32_t field_count = 0;
    std::array<uint8_t, 32> fields{};  // bytes of each
  };
  struct Block {
    uint64_t sequence = 0;
    uint64_t at = 0;    // in the source
    uint32_t used = 0;  // bytes of records that are there
    int64_t base_ns = 0;
  };
  struct Writer {
    uint32_t id = 0;
    std::vector<Block> blocks;
    size_t block = 0;
    std::vector<std::byte> bytes;  // of that block
    const std::byte* at = nullptr;
    const std::byte* end = nullptr;
    Nanos latest;
    AnyEvent event;  // the next one
  };

  RecordingReader() = default;
  static Result<RecordingReader> from(std::shared_ptr<recording::Source> source,
                                      const std::string& name);
  Result<void> read_header(const std::string& name);
  bool read_schema(std::string_view text);
  void find_blocks();
  void take_writers(std::map<uint32_t, std::vector<Block>>& by_writer);
  void load_block(Writer& writer);
  bool advance(Writer& writer);
  bool read_record(Writer& writer, const std::byte* end, bool& found);
  void queue(size_t writer);

  std::shared_ptr<recording::Source> source_;
  bool begun_ = false;
  RecordingFacts facts_;
  std::vector<Kind> kinds_;
  std::vector<Writer> writers_;
  using Turn = std::pair<int64_t, size_t>;  // when, and which writer
  std::priority_queue<Turn, std::vector<Turn>, std::greater<>> turns_;
  uint64_t unknown_ = 0;
  uint64_t broken_ = 0;
  uint32_t header_bytes_ = 0;
  uint32_t block_bytes_ = 0;
  uint32_t blocks_ = 0;
};

}  // namespace heddle::events
