// Messages and tokens survive their encoding; what is no message is rejected.
#include "datapath/verbs/exchange_message.h"

#include <gtest/gtest.h>

#include <array>
#include <vector>

namespace heddle::datapath {
namespace {

ExchangeMessage some_message() {
  return {.kind = ExchangeKind::kAnswer,
          .mode = RdmaMode::kUnreliable,
          .mtu = 5,
          .path = 0x1234,
          .epoch = 7,
          .from_connection = 0xaabbccdd,
          .to_connection = 0x11223344,
          .attempt = 99,
          .queue_pair = 0xfffffe,
          .first_number = 0x123456,
          .secret = 0x0123456789abcdef,
          .nonce = UINT64_MAX};
}

std::array<std::byte, kExchangeBytes> bytes_of(const ExchangeMessage& message) {
  std::array<std::byte, kExchangeBytes> bytes{};
  write_exchange(message, bytes);
  return bytes;
}

TEST(ExchangeMessage, SurvivesItsEncoding) {
  for (int kind = 1; kind <= 4; ++kind) {
    ExchangeMessage message = some_message();
    message.kind = static_cast<ExchangeKind>(kind);
    EXPECT_EQ(read_exchange(bytes_of(message)), message);
  }
}

TEST(ExchangeMessage, OtherLengthsAreRejected) {
  const auto bytes = bytes_of(some_message());
  for (size_t length = 0; length < bytes.size(); ++length) {
    EXPECT_FALSE(read_exchange(std::span(bytes).first(length)));
  }
  std::vector<std::byte> longer(bytes.begin(), bytes.end());
  longer.push_back(std::byte{0});
  EXPECT_FALSE(read_exchange(longer));
}

TEST(ExchangeMessage, FieldsOutOfRangeAreRejected) {
  struct Wrong {
    size_t at;
    int value;
  };
  for (const auto& [at, value] :
       {Wrong{0, 0}, Wrong{4, 2}, Wrong{5, 0}, Wrong{5, 5}, Wrong{6, 2}, Wrong{7, 0}, Wrong{7, 6},
        Wrong{10, 1}, Wrong{31, 1}, Wrong{35, 1}}) {
    auto bytes = bytes_of(some_message());
    bytes[at] = static_cast<std::byte>(value);
    EXPECT_FALSE(read_exchange(bytes)) << "byte " << at << " is " << value;
  }
}

TEST(VerbsToken, SurvivesItsEncoding) {
  const VerbsToken token{.address = 0x7fff'1234'5678'9abc,
                         .remote_key = 0xdeadbeef,
                         .exchange_port = 4711,
                         .secret = 0x0123456789abcdef};
  EXPECT_EQ(read_token(write_token(token)), token);
}

TEST(VerbsToken, TokensOfOthersAreRejected) {
  EXPECT_FALSE(read_token({}));
  transport::MemoryToken other = write_token({});
  other.bytes[0] = std::byte{0};
  EXPECT_FALSE(read_token(other));
  other = write_token({});
  other.length = 8;  // the simulator's
  EXPECT_FALSE(read_token(other));
}

}  // namespace
}  // namespace heddle::datapath
