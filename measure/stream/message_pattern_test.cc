// Any changed byte, and the contents of any other message, are noticed.
#include "measure/stream/message_pattern.h"

#include <gtest/gtest.h>

#include <vector>

namespace heddle::measure {
namespace {

TEST(MessagePattern, AgreesWithItself) {
  for (const size_t bytes : {0U, 1U, 7U, 8U, 9U, 1000U}) {
    std::vector<std::byte> message(bytes);
    fill_message(message, 42);
    EXPECT_EQ(find_difference(message, 42), std::nullopt);
  }
}

TEST(MessagePattern, FindsAnyChangedByte) {
  std::vector<std::byte> message(37);
  fill_message(message, 3);
  for (size_t i = 0; i < message.size(); ++i) {
    message[i] ^= std::byte{1};
    EXPECT_EQ(find_difference(message, 3), i);
    message[i] ^= std::byte{1};
  }
}

TEST(MessagePattern, OtherMessagesAndOtherPlacesDiffer) {
  std::vector<std::byte> message(64);
  fill_message(message, 3);
  EXPECT_EQ(find_difference(message, 4), 0U);
  const std::span<const std::byte> moved = std::span(message).subspan(8);
  EXPECT_EQ(find_difference(moved, 3), 0U);
}

}  // namespace
}  // namespace heddle::measure
