// See message_pieces.h.
#include "recordings/capture/message_pieces.h"

#include <algorithm>

#include "recordings/params.h"

namespace heddle::recordings {

std::optional<AssembledMessage> MessagePieces::add(const MessagePacket& packet) {
  Piece piece{packet.number,
              packet.number,
              packet.begins,
              packet.ends,
              {1, packet.payload_bytes, packet.declared_bytes}};
  auto after =
      std::upper_bound(pieces_.begin(), pieces_.end(), piece.low,
                       [](uint64_t number, const Piece& each) { return number < each.low; });
  if (after != pieces_.begin() && !piece.begins) {
    const auto before = after - 1;
    if (before->high + 1 == piece.low && !before->ends) {
      piece.low = before->low;
      piece.begins = before->begins;
      piece.message.packets += before->message.packets;
      piece.message.bytes += before->message.bytes;
      piece.message.declared_bytes = before->message.declared_bytes;
      after = pieces_.erase(before);
    }
  }
  if (after != pieces_.end() && !piece.ends && piece.high + 1 == after->low && !after->begins) {
    piece.high = after->high;
    piece.ends = after->ends;
    piece.message.packets += after->message.packets;
    piece.message.bytes += after->message.bytes;
    after = pieces_.erase(after);
  }
  if (piece.begins && piece.ends) return piece.message;
  pieces_.insert(after, piece);
  if (pieces_.size() > params::capture::kMostPieces) drop_oldest();
  return std::nullopt;
}

void MessagePieces::drop_oldest() {
  // Pieces between which no message begins or ends are of one message.
  const bool same = !pieces_[0].ends && !pieces_[1].begins;
  if (!same) ++incomplete_;
  pieces_.erase(pieces_.begin());
}

void MessagePieces::flush() {
  while (pieces_.size() > 1) drop_oldest();
  incomplete_ += pieces_.size();
  pieces_.clear();
}

}  // namespace heddle::recordings
