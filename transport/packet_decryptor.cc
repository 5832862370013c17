// A run is cut where a segment is not genuine, or is of a handshake.
#include "transport/packet_decryptor.h"

#include <algorithm>
#include <cstring>

#include "base/check.h"
#include "transport/security/header_tags.h"
#include "transport/wire/packet.h"

namespace heddle::transport {
namespace {

uint32_t bytes_of(const RxRun& run, uint32_t index) {
  return index + 1 == run.segments ? run.last_segment_bytes : run.segment_bytes;
}

// Frames are lent for reading and, to this class, for decrypting in place.
std::byte* frame_of(const RxRun& run, uint32_t index) {
  const size_t step = run.payload_at == PayloadAt::kFrame ? run.step() : run.header_bytes;
  return const_cast<std::byte*>(run.frame) + index * step;
}

bool encrypted(const RxRun& run, uint32_t index) {
  return bytes_of(run, index) > 0 && clear_bytes(*frame_of(run, index)) != 0;
}

// What stands before the payload of a segment whose header has a tag.
constexpr uint32_t kTagged = kDataHeaderBytes + kTagBytes;

bool is_data(const RxRun& run, uint32_t index) {
  return encrypted(run, index) && type_of(*frame_of(run, index)) != PacketType::kControl;
}

// How a part of a run was checked.
enum class Checked : uint8_t {
  kNot,     // clear
  kOpened,  // and opened where it stands: the tag is behind it
  kHeader,  // only its headers: their tags are before the payload
};

// Segments [first, end) of a run.
RxRun part_of(const RxRun& run, uint32_t first, uint32_t end, Checked checked) {
  const bool opened = checked != Checked::kNot;
  const uint32_t tag = opened ? kTagBytes : 0;
  RxRun part = run;
  part.opened = opened;
  part.segments = end - first;
  part.last_segment_bytes = bytes_of(run, end - 1) - tag;
  part.segment_bytes = part.segments == 1 ? part.last_segment_bytes : run.segment_bytes - tag;
  part.frame = frame_of(run, first);
  part.frame_step = run.step();
  if (run.payload_at == PayloadAt::kFrame) {
    if (checked != Checked::kHeader) return part;
    part.frame += kTagBytes;  // each header moves up to its payload
    for (uint32_t i = first; i < end; ++i) {
      std::memmove(frame_of(run, i) + kTagBytes, frame_of(run, i), kDataHeaderBytes);
    }
    return part;
  }
  // Names: the headers move together, since what stood between them is gone.
  part.header_bytes -= tag;
  std::byte* to = frame_of(run, first);
  for (uint32_t i = first; i < end; ++i, to += part.header_bytes) {
    std::memmove(to, frame_of(run, i), part.header_bytes);
  }
  const uint32_t payload = run.segment_bytes - run.header_bytes;
  part.place.offset += uint64_t{first} * payload;
  part.place.length =
      uint64_t{part.segments - 1} * payload + part.last_segment_bytes - part.header_bytes;
  return part;
}

}  // namespace

void PacketDecryptor::pass(Nanos now, const RxRun& run) {
  const bool only_headers = endpoint_.protection() == Protection::kHeaders;
  CHECK(only_headers || run.payload_at != PayloadAt::kPlaced);
  if (run.trimmed) return endpoint_.handle_run(now, run);  // the tag is gone
  for (uint32_t i = 0; i < run.segments;) {
    uint32_t end = i + 1;
    const auto opens = [&](uint32_t at) {
      return encrypted(run, at) && !(only_headers && is_data(run, at));
    };
    if (only_headers && is_data(run, i)) {
      end = pass_burst(now, run, i);
    } else if (!encrypted(run, i) || run.payload_at == PayloadAt::kPlaced) {
      endpoint_.handle_run(now, part_of(run, i, end, Checked::kNot));
    } else if (open(now, run, i)) {
      while (end < run.segments && opens(end) && open(now, run, end)) ++end;
      endpoint_.handle_run(now, part_of(run, i, end, Checked::kOpened));
      // The segment that ended it was encrypted, and checked: it is not genuine.
      if (end < run.segments && opens(end)) ++end;
    }
    i = end;
  }
}

// The burst of data segments from `first` on, as long as it goes on; returns where it ends.
uint32_t PacketDecryptor::pass_burst(Nanos now, const RxRun& run, uint32_t first) {
  const std::byte* start = frame_of(run, first);
  const bool framed = run.payload_at == PayloadAt::kFrame;
  if (bytes_of(run, first) < kTagged || (!framed && run.header_bytes != kTagged)) {
    endpoint_.handle_run(now, part_of(run, first, first + 1, Checked::kNot));  // which drops it
    return first + 1;
  }
  HeaderTags::Burst burst;
  burst.stride = framed ? run.step() : run.header_bytes;
  burst.payload_bytes = run.segment_bytes - kTagged;
  const uint32_t most = std::min(run.segments - first, HeaderTags::kMostSegments);
  while (burst.segments < most && bytes_of(run, first + burst.segments) >= kTagged &&
         continues_burst(start, start + size_t{burst.segments} * burst.stride, burst.segments,
                         burst.payload_bytes)) {
    ++burst.segments;
  }
  Endpoint::BurstClaim claim =
      endpoint_.claim_burst(now, run.from, {start, kDataHeaderBytes}, burst.segments);
  if (claim.apart) {
    burst.segments = 1;
    claim = endpoint_.claim_burst(now, run.from, {start, kDataHeaderBytes}, burst.segments);
  }
  const uint32_t end = first + burst.segments;
  if (claim.tags == nullptr) return end;
  burst.last_payload_bytes = bytes_of(run, end - 1) - kTagged;
  const uint64_t genuine = claim.tags->check(burst, start);
  const auto is_genuine = [&](uint32_t at) { return (genuine >> (at - first) & 1) != 0; };
  bool noted = false;
  for (uint32_t i = first; i < end; ++i) {
    if (is_genuine(i) && noted) continue;
    endpoint_.note_decrypted(now, {frame_of(run, i), kDataHeaderBytes}, is_genuine(i));
    noted = noted || is_genuine(i);
  }
  for (uint32_t i = first; i < end; ++i) {
    uint32_t stop = i;
    while (stop < end && is_genuine(stop)) ++stop;
    if (stop > i) endpoint_.handle_run(now, part_of(run, i, stop, Checked::kHeader));
    i = stop;
  }
  return end;
}

bool PacketDecryptor::open(Nanos now, const RxRun& run, uint32_t index) {
  const bool named = run.payload_at == PayloadAt::kVirtual;
  const uint32_t bytes = bytes_of(run, index);
  const std::span<std::byte> segment(frame_of(run, index),
                                     named ? std::min(bytes, run.header_bytes) : bytes);
  PacketKey* key = endpoint_.receive_key(now, run.from, segment);
  if (key == nullptr) return false;
  bool genuine = false;
  if (named) {
    const uint64_t at = uint64_t{index} * (run.segment_bytes - run.header_bytes);
    genuine = check_payload_name(*key, segment,
                                 {run.place.region, run.place.offset + at, bytes - segment.size()});
  } else {
    genuine = decrypt_segment(*key, segment);
  }
  endpoint_.note_decrypted(now, segment, genuine);
  return genuine;
}

}  // namespace heddle::transport
