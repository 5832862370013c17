// MessagePieces: puts the packets of a queue pair together to messages, by their packet numbers and
// by which of them begin and end one, in whatever order they were captured. Memory has a bound.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

namespace heddle::recordings {

// A packet of a message. FIRST begins, LAST ends, ONLY does both.
struct MessagePacket {
  uint64_t number = 0;
  bool begins = false;
  bool ends = false;
  uint64_t payload_bytes = 0;
  std::optional<uint64_t> declared_bytes;  // the DMA length in a RETH
};

struct AssembledMessage {
  uint64_t packets = 0;
  uint64_t bytes = 0;
  std::optional<uint64_t> declared_bytes;
};

class MessagePieces {
 public:
  // A packet that was not added before; the message that it completes.
  std::optional<AssembledMessage> add(const MessagePacket& packet);
  // Counts what is left as incomplete, and forgets it.
  void flush();
  uint64_t incomplete() const { return incomplete_; }

 private:
  struct Piece {
    uint64_t low = 0;
    uint64_t high = 0;
    bool begins = false;
    bool ends = false;
    AssembledMessage message;
  };
  void drop_oldest();

  std::vector<Piece> pieces_;  // in the order of numbers
  uint64_t incomplete_ = 0;
};

}  // namespace heddle::recordings
