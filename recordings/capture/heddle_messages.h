// HeddleMessages: segments of heddle's messages, put together by connection, channel and sequence,
// in whatever order and over whatever paths they came. The number of open messages has a bound.
#pragma once

#include <compare>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <map>
#include <optional>
#include <set>

#include "recordings/capture/coverage.h"

namespace heddle::recordings {

struct MessageName {
  uint64_t connection = 0;
  uint16_t channel = 0;
  uint32_t sequence = 0;
  auto operator<=>(const MessageName&) const = default;
};

struct MessageSegment {
  uint64_t offset = 0;
  uint64_t end = 0;
  uint64_t message_bytes = 0;
};

class HeddleMessages {
 public:
  static constexpr size_t kMostOpen = 16'384;
  static constexpr size_t kMostRemembered =
      16'384;  // complete ones, whose retransmissions may follow

  // The number of packets of the message, where this segment completes it.
  std::optional<uint64_t> add(const MessageName& name, const MessageSegment& segment);
  // Messages that lack segments, open ones included.
  uint64_t incomplete() const { return dropped_ + open_.size(); }

 private:
  struct Open {
    Coverage coverage;
    uint64_t packets = 0;
    uint64_t serial = 0;
  };
  void complete(std::map<MessageName, Open>::iterator open);
  void make_space();

  std::map<MessageName, Open> open_;
  std::map<uint64_t, MessageName> age_;  // open ones by their first segment
  std::set<MessageName> done_;
  std::deque<MessageName> done_order_;
  uint64_t serial_ = 0;
  uint64_t dropped_ = 0;
};

}  // namespace heddle::recordings
