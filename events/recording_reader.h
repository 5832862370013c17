// RecordingReader: the undamaged events of a recording's file in time order. It validates
// everything in the file. Events of kinds unknown to this version are counted; fields unknown to
// the writer are zero.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <queue>
#include <set>
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
  uint32_t writer = 0;  // number of the writer within the process
  AnyEvent event;
};

// Facts that need no read of the events.
struct RecordingFacts {
  std::vector<std::pair<std::string, std::string>> identity;
  int64_t started_realtime_ns = 0;
  bool closed = false;          // false: the process was killed or still runs
  uint64_t dropped_events = 0;  // overwritten by newer ones
  uint64_t events = 0;          // according to the block headers
  uint32_t writers = 0;
  uint32_t blocks = 0;          // blocks with events
  uint32_t blocks_damaged = 0;  // blocks with an invalid header, which are skipped
  bool cut_short = false;       // the file is shorter than its header says
  uint64_t missing_bytes = 0;   // by this many bytes
  int64_t first_ns = 0;         // time of the first block, on the clock of the time stamps
  int64_t kept_from_ns = 0;     // from here on nothing was overwritten, on the same clock
  // Offset from the clock of the time stamps to CLOCK_REALTIME, at the first and the last block.
  int64_t first_offset_ns = 0;
  int64_t last_offset_ns = 0;
};

class RecordingReader {
 public:
  // Errors: kUnavailable (no such file), kPermission, kInvalid (no recording), kVersion.
  static Result<RecordingReader> open(const std::string& path);
  // The facts without reading the events. Errors: those of open().
  static Result<RecordingFacts> facts_of(const std::string& path);
  // Reads from memory, which must outlive the reader.
  static Result<RecordingReader> over(const std::byte* start, size_t bytes,
                                      const std::string& name);

  const RecordingFacts& facts() const { return facts_; }

  // Takes the next event of all writers in time order; false at the end.
  bool next(RecordedEvent& event);

  // Of a file that is still written, after next() has returned false: takes up what was written
  // since, so that next() goes on. Events that the ring overwrote meanwhile are missed_events().
  void refresh();
  uint64_t missed_events() const;

  // Counts so far: records of unknown kinds, and blocks with an invalid record.
  uint64_t unknown_events() const { return unknown_; }
  uint64_t blocks_broken() const { return broken_; }
  // True if so far nothing is missing except events that the ring overwrote.
  bool sound() const { return facts_.blocks_damaged == 0 && broken_ == 0 && !facts_.cut_short; }

 private:
  // The writer's layout of one kind.
  struct Kind {
    uint32_t known = kEventKindCount;  // index in this version
    uint32_t bytes = 0;
    uint32_t field_count = 0;
    std::array<uint8_t, 32> fields{};  // size of each in bytes
  };
  struct Block {
    uint64_t sequence = 0;
    uint64_t at = 0;    // position in the source
    uint32_t used = 0;  // bytes of records that are present
    int64_t base_ns = 0;
    uint32_t taken = 0;   // bytes of these that were taken
    uint64_t events = 0;  // in these
  };
  // A block's header, as it was read last.
  struct Head {
    uint32_t magic = 0;  // 0: the block is unused
    uint32_t writer = 0;
    uint64_t sequence = 0;
    int64_t base_ns = 0;
    int64_t realtime_ns = 0;
    uint32_t used = 0;
    uint32_t events = 0;
    bool operator==(const Head&) const = default;
  };
  struct Writer {
    uint32_t key = 0;  // in block headers
    uint32_t id = 0;
    std::vector<Block> blocks;
    size_t block = 0;
    std::vector<std::byte> bytes;  // contents of that block
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
  using Blocks = std::map<uint32_t, std::vector<Block>>;  // by writer, in order of sequence
  int64_t kept_from(const Blocks& by_writer) const;
  void read_progress();
  Blocks find_blocks();
  void read_heads();
  void read_all_heads();
  bool read_head(uint64_t block);
  std::set<uint64_t> unsettled(uint64_t newest) const;
  void take_writers(Blocks blocks);
  void go_on(Writer& writer, std::vector<Block> blocks);
  void load_block(Writer& writer);
  bool advance(Writer& writer);
  bool read_record(Writer& writer, const std::byte* end, bool& found);
  void queue(size_t writer);

  std::shared_ptr<recording::Source> source_;
  bool begun_ = false;
  RecordingFacts facts_;
  std::vector<Kind> kinds_;
  std::vector<Writer> writers_;
  using Turn = std::pair<int64_t, size_t>;  // time and writer
  std::priority_queue<Turn, std::vector<Turn>, std::greater<>> turns_;
  uint64_t unknown_ = 0;
  uint64_t broken_ = 0;
  uint32_t header_bytes_ = 0;
  uint32_t block_bytes_ = 0;
  uint32_t blocks_ = 0;
  std::vector<Head> heads_;  // by block, up to the last one that is used
  uint32_t refreshes_ = 0;
  uint64_t dropped_at_first_ = 0;
  uint64_t taken_of_dropped_ = 0;  // events that were taken before they were overwritten
};

}  // namespace heddle::events
