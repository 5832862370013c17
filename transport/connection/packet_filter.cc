// Packet numbers of received packets.
#include "transport/connection/packet_filter.h"

namespace heddle::transport {

using events::DropReason;

bool PacketFilter::is_duplicate(Nanos now, uint16_t path, uint64_t low, uint64_t high) {
  switch (parts_.acks.judge(path, low, high)) {
    case Novelty::kNew:
    case Novelty::kMixed:
      return false;
    case Novelty::kDuplicate:
      drop(now, DropReason::kDuplicate);
      break;
    case Novelty::kTooOld:
      drop(now, DropReason::kTooOld);
      break;
  }
  parts_.statistics.segments_duplicate += high - low + 1;
  if (!parts_.keys.active()) parts_.acks.note_duplicate(now, path);
  return true;
}

bool PacketFilter::is_impossible(Nanos now, const ConnectionHeader& header, uint64_t last) {
  if (header.path >= parts_.acks.paths() || header.number == 0 || header.number > INT64_MAX) {
    drop(now, DropReason::kBadField);
    return true;
  }
  if (parts_.acks.too_far(header.path, last)) {
    drop(now, DropReason::kTooFarAhead);
    return true;
  }
  return false;
}

bool PacketFilter::is_replay(Nanos now, const ConnectionHeader& header) {
  if ((header.flags & kFlagNumbered) != 0) {
    return is_duplicate(now, header.path, header.number, header.number);
  }
  if (parts_.keys.accept_unnumbered(header.number)) return false;
  drop(now, DropReason::kDuplicate);
  return true;
}

}  // namespace heddle::transport
