// What waits for a server: its order, its bounds, and what is dropped first.
#include "messaging/waiting_messages.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace heddle::messaging {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

constexpr WaitingLimits kWide = {100, 10'000};

Message rest(const std::string& text) { return {.subject = "s", .text = text}; }
Message important(const std::string& text) {
  return {.subject = "s", .text = text, .important = true};
}
Message newest(const std::string& subject, const std::string& text) {
  return {.subject = subject, .text = text, .newest_only = true};
}

std::vector<std::string> texts_of(const std::vector<Message>& messages) {
  std::vector<std::string> texts;
  for (const Message& each : messages) texts.push_back(each.text);
  return texts;
}

TEST(WaitingMessages, ImportantOnesComeFirstEachInOrder) {
  WaitingMessages waiting(kWide);
  waiting.add(rest("a"));
  waiting.add(important("b"));
  waiting.add(rest("c"));
  waiting.add(important("d"));
  EXPECT_THAT(texts_of(waiting.take(3)), ElementsAre("b", "d", "a"));
  EXPECT_THAT(texts_of(waiting.take(3)), ElementsAre("c"));
  EXPECT_THAT(texts_of(waiting.take(3)), IsEmpty());
  EXPECT_EQ(waiting.bytes(), 0U);
}

TEST(WaitingMessages, ANewerOneTakesThePlaceOfOneWithItsSubject) {
  WaitingMessages waiting(kWide);
  waiting.add(newest("x", "old"));
  waiting.add(newest("y", "other"));
  EXPECT_EQ(waiting.add(newest("x", "new")), 0U);
  EXPECT_THAT(texts_of(waiting.take(9)), ElementsAre("new", "other"));
  EXPECT_EQ(waiting.bytes(), 0U);
}

TEST(WaitingMessages, BeyondItsBoundTheOldestUnimportantOneIsDropped) {
  WaitingMessages waiting({3, 10'000});
  waiting.add(important("a"));
  waiting.add(rest("b"));
  waiting.add(rest("c"));
  EXPECT_EQ(waiting.add(important("d")), 1U);
  EXPECT_EQ(waiting.add(important("e")), 1U);
  EXPECT_EQ(waiting.add(important("f")), 1U);
  EXPECT_THAT(texts_of(waiting.take(9)), ElementsAre("d", "e", "f"));
}

TEST(WaitingMessages, BytesAreBoundedToo) {
  WaitingMessages waiting({100, 10});
  waiting.add(rest("1234"));
  EXPECT_EQ(waiting.add(rest("12345")), 1U);
  EXPECT_EQ(waiting.size(), 1U);
  EXPECT_EQ(waiting.add(rest("a text that is too long")), 2U);
  EXPECT_EQ(waiting.size(), 0U);
  EXPECT_EQ(waiting.bytes(), 0U);
}

TEST(WaitingMessages, ThoseThatWereNotSentAreTheNextOnes) {
  WaitingMessages waiting(kWide);
  waiting.add(important("a"));
  waiting.add(rest("b"));
  waiting.add(newest("x", "old"));
  std::vector<Message> taken = waiting.take(9);
  waiting.add(important("c"));
  waiting.add(rest("d"));
  waiting.add(newest("x", "new"));
  EXPECT_EQ(waiting.put_back(std::move(taken)), 0U);
  EXPECT_THAT(texts_of(waiting.take(9)), ElementsAre("a", "c", "b", "d", "new"));
  EXPECT_EQ(waiting.bytes(), 0U);
}

}  // namespace
}  // namespace heddle::messaging
