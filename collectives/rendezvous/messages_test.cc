// Messages of the rendezvous: what is written is read again, and nothing else is believed.
#include "collectives/rendezvous/messages.h"

#include <gtest/gtest.h>

#include "collectives/params.h"

namespace heddle::collectives {
namespace {

transport::Address address(uint8_t last) {
  transport::Address made;
  made.host[15] = last;
  made.scope = 3;
  made.port = 4711;
  return made;
}

Registration registration() {
  return {.rank = 3,
          .size = 8,
          .process = 77,
          .ticket = 1ULL << 60,
          .token = "secret",
          .patience = seconds(9),
          .run = "run",
          .host = "h3",
          .reached = address(1),
          .bound = address(2)};
}

Group group() {
  return {
      .rank = 0, .size = 2, .addresses = {address(4), address(5)}, .hosts = {"a", ""}, .job = 9};
}

TEST(RendezvousMessagesTest, AreReadAsTheyWereWritten) {
  const auto read = decode_registration(encode(registration()));
  ASSERT_TRUE(read);
  EXPECT_EQ(read->rank, 3U);
  EXPECT_EQ(read->size, 8U);
  EXPECT_EQ(read->process, 77U);
  EXPECT_EQ(read->ticket, 1ULL << 60);
  EXPECT_EQ(read->patience, seconds(9));
  EXPECT_EQ(read->token, "secret");
  EXPECT_EQ(read->run, "run");
  EXPECT_EQ(read->host, "h3");
  EXPECT_EQ(read->reached, address(1));
  EXPECT_EQ(read->bound, address(2));

  const auto answer = decode_answer(
      encode(Answer{AnswerKind::kRefused, 5, {ErrorCode::kInUse, "what", "why", "todo"}}));
  ASSERT_TRUE(answer);
  EXPECT_EQ(answer->kind, AnswerKind::kRefused);
  EXPECT_EQ(answer->body_bytes, 5U);
  EXPECT_EQ(answer->error.code, ErrorCode::kInUse);
  EXPECT_EQ(answer->error.message(), "what: why (todo)");

  const auto ranks = decode_group(encode(group()));
  ASSERT_TRUE(ranks);
  EXPECT_EQ(ranks->size, 2U);
  EXPECT_EQ(ranks->job, 9U);
  EXPECT_EQ(ranks->addresses, group().addresses);
  EXPECT_EQ(ranks->hosts, group().hosts);
}

template <typename Decode>
void expect_only_the_whole(const std::vector<std::byte>& message, Decode decode) {
  for (size_t length = 0; length < message.size(); ++length) {
    EXPECT_FALSE(decode(std::span(message).first(length))) << length;
  }
  std::vector<std::byte> longer = message;
  longer.push_back(std::byte{0});
  EXPECT_FALSE(decode(std::span<const std::byte>(longer)));
  std::vector<std::byte> other = message;
  other[0] ^= std::byte{1};
  EXPECT_FALSE(decode(std::span<const std::byte>(other)));
}

TEST(RendezvousMessagesTest, CutOrLongerOnesAreNone) {
  expect_only_the_whole(encode(registration()), decode_registration);
  expect_only_the_whole(encode(Answer{}), decode_answer);
  expect_only_the_whole(encode(group()), decode_group);
}

TEST(RendezvousMessagesTest, ImpossibleNumbersAreNotBelieved) {
  Registration wrong = registration();
  wrong.size = 0;
  EXPECT_FALSE(decode_registration(encode(wrong)));
  wrong.size = kMostRanks + 1;
  EXPECT_FALSE(decode_registration(encode(wrong)));
  wrong = registration();
  wrong.patience = nanos(-1);
  EXPECT_FALSE(decode_registration(encode(wrong)));
  Answer answer{.body_bytes = UINT32_MAX};
  EXPECT_FALSE(decode_answer(encode(answer)));
  Group no_job = group();
  no_job.job = 0;
  EXPECT_FALSE(decode_group(encode(no_job)));
}

TEST(RendezvousMessagesTest, ARegistrationOfAnotherVersionKeepsItsVersion) {
  Registration later = registration();
  later.version = kRendezvousVersion + 1;
  const auto read = decode_registration(encode(later));
  ASSERT_TRUE(read);
  EXPECT_EQ(read->version, kRendezvousVersion + 1);
}

TEST(RendezvousMessagesTest, LongTextIsCutAndStaysWithinItsBound) {
  Registration longest = registration();
  longest.run = longest.host = std::string(100'000, 'x');
  const std::vector<std::byte> message = encode(longest);
  EXPECT_LE(message.size(), params::kMaxRegistrationBytes);
  EXPECT_TRUE(decode_registration(message));
  const std::string text(100'000, 'x');
  EXPECT_LE(encode(Answer{AnswerKind::kLater, 0, {ErrorCode::kSystem, text, text, text}}).size(),
            params::kMaxAnswerBytes);
}

}  // namespace
}  // namespace heddle::collectives
