// The oracle of received bytes; see memory_check.h.
#include "simulator/checks/memory_check.h"

#include <algorithm>
#include <cstring>
#include <iterator>

#include "base/check.h"
#include "simulator/params.h"

namespace heddle::simulator {

using transport::Payload;

MemoryCheck::MemoryCheck(SimDatapath& datapath) : datapath_(datapath) {
  datapath.set_write_observer(this);
}

MemoryCheck::~MemoryCheck() { datapath_.set_write_observer(nullptr); }

void MemoryCheck::post(const Payload& buffer) {
  Buffers& buffers = regions_[buffer.region];
  if (buffer.length == 0) return;  // an empty buffer cannot be wrong
  const auto next = buffers.lower_bound(buffer.offset);
  CHECK(next == buffers.end() || next->first >= buffer.offset + buffer.length);
  if (next != buffers.begin()) {
    const auto previous = std::prev(next);
    CHECK(previous->first + previous->second.length <= buffer.offset);
  }
  Buffer posted;
  posted.length = buffer.length;
  buffers.emplace(buffer.offset, std::move(posted));
  poison(buffer);
}

void MemoryCheck::complete(const Payload& buffer, uint64_t bytes, uint64_t pattern, uint64_t at) {
  CHECK(bytes <= buffer.length);
  if (buffer.length == 0) return;
  Buffer& done = find(buffer);
  CHECK(done.state == State::kPosted);
  done.state = State::kDone;
  done.bytes = bytes;
  done.pattern = pattern;
  done.at = at;
  verify(buffer, done, "wrong bytes at completion");
  bytes_verified_ += bytes;
}

void MemoryCheck::fail(const Payload& buffer) {
  if (buffer.length > 0) find(buffer).state = State::kFailed;
}

void MemoryCheck::release(const Payload& buffer) {
  if (buffer.length == 0) return;
  const Buffer& old = find(buffer);
  CHECK(old.state != State::kPosted);
  if (old.state == State::kDone) verify(buffer, old, "changed after completion");
  regions_[buffer.region].erase(buffer.offset);
}

void MemoryCheck::handle_write(const Payload& range, bool copied) {
  const auto watched = regions_.find(range.region);
  if (watched == regions_.end()) return;
  ++writes_seen_;
  Buffers& buffers = watched->second;
  auto next = buffers.upper_bound(range.offset);
  if (next != buffers.begin()) --next;
  uint64_t at = range.offset;
  const uint64_t end = range.offset + range.length;
  for (; next != buffers.end() && next->first < end; ++next) {
    const uint64_t first = std::max(at, next->first);
    const uint64_t last = std::min(end, next->first + next->second.length);
    if (first >= last) continue;
    if (first > at) break;
    if (next->second.state != State::kPosted) {
      report("written after it ended", {range.region, first, last - first});
    } else if (copied && !next->second.copied.add(first, last)) {
      report("copied twice", {range.region, first, last - first});
    }
    at = last;
  }
  if (at < end) report("written outside of every posted buffer", {range.region, at, end - at});
}

MemoryCheck::Buffer& MemoryCheck::find(const Payload& buffer) {
  Buffers& buffers = regions_[buffer.region];
  const auto found = buffers.find(buffer.offset);
  CHECK(found != buffers.end() && found->second.length == buffer.length);
  return found->second;
}

void MemoryCheck::verify(const Payload& buffer, const Buffer& expected, const char* when) {
  if (expected.bytes == 0) return;
  const Payload range{buffer.region, buffer.offset, expected.bytes};
  if (!holds(range, expected.pattern, expected.at)) report(when, range);
}

bool MemoryCheck::holds(const Payload& range, uint64_t pattern, uint64_t at) {
  if (!is_virtual(range.region)) {
    const std::byte* start = datapath_.regions().resolve(range);
    return datapath::pattern_mismatch(pattern, at, {start, range.length}) == range.length;
  }
  const VirtualMemory& memory = datapath_.network().virtual_memory();
  pieces_.clear();
  memory.read(range, pieces_);
  uint64_t expected = at;
  for (const Content& piece : pieces_) {
    if (piece.name == kUnknownBytes || memory.pattern(piece.name) != pattern) return false;
    if (piece.at != expected) return false;
    expected += piece.length;
  }
  return true;
}

void MemoryCheck::poison(const Payload& buffer) {
  if (is_virtual(buffer.region)) {
    datapath_.network().virtual_memory().write(buffer.region, buffer.offset,
                                               {kUnknownBytes, 0, buffer.length});
  } else {
    std::memset(datapath_.regions().resolve(buffer), 0xee, buffer.length);
  }
}

void MemoryCheck::report(const char* what, const Payload& where) {
  if (violations_.size() >= params::kViolationsKept) return;
  violations_.push_back(std::string(what) + ": region " + std::to_string(where.region) +
                        ", bytes " + std::to_string(where.offset) + " to " +
                        std::to_string(where.offset + where.length) + " at " +
                        std::to_string(datapath_.now().count) + " ns");
}

}  // namespace heddle::simulator
