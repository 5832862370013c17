// Frames: each kind is read as it was written, and damaged ones are refused.
#include "relaying/frame.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "relaying/params.h"

namespace heddle::relaying {
namespace {

std::vector<std::byte> written(const Frame& frame) {
  std::vector<std::byte> bytes(params::kFrameBytes);
  bytes.resize(write_frame(bytes, frame));
  return bytes;
}

TEST(Frame, HelloKeepsItsRoute) {
  Frame frame{.kind = FrameKind::kHello};
  frame.hello.session[3] = std::byte{7};
  frame.hello.attempt = 3;
  frame.hello.received = uint64_t{1} << 40;
  frame.hello.hops = {"relay-b:18800", "[fd00::1]:18700"};
  const auto read = read_frame(written(frame)).value();
  EXPECT_EQ(read.kind, FrameKind::kHello);
  EXPECT_EQ(read.hello.session, frame.hello.session);
  EXPECT_EQ(read.hello.attempt, 3U);
  EXPECT_EQ(read.hello.received, uint64_t{1} << 40);
  EXPECT_EQ(read.hello.hops, frame.hello.hops);
}

TEST(Frame, AHelloOfAnotherVersionNamesTheSideToUpgrade) {
  for (const int other : {params::kVersion - 1, params::kVersion + 1}) {
    // What follows is of that version: it is not looked at.
    const std::vector<std::byte> bytes{static_cast<std::byte>(FrameKind::kHello),
                                       static_cast<std::byte>(other), std::byte{0}, std::byte{9}};
    const Result<Frame> read = read_frame(bytes);
    ASSERT_FALSE(read);
    EXPECT_EQ(read.error().code, ErrorCode::kVersion);
    EXPECT_EQ(read.error().todo, other < params::kVersion
                                     ? "upgrade heddle on the machine that begins the session"
                                     : "upgrade heddle on the machine that refuses it");
  }
}

TEST(Frame, AHelloWithoutAVersionIsOfAnOlderOne) {
  const std::vector<std::byte> bytes{std::byte{1}, std::byte{9}, std::byte{9}};
  for (const size_t length : {size_t{1}, bytes.size()}) {
    const Result<Frame> read = read_frame(std::span(bytes).first(length));
    ASSERT_FALSE(read);
    EXPECT_EQ(read.error().code, ErrorCode::kVersion);
    EXPECT_EQ(read.error().todo, "upgrade heddle on the machine that begins the session");
  }
}

TEST(Frame, DataKeepsPlaceAndPayload) {
  const std::vector<std::byte> payload(params::kPayloadBytes, std::byte{42});
  const Frame frame{.kind = FrameKind::kData,
                    .piece = {.channel = 9,
                              .offset = 65536,
                              .message_bytes = 65536 + params::kPayloadBytes,
                              .sequence = 77},
                    .payload = payload};
  const std::vector<std::byte> bytes = written(frame);
  EXPECT_LE(bytes.size(), params::kFrameBytes);
  const auto read = read_frame(bytes).value();
  EXPECT_EQ(read.piece.channel, 9);
  EXPECT_EQ(read.piece.offset, 65536U);
  EXPECT_EQ(read.piece.sequence, 77U);
  EXPECT_TRUE(std::ranges::equal(read.payload, payload));
}

TEST(Frame, RefusalKeepsTheReasonWithinLimits) {
  const Frame frame{.kind = FrameKind::kRefuse,
                    .error = {ErrorCode::kPermission, "what", std::string(9999, 'y'), "todo"}};
  const auto read = read_frame(written(frame)).value();
  EXPECT_EQ(read.error.code, ErrorCode::kPermission);
  EXPECT_EQ(read.error.why, std::string(params::kLongestText, 'y'));
  EXPECT_EQ(read.error.todo, "todo");
}

TEST(Frame, TextOfAPeerIsPrintable) {
  std::vector<std::byte> space(params::kFrameBytes);
  Frame refusal{.kind = FrameKind::kRefuse};
  refusal.error = {ErrorCode::kInvalid, "a\x1b[2J", "b\nc", "d"};
  const size_t bytes = write_frame(space, refusal);
  const Result<Frame> read = read_frame(std::span(space).first(bytes));
  ASSERT_TRUE(read);
  EXPECT_EQ(read->error.message().find('\x1b'), std::string::npos);
  EXPECT_EQ(read->error.why.find('\n'), std::string::npos);
  Frame hello{.kind = FrameKind::kHello};
  hello.hello.hops = {"node\n2:1"};
  EXPECT_FALSE(read_frame(std::span(space).first(write_frame(space, hello))));
}

TEST(Frame, DamagedOnesAreRefused) {
  Frame hello{.kind = FrameKind::kHello};
  hello.hello.hops = {"a", "b"};
  std::vector<std::byte> bytes = written(hello);
  for (size_t length = 0; length < bytes.size(); ++length) {
    EXPECT_FALSE(read_frame(std::span(bytes).first(length))) << length;
  }
  bytes.push_back(std::byte{0});
  EXPECT_FALSE(read_frame(bytes));
  EXPECT_FALSE(read_frame(std::vector<std::byte>{std::byte{0}}));
  EXPECT_FALSE(read_frame(std::vector<std::byte>{std::byte{99}}));
  const std::vector<std::byte> payload(100);
  const Frame beyond{
      .kind = FrameKind::kData, .piece = {.offset = 1, .message_bytes = 100}, .payload = payload};
  EXPECT_FALSE(read_frame(written(beyond)));
  const Frame empty{.kind = FrameKind::kData, .piece = {.message_bytes = 100}};
  EXPECT_FALSE(read_frame(written(empty)));
}

}  // namespace
}  // namespace heddle::relaying
