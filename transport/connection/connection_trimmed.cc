// Packets that a switch had no room for and cut off behind their header: the receiver tells of each
// at once, so that the sender need not wait for a gap or a timeout. Who has the cluster key to seal
// packets believes no header alone.
#include "transport/connection/connection.h"

namespace heddle::transport {

using events::ConnectionState;
using events::DropReason;

// No notice is sent again: where one is lost, the gap is noticed as any other.
void Connection::handle_trimmed(Nanos now, const ConnectionHeader& header) {
  if (state_ == ConnectionState::kHandshaking || over()) {
    shared_.observer.drop(now, id_, DropReason::kClosed);
    return;
  }
  const bool numbered = header.type != PacketType::kControl || (header.flags & kFlagNumbered) != 0;
  if (!numbered) return;  // nobody waits for it
  if (impossible_number(now, header, header.number)) return;
  heard(now);
  if (acks_.judge(header.path, header.number, header.number) != Novelty::kNew) return;
  ++statistics_.segments_trimmed;
  if (reads_trims_ && trimmed_.size() < kMostTrims)
    trimmed_.push_back({header.path, header.number});
}

// As many as the space holds.
void Connection::write_trims(Writer& writer) {
  while (!trimmed_.empty() && writer.left() >= kTrimBytes) {
    write_trim(trimmed_.back(), writer);
    trimmed_.pop_back();
  }
}

bool Connection::handle_trim_frame(Nanos now, Reader& reader) {
  TrimFrame frame;
  if (!read_trim(reader, frame)) return false;
  if (!sender_.on_trimmed(now, frame.path, frame.number)) {
    end_by_protocol_error(now, "the peer reported as trimmed what was never sent to it");
  }
  return true;
}

}  // namespace heddle::transport
