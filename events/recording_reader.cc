// Reads headers, blocks and records, and validates each before use.
#include "events/recording_reader.h"

#include <algorithm>
#include <cstring>
#include <map>
#include <set>
#include <string_view>

#include "events/params.h"
#include "events/recording/layout.h"
#include "events/recording/source.h"

namespace heddle::events {

using recording::BlockHeader;
using recording::FileHeader;

namespace {

uint32_t bytes_of_type(std::string_view type) {
  if (type == "bool" || type == "u8") return 1;
  if (type == "u16") return 2;
  if (type == "u32") return 4;
  if (type == "text") return Text::kMost;
  return type == "u64" || type == "i64" || type == "nanos" ? 8 : 0;
}

// Returns the text up to `separator` and removes it from `text`.
std::string_view take(std::string_view& text, char separator) {
  const size_t at = text.find(separator);
  const std::string_view part = text.substr(0, at);
  text = at == std::string_view::npos ? std::string_view{} : text.substr(at + 1);
  return part;
}

template <typename Value>
Value load(const std::byte* at) {
  Value value;
  std::memcpy(&value, at, sizeof value);
  return value;
}

// Copies a field of the writer's size into this version's type.
template <typename Value>
void load_field(const std::byte* at, uint32_t bytes, Value& value) {
  if constexpr (std::is_same_v<Value, bool>) {
    value = at[0] != std::byte{0};
  } else if constexpr (!std::is_same_v<Value, Text>) {
    std::memcpy(&value, at, std::min<size_t>(bytes, sizeof value));
  } else {
    std::memcpy(value.bytes.data(), at, std::min<size_t>(bytes, sizeof value));
  }
}

template <size_t... kIndices>
AnyEvent event_of_kind(uint32_t kind, std::index_sequence<kIndices...>) {
  AnyEvent event;
  static_cast<void>(((kind == kIndices && (event.emplace<kIndices>(), true)) || ...));
  return event;
}

Unexpected no_recording(const std::string& name, const std::string& why) {
  return fail(ErrorCode::kInvalid, "cannot read the recording " + name, why,
              "give a file that `heddle record` made");
}

std::vector<std::pair<std::string, std::string>> read_identity(std::string_view text) {
  std::vector<std::pair<std::string, std::string>> identity;
  while (!text.empty()) {
    std::string_view line = take(text, '\n');
    const std::string_view name = take(line, '=');
    if (!name.empty()) identity.emplace_back(name, line);
  }
  return identity;
}

// The clock offset at the first and at the last block.
struct OffsetSpan {
  int64_t first = INT64_MAX;
  int64_t last = INT64_MIN;
  void add(int64_t base_ns, int64_t realtime_ns, RecordingFacts& facts) {
    const auto offset =
        static_cast<int64_t>(static_cast<uint64_t>(realtime_ns) - static_cast<uint64_t>(base_ns));
    if (base_ns < first) {
      facts.first_ns = base_ns;
      facts.first_offset_ns = offset;
    }
    if (base_ns > last) facts.last_offset_ns = offset;
    first = std::min(first, base_ns);
    last = std::max(last, base_ns);
  }
};

}  // namespace

Result<RecordingReader> RecordingReader::open(const std::string& path) {
  auto file = recording::open_file(path);
  if (!file) return fail(file.error());
  return from(std::move(*file), path);
}

Result<RecordingFacts> RecordingReader::facts_of(const std::string& path) {
  Result<RecordingReader> reader = open(path);
  if (!reader) return fail(reader.error());
  return reader->facts();
}

Result<RecordingReader> RecordingReader::over(const std::byte* start, size_t bytes,
                                              const std::string& name) {
  return from(recording::in_memory(start, bytes), name);
}

Result<RecordingReader> RecordingReader::from(std::shared_ptr<recording::Source> source,
                                              const std::string& name) {
  RecordingReader reader;
  reader.source_ = std::move(source);
  if (Result<void> header = reader.read_header(name); !header) return fail(header.error());
  reader.take_writers(reader.find_blocks());
  reader.dropped_at_first_ = reader.facts_.dropped_events;
  return reader;
}

void RecordingReader::refresh() {
  read_progress();
  take_writers(find_blocks());
  for (size_t i = 0; i < writers_.size() && begun_; ++i) queue(i);
}

uint64_t RecordingReader::missed_events() const {
  const uint64_t dropped =
      facts_.dropped_events - std::min(facts_.dropped_events, dropped_at_first_);
  return dropped - std::min(dropped, taken_of_dropped_);
}

Result<void> RecordingReader::read_header(const std::string& name) {
  alignas(FileHeader) std::array<std::byte, sizeof(FileHeader)> bytes{};
  if (source_->read(0, bytes.data(), bytes.size()) < bytes.size()) {
    return no_recording(name, "it is too short");
  }
  const auto& header = *reinterpret_cast<const FileHeader*>(bytes.data());
  if (header.magic != recording::kMagic)
    return no_recording(name, "its first bytes are not those of a heddle recording");
  if (header.version != recording::kVersion) {
    return fail(ErrorCode::kVersion, "cannot read the recording " + name,
                "it is of version " + std::to_string(header.version) + ", this heddle reads " +
                    std::to_string(recording::kVersion),
                header.version > recording::kVersion ? "upgrade this heddle"
                                                     : "record anew, or use the older heddle");
  }
  const uint64_t texts = uint64_t{header.schema_bytes} + header.identity_bytes;
  const bool sane = header.block_bytes >= params::reading::kLeastBlockBytes &&
                    header.block_bytes <= params::reading::kMostBlockBytes &&
                    header.block_bytes % 8 == 0 && header.header_bytes % 8 == 0 &&
                    header.header_bytes <= source_->size() &&
                    sizeof(FileHeader) + texts <= header.header_bytes;
  if (!sane) return no_recording(name, "its header makes no sense");
  std::string text(texts, '\0');
  source_->read(sizeof(FileHeader), reinterpret_cast<std::byte*>(text.data()), texts);
  const std::string_view both = text;
  if (!read_schema(both.substr(0, header.schema_bytes))) {
    return no_recording(name, "its schema makes no sense");
  }
  facts_.identity = read_identity(both.substr(header.schema_bytes));
  facts_.started_realtime_ns = header.started_realtime_ns;
  facts_.closed = header.closed.load() == 1;
  facts_.dropped_events = header.dropped_events.load();
  header_bytes_ = header.header_bytes;
  block_bytes_ = header.block_bytes;
  blocks_ = header.blocks;
  return {};
}

// What a writer changes in the file's header.
void RecordingReader::read_progress() {
  alignas(FileHeader) std::array<std::byte, sizeof(FileHeader)> bytes{};
  if (source_->read(0, bytes.data(), bytes.size()) < bytes.size()) return;
  const auto& header = *reinterpret_cast<const FileHeader*>(bytes.data());
  facts_.closed = header.closed.load() == 1;
  facts_.dropped_events = header.dropped_events.load();
}

bool RecordingReader::read_schema(std::string_view text) {
  while (!text.empty()) {
    std::string_view line = take(text, '\n');
    const std::string_view name = take(line, ' ');
    Kind kind;
    const auto known = std::find(kEventKindNames.begin(), kEventKindNames.end(), name);
    kind.known = static_cast<uint32_t>(known - kEventKindNames.begin());
    while (!line.empty()) {
      std::string_view field = take(line, ' ');
      take(field, ':');
      const uint32_t bytes = bytes_of_type(field);
      if (bytes == 0 || kind.field_count == kind.fields.size()) return false;
      kind.fields[kind.field_count++] = static_cast<uint8_t>(bytes);
      kind.bytes += bytes;
    }
    kinds_.push_back(kind);
  }
  return !kinds_.empty() && kinds_.size() < recording::kJump;
}

// Whether it differs from what was known of it.
bool RecordingReader::read_head(uint64_t block) {
  alignas(BlockHeader) std::array<std::byte, sizeof(BlockHeader)> bytes{};
  const uint64_t at = header_bytes_ + block * block_bytes_;
  if (block >= std::min<uint64_t>(blocks_, params::kMostBlocks) ||
      source_->read(at, bytes.data(), bytes.size()) < bytes.size()) {
    return false;
  }
  const auto& header = *reinterpret_cast<const BlockHeader*>(bytes.data());
  const uint32_t used = header.used.load(std::memory_order_acquire);
  const Head head{header.magic,       header.writer, header.sequence,     header.base_ns,
                  header.realtime_ns, used,          header.events.load()};
  if (block >= heads_.size() && head.magic != 0) heads_.resize(block + 1);
  if (block >= heads_.size() || heads_[block] == head) return false;
  heads_[block] = head;
  return true;
}

void RecordingReader::read_all_heads() {
  const uint64_t end = std::min(source_->size(), header_bytes_ + uint64_t{blocks_} * block_bytes_);
  for (uint64_t at = header_bytes_; at < end; at += block_bytes_) {
    // Skips holes in the file: most rings are never full.
    const uint64_t data = source_->next_data(at);
    if (data >= at + block_bytes_) {
      at += (data - at) / block_bytes_ * block_bytes_ - block_bytes_;
      continue;
    }
    read_head((at - header_bytes_) / block_bytes_);
  }
}

// Blocks that may have changed although they are not behind the newest one.
std::set<uint64_t> RecordingReader::unsettled(uint64_t newest) const {
  std::map<uint32_t, uint64_t> held;  // by writer, its newest block
  std::set<uint64_t> found;
  for (uint64_t block = 0; block < heads_.size(); ++block) {
    const Head& head = heads_[block];
    if (head.magic == 0) continue;
    uint64_t& of_writer = held.try_emplace(head.writer, block).first->second;
    if (head.sequence > heads_[of_writer].sequence) of_writer = block;
    // One that is begun, that was passed over since a writer held it, or that a copy of the file
    // does not have yet.
    const uint64_t turns = block <= newest ? newest - block : newest + blocks_ - block;
    const bool in_turn = head.sequence + turns == heads_[newest].sequence;
    const bool lasts = (head.writer & recording::kLasting) != 0;
    if (head.used == 0 || (!in_turn && !lasts)) found.insert(block);
  }
  for (const auto& [writer, block] : held) found.insert(block);
  return found;
}

// Writers take blocks in turn, so only few can have changed: the newest of each writer, and those
// behind the newest of all. In a full ring of 1,024 blocks the others are most of the work of
// following it.
void RecordingReader::read_heads() {
  if (heads_.empty() || ++refreshes_ % params::reading::kRefreshesToReadAll == 0) {
    return read_all_heads();
  }
  uint64_t newest = 0;
  for (uint64_t block = 1; block < heads_.size(); ++block) {
    if (heads_[block].magic == 0) continue;
    if (heads_[newest].magic == 0 || heads_[block].sequence > heads_[newest].sequence) {
      newest = block;
    }
  }
  const std::set<uint64_t> also = unsettled(newest);
  for (const uint64_t block : also) read_head(block);
  uint64_t at = newest;
  for (uint32_t tried = 0; tried < blocks_; ++tried) {
    at = at + 1 < blocks_ ? at + 1 : 0;
    const bool changed = read_head(at);
    if (changed || also.contains(at)) continue;
    const bool unused = at >= heads_.size() || heads_[at].magic == 0;
    if (unused && at != 0) {
      at = blocks_ - 1;  // where a disk is full the ring ends sooner
    } else if (unused || (heads_[at].writer & recording::kLasting) == 0) {
      return;
    }
  }
}

RecordingReader::Blocks RecordingReader::find_blocks() {
  const uint64_t size = source_->size();
  const uint64_t wanted = header_bytes_ + uint64_t{blocks_} * block_bytes_;
  Blocks by_writer;
  OffsetSpan offsets;
  facts_.blocks = facts_.blocks_damaged = 0;
  facts_.events = 0;
  read_heads();
  for (uint64_t block = 0; block < heads_.size(); ++block) {
    const Head& head = heads_[block];
    const uint64_t at = header_bytes_ + block * block_bytes_;
    if (head.magic == 0 || at + sizeof(BlockHeader) > size) continue;  // unused, or cut off
    const uint32_t writer = head.writer ^ recording::kLasting;
    const bool room =
        by_writer.size() < params::reading::kMostWriters || by_writer.contains(writer);
    if (head.magic != recording::kBlockMagic || !room ||
        head.used > block_bytes_ - sizeof(BlockHeader)) {
      ++facts_.blocks_damaged;
      continue;
    }
    const auto there =
        static_cast<uint32_t>(std::min<uint64_t>(head.used, size - at - sizeof(BlockHeader)));
    facts_.cut_short |= there < head.used;
    ++facts_.blocks;
    facts_.events += head.events;
    // Lasting events come first among equal times, because others depend on them.
    by_writer[writer].push_back({head.sequence, at, there, head.base_ns});
    offsets.add(head.base_ns, head.realtime_ns, facts_);
  }
  facts_.missing_bytes = wanted - std::min(wanted, size);
  facts_.cut_short |= facts_.missing_bytes > 0;
  for (auto& [writer, blocks] : by_writer) {
    std::sort(blocks.begin(), blocks.end(),
              [](const Block& a, const Block& b) { return a.sequence < b.sequence; });
  }
  facts_.kept_from_ns = kept_from(by_writer);
  return by_writer;
}

// The block that an idle writer holds stays while the ring turns over, and shows nothing of others.
int64_t RecordingReader::kept_from(const Blocks& by_writer) const {
  uint64_t newest = 0;
  uint64_t in_turn =
      0;  // blocks that writers take in turn: fewer than planned where a disk is full
  for (const auto& [key, blocks] : by_writer) {
    newest = std::max(newest, blocks.back().sequence);
    for (const Block& block : blocks) {
      in_turn = std::max(in_turn, (block.at - header_bytes_) / block_bytes_ + 1);
    }
  }
  int64_t from = INT64_MAX;
  for (const auto& [key, blocks] : by_writer) {
    if ((key & recording::kLasting) == 0) continue;  // a lasting one, by find_blocks()
    for (const Block& block : blocks) {
      if (block.used == 0 || newest - block.sequence >= in_turn) continue;  // or it begins now
      from = std::min(from, block.base_ns);
    }
  }
  return from == INT64_MAX ? 0 : from;
}

// Writers that are known go on, and new ones begin behind them.
void RecordingReader::take_writers(Blocks blocks) {
  for (Writer& writer : writers_) {
    go_on(writer, std::move(blocks[writer.key]));
    blocks.erase(writer.key);
  }
  for (auto& [key, of_writer] : blocks) {
    Writer& writer = writers_.emplace_back();
    writer.key = key;
    writer.id = key & ~recording::kLasting;
    writer.blocks = std::move(of_writer);
  }
  std::set<uint32_t> ids;
  for (const Writer& writer : writers_) ids.insert(writer.id);
  facts_.writers = static_cast<uint32_t>(ids.size());
}

// Of blocks that were there before, the events that were taken stay so.
void RecordingReader::go_on(Writer& writer, std::vector<Block> blocks) {
  size_t next = 0;
  for (const Block& before : writer.blocks) {
    while (next < blocks.size() && blocks[next].sequence < before.sequence) ++next;
    if (next < blocks.size() && blocks[next].sequence == before.sequence) {
      blocks[next].taken = before.taken;
      blocks[next].events = before.events;
    } else {
      taken_of_dropped_ += before.events;
    }
  }
  writer.blocks = std::move(blocks);
  writer.block = 0;
  writer.at = nullptr;
}

void RecordingReader::queue(size_t writer) {
  Writer& each = writers_[writer];
  if (!advance(each)) return;
  turns_.emplace(each.latest.count, writer);
}

bool RecordingReader::next(RecordedEvent& event) {
  if (!begun_) {
    begun_ = true;
    for (size_t i = 0; i < writers_.size(); ++i) queue(i);
  }
  if (turns_.empty()) return false;
  const size_t writer = turns_.top().second;
  turns_.pop();
  event.writer = writers_[writer].id;
  event.event = writers_[writer].event;
  queue(writer);
  return true;
}

// Finds the writer's next record of a known kind; false: there is none.
bool RecordingReader::advance(Writer& writer) {
  while (writer.block < writer.blocks.size()) {
    Block& block = writer.blocks[writer.block];
    if (writer.at == nullptr && block.taken == block.used) {  // all of it, before
      ++writer.block;
      continue;
    }
    if (writer.at == nullptr) load_block(writer);
    while (writer.at < writer.end) {
      bool found = false;
      const std::byte* const before = writer.at;
      if (!read_record(writer, writer.end, found)) {
        ++broken_;
        break;
      }
      if (static_cast<uint8_t>(before[0]) != recording::kJump) ++block.events;
      if (found) return true;
    }
    block.taken = block.used;
    writer.at = nullptr;
    ++writer.block;
  }
  writer.bytes = {};
  return false;
}

// If the writer has overwritten the block meanwhile, the block counts as empty. Its header is read
// after its records: of records that are overwritten while they are read it is another one.
void RecordingReader::load_block(Writer& writer) {
  const Block& block = writer.blocks[writer.block];
  const size_t wanted = block.used - block.taken;
  writer.bytes.resize(std::max(writer.bytes.size(), wanted));
  const size_t got =
      source_->read(block.at + sizeof(BlockHeader) + block.taken, writer.bytes.data(), wanted);
  alignas(BlockHeader) std::array<std::byte, sizeof(BlockHeader)> bytes{};
  source_->read(block.at, bytes.data(), bytes.size());
  const auto& header = *reinterpret_cast<const BlockHeader*>(bytes.data());
  const bool same = header.sequence == block.sequence && header.base_ns == block.base_ns;
  writer.at = writer.bytes.data();
  writer.end = same ? writer.at + got : writer.at;
  if (block.taken == 0) writer.latest = {block.base_ns};
  if (got < wanted) facts_.cut_short = true;
}

// False: invalid record, so the rest of the block is lost. `found`: the kind is known.
bool RecordingReader::read_record(Writer& writer, const std::byte* end, bool& found) {
  const auto left = static_cast<size_t>(end - writer.at);
  const auto kind = static_cast<uint8_t>(writer.at[0]);
  if (kind == recording::kJump) {
    if (left < recording::kJumpBytes) return false;
    writer.latest = {load<int64_t>(writer.at + 1)};
    writer.at += recording::kJumpBytes;
    return true;
  }
  if (kind >= kinds_.size()) return false;
  const Kind& layout = kinds_[kind];
  if (left < recording::kRecordStartBytes + layout.bytes) return false;
  const auto step = load<uint32_t>(writer.at + 1);
  if (__builtin_add_overflow(writer.latest.count, int64_t{step}, &writer.latest.count))
    return false;
  const std::byte* field = writer.at + recording::kRecordStartBytes;
  writer.at = field + layout.bytes;
  if (layout.known == kEventKindCount) {
    ++unknown_;
    return true;
  }
  writer.event = event_of_kind(layout.known, std::make_index_sequence<kEventKindCount>());
  std::visit(
      [&](auto& event) {
        event.time = writer.latest;
        uint32_t index = 0;
        fill_fields(event, [&](auto& value) {
          if (index == layout.field_count) return;
          load_field(field, layout.fields[index], value);
          field += layout.fields[index++];
        });
      },
      writer.event);
  found = true;
  return true;
}

}  // namespace heddle::events
