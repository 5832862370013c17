// Packets in any order make the same messages.
#include "recordings/capture/message_pieces.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <vector>

namespace heddle::recordings {
namespace {

// `lengths` messages in a row, numbers from 1000.
std::vector<MessagePacket> packets_of(const std::vector<uint64_t>& lengths) {
  std::vector<MessagePacket> packets;
  uint64_t number = 1000;
  for (const uint64_t length : lengths) {
    for (uint64_t i = 0; i < length; ++i) {
      packets.push_back({number++, i == 0, i + 1 == length, 10, {}});
      if (i == 0) packets.back().declared_bytes = length * 10;
    }
  }
  return packets;
}

TEST(MessagePieces, AnyOrderMakesTheSameMessages) {
  std::mt19937_64 random(3);
  for (int round = 0; round < 500; ++round) {
    std::vector<MessagePacket> packets = packets_of({1, 5, 2, 1, 7, 3});
    std::shuffle(packets.begin(), packets.end(), random);
    MessagePieces pieces;
    std::vector<uint64_t> lengths;
    for (const MessagePacket& each : packets) {
      const auto message = pieces.add(each);
      if (!message) continue;
      EXPECT_EQ(message->bytes, message->packets * 10);
      EXPECT_EQ(message->declared_bytes, message->bytes);
      lengths.push_back(message->packets);
    }
    std::sort(lengths.begin(), lengths.end());
    EXPECT_EQ(lengths, (std::vector<uint64_t>{1, 1, 2, 3, 5, 7}));
    pieces.flush();
    EXPECT_EQ(pieces.incomplete(), 0u);
  }
}

TEST(MessagePieces, AMessageInPiecesIsIncompleteOnce) {
  MessagePieces pieces;
  const auto packets = packets_of({6, 6});
  for (const size_t at : {0, 2, 4, 5, 6, 8, 10}) pieces.add(packets[at]);
  pieces.flush();
  EXPECT_EQ(pieces.incomplete(), 2u);
}

TEST(MessagePieces, PiecesHaveABound) {
  MessagePieces pieces;
  for (uint64_t i = 0; i < 10'000; ++i) pieces.add({3 * i, true, false, 1, {}});
  pieces.flush();
  EXPECT_EQ(pieces.incomplete(), 10'000u);
}

}  // namespace
}  // namespace heddle::recordings
