// See recording_changes.h.
#include "events/recording_changes.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <utility>

#include "events/recording/layout.h"
#include "events/recording/source.h"
#include "events/recording_reader.h"

namespace heddle::events {

using recording::BlockHeader;
using recording::FileHeader;

Result<RecordingChanges> RecordingChanges::open(const std::string& path) {
  // So that what is not readable here is not sent.
  if (auto facts = RecordingReader::facts_of(path); !facts) return fail(facts.error());
  auto source = recording::open_file(path);
  if (!source) return fail(source.error());
  return over(std::move(*source));
}

RecordingChanges RecordingChanges::over(std::shared_ptr<recording::Source> source) {
  alignas(FileHeader) std::array<std::byte, sizeof(FileHeader)> bytes{};
  source->read(0, bytes.data(), bytes.size());
  const auto& header = *reinterpret_cast<const FileHeader*>(bytes.data());
  RecordingChanges made;
  made.source_ = std::move(source);
  made.header_bytes_ = header.header_bytes;
  made.block_bytes_ = header.block_bytes;
  const uint64_t room =
      made.source_->size() - std::min<uint64_t>(header.header_bytes, made.source_->size());
  made.blocks_ = std::min<uint64_t>(header.blocks, room / header.block_bytes);
  return made;
}

uint64_t RecordingChanges::bytes() const { return source_->size(); }

void RecordingChanges::look(const Take& take) {
  // Read before the blocks: what it counts as overwritten is no longer there.
  std::vector<std::byte> header(header_.empty() ? header_bytes_ : sizeof(FileHeader));
  header.resize(source_->read(0, header.data(), header.size()));
  for (uint64_t i = 0; i < blocks_; ++i) {
    const uint64_t at = header_bytes_ + i * block_bytes_;
    // A block that was taken is no hole: of a full ring these questions were half of a look's cost.
    const uint64_t data = taken_.contains(at) ? at : source_->next_data(at);
    if (data >= at + block_bytes_) {
      i += (data - at) / block_bytes_ - 1;  // a hole: never written
      continue;
    }
    look_at(at, take);
  }
  const bool same =
      header.size() <= header_.size() && std::equal(header.begin(), header.end(), header_.begin());
  if (same) return;
  take(0, header);
  header.resize(std::min(header.size(), sizeof(FileHeader)));
  header_ = std::move(header);
}

void RecordingChanges::look_at(uint64_t at, const Take& take) {
  alignas(BlockHeader) std::array<std::byte, sizeof(BlockHeader)> bytes{};
  if (source_->read(at, bytes.data(), bytes.size()) < bytes.size()) return;
  const auto& header = *reinterpret_cast<const BlockHeader*>(bytes.data());
  if (header.magic != recording::kBlockMagic) return;
  const uint32_t used = header.used.load(std::memory_order_acquire);
  if (used > block_bytes_ - sizeof(BlockHeader)) return;
  const auto before = taken_.find(at);
  const bool same = before != taken_.end() && header.sequence == before->second.sequence;
  const uint32_t from = same ? before->second.used : 0;
  if (same && used <= from) return;
  records_.resize(used - from);
  const uint64_t begin = at + sizeof(BlockHeader) + from;
  if (source_->read(begin, records_.data(), records_.size()) < records_.size()) return;
  // Overwritten while it was read: the next look takes it.
  alignas(BlockHeader) std::array<std::byte, sizeof(BlockHeader)> again{};
  source_->read(at, again.data(), again.size());
  if (reinterpret_cast<const BlockHeader*>(again.data())->sequence != header.sequence) return;
  take(begin, records_);
  take(at, bytes);
  taken_[at] = {header.sequence, used};
}

}  // namespace heddle::events
