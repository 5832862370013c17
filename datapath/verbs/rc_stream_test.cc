// Streams over RC on a device that records what is posted.
#include "datapath/verbs/rc_stream.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstddef>
#include <sstream>
#include <vector>

#include "base/clocks.h"
#include "datapath/verbs/testing/fake_verbs.h"

namespace heddle::datapath {
namespace {

class RcStreamTest : public testing::Test {
 protected:
  void SetUp() override {
    auto made = RcStream::make(fake_.open(), 26 << 2);
    ASSERT_TRUE(made) << made.error().message();
    stream_ = std::move(*made);
  }

  std::string word(size_t index) const {
    std::istringstream words(stream_->own_end());
    std::string found;
    for (size_t i = 0; i <= index; ++i) words >> found;
    return found;
  }

  uint32_t receiving() const { return static_cast<uint32_t>(std::stoul(word(4))); }

  FakeVerbs fake_;
  std::unique_ptr<RcStream> stream_;
};

TEST_F(RcStreamTest, AnEndIsALineThatTheOtherEndTakes) {
  EXPECT_LE(stream_->own_end().size(), 120U);
  EXPECT_EQ(fake_.made(), 2U);
  EXPECT_TRUE(stream_->connect(stream_->own_end()));
  EXPECT_EQ(fake_.traffic_classes(), (std::vector<uint8_t>{26 << 2, 26 << 2}));
  stream_.reset();
  EXPECT_EQ(fake_.alive(), 0U);
}

TEST_F(RcStreamTest, AMalformedEndpointLineIsRefused) {
  for (const std::string line : {"", "rc2", "rc1 10.0.0.1 5 1 2 3 4 5", "rc2 host 5 1 2 3 4 5",
                                 "rc2 10.0.0.1 9 1 2 3 4 5", "rc2 10.0.0.1 5 1 2 3 4"}) {
    const Result<void> connected = stream_->connect(line);
    ASSERT_FALSE(connected) << line;
    EXPECT_EQ(connected.error().code, ErrorCode::kInvalid) << line;
  }
}

TEST_F(RcStreamTest, APingIsAnsweredAndAStreamIsCounted) {
  ASSERT_TRUE(stream_->connect(stream_->own_end()));
  const auto nothing = stream_->serve();
  ASSERT_TRUE(nothing);
  EXPECT_FALSE(*nothing);
  fake_.arrive(receiving(), 2);
  const auto served = stream_->serve();
  ASSERT_TRUE(served);
  EXPECT_TRUE(*served);
  ASSERT_EQ(fake_.writes().size(), 1U);
  EXPECT_EQ(fake_.writes()[0].bytes, 1U);
  fake_.complete_write();
  fake_.arrive(receiving(), 1, 65'536);
  fake_.arrive(receiving(), 2, 1);  // a ping is no part of the stream
  fake_.arrive(receiving(), 1, 1'000);
  ASSERT_TRUE(stream_->serve());
  const RdmaArrived arrived = stream_->take_arrived();
  EXPECT_EQ(arrived.bytes, 66'536U);
  EXPECT_GT(arrived.first.count, 0);
  EXPECT_LE(arrived.first, arrived.last);
  EXPECT_EQ(stream_->take_arrived().bytes, 0U);
}

// Both ends are this one: what it sends lies in the second half of its memory.
TEST_F(RcStreamTest, PayloadThatDiffersFromWhatWasSentIsCounted) {
  ASSERT_TRUE(stream_->connect(stream_->own_end()));
  auto* const memory = reinterpret_cast<std::byte*>(std::stoull(word(6)));
  constexpr size_t kChunk = 65'536;
  constexpr size_t kHalf = 32 * kChunk;
  const auto changed_after = [&](size_t place) {
    fake_.arrive(receiving(), 1 | static_cast<uint32_t>(place) << 8, kChunk);
    EXPECT_TRUE(stream_->serve());
    return stream_->take_arrived().changed;
  };
  std::copy_n(memory + kHalf, 2 * kChunk, memory);
  EXPECT_EQ(changed_after(0), 0U);
  EXPECT_EQ(changed_after(1), 0U);
  EXPECT_GT(changed_after(2), kChunk * 9 / 10) << "nothing was written there";
  memory[kChunk + 7] ^= std::byte{1};
  EXPECT_EQ(changed_after(1), 1U);
  EXPECT_EQ(changed_after(0), 0U);
  std::copy_n(memory + kHalf, kChunk, memory + kChunk);
  EXPECT_GT(changed_after(1), kChunk * 9 / 10) << "of another place";
}

TEST_F(RcStreamTest, AWriteThatFailsEndsTheTestWithTheNicsReason) {
  ASSERT_TRUE(stream_->connect(stream_->own_end()));
  fake_.arrive(receiving(), 2);
  ASSERT_TRUE(stream_->serve());
  fake_.fail_write();
  const auto sent = stream_->send_until(steady_now());
  ASSERT_FALSE(sent);
  EXPECT_NE(sent.error().message().find("the peer's NIC does not answer"), std::string::npos);
}

}  // namespace
}  // namespace heddle::datapath
