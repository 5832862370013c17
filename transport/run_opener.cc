// A run is cut where a segment is not genuine, or is of a handshake.
#include "transport/run_opener.h"

#include <algorithm>
#include <cstring>

#include "base/check.h"
#include "transport/wire/packet.h"

namespace heddle::transport {
namespace {

uint32_t bytes_of(const RxRun& run, uint32_t index) {
  return index + 1 == run.segments ? run.last_segment_bytes : run.segment_bytes;
}

// Frames are lent for reading and, to whoever opens them, for that.
std::byte* frame_of(const RxRun& run, uint32_t index) {
  const size_t step = run.payload_at == PayloadAt::kFrame ? run.step() : run.header_bytes;
  return const_cast<std::byte*>(run.frame) + index * step;
}

bool sealed(const RxRun& run, uint32_t index) {
  return bytes_of(run, index) > 0 && clear_bytes(*frame_of(run, index)) != 0;
}

// Segments [first, end) of a run, opened or not.
RxRun part_of(const RxRun& run, uint32_t first, uint32_t end, bool opened) {
  const uint32_t tag = opened ? kTagBytes : 0;
  RxRun part = run;
  part.opened = opened;
  part.segments = end - first;
  part.last_segment_bytes = bytes_of(run, end - 1) - tag;
  part.segment_bytes = part.segments == 1 ? part.last_segment_bytes : run.segment_bytes - tag;
  part.frame = frame_of(run, first);
  part.frame_step = run.step();
  if (run.payload_at == PayloadAt::kFrame) return part;
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

void RunOpener::hand_over(Nanos now, const RxRun& run) {
  CHECK(run.payload_at != PayloadAt::kPlaced);
  if (run.trimmed) return endpoint_.handle_run(now, run);  // the tag is gone
  for (uint32_t i = 0; i < run.segments;) {
    uint32_t end = i + 1;
    if (!sealed(run, i)) {
      endpoint_.handle_run(now, part_of(run, i, end, false));
    } else if (open(now, run, i)) {
      while (end < run.segments && sealed(run, end) && open(now, run, end)) ++end;
      endpoint_.handle_run(now, part_of(run, i, end, true));
      // The one that ended it was sealed, and looked at: it is not genuine.
      if (end < run.segments && sealed(run, end)) ++end;
    }
    i = end;
  }
}

bool RunOpener::open(Nanos now, const RxRun& run, uint32_t index) {
  const bool named = run.payload_at == PayloadAt::kVirtual;
  const uint32_t bytes = bytes_of(run, index);
  const std::span<std::byte> segment(frame_of(run, index),
                                     named ? std::min(bytes, run.header_bytes) : bytes);
  SealKey* key = endpoint_.opener(now, run.from, segment);
  if (key == nullptr) return false;
  bool genuine = false;
  if (named) {
    const uint64_t at = uint64_t{index} * (run.segment_bytes - run.header_bytes);
    genuine = open_named(*key, segment,
                         {run.place.region, run.place.offset + at, bytes - segment.size()});
  } else {
    genuine = open_segment(*key, segment);
  }
  endpoint_.note_opened(now, segment, genuine);
  return genuine;
}

}  // namespace heddle::transport
