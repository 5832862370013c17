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
#include "recordings/params.h"

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
  bool is_known = true;  // false: `end` is the highest one that is possible
};

// A message that its segments cover.
struct CoveredMessage {
  uint64_t packets = 0;
  bool is_known = true;  // that all came, and how many
};

class HeddleMessages {
 public:
  static constexpr size_t kMostOpen = params::capture::kMostOpen;

  // The message, where this segment completes it.
  std::optional<CoveredMessage> add(const MessageName& name, const MessageSegment& segment);
  // Packets of the connection may have been in the capture, unread: what its messages lack may have
  // been there.
  void doubt(uint64_t connection) { doubted_.insert(connection); }
  // Messages that lack segments, open ones included: those that lack them in truth, and others.
  uint64_t incomplete() const { return dropped_ + open_.size() - not_known(); }
  uint64_t not_known() const;

 private:
  struct Open {
    Coverage coverage;
    uint64_t packets = 0;
    uint64_t serial = 0;
    bool is_known = true;
  };
  void complete(std::map<MessageName, Open>::iterator open);
  void make_space();

  std::map<MessageName, Open> open_;
  std::map<uint64_t, MessageName> age_;  // open ones by their first segment
  std::set<MessageName> done_;
  std::deque<MessageName> done_order_;
  uint64_t serial_ = 0;
  uint64_t dropped_ = 0;
  std::map<uint64_t, uint64_t> dropped_of_;  // by connection
  std::set<uint64_t> doubted_;
};

}  // namespace heddle::recordings
