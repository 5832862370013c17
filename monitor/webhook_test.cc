// Webhooks: their addresses, and what happens where no server takes a change.
#include "monitor/webhook.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <fstream>
#include <string>
#include <vector>

#include "base/temporary_folder.h"
#include "monitor/params.h"

namespace heddle::monitor {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;
using ::testing::SizeIs;

class WebhookTest : public ::testing::Test {
 protected:
  Webhook webhook_at(const std::string& url) {
    return {*parse_webhook(url), [this](const std::string& text) { warnings_.push_back(text); }};
  }

  // In steps of 0.1 s of its own time; curl takes some ms of the real one.
  void run(Webhook& webhook, Nanos until) {
    for (; now_ < until && webhook.busy(); now_ = now_ + millis(100)) {
      webhook.poll(now_);
      usleep(5'000);
    }
  }

  Nanos now_ = seconds(1);
  std::vector<std::string> warnings_;
};

TEST(WebhookAddress, IsOfHttp) {
  const auto plain = parse_webhook("https://chat.example/hook?key=1");
  ASSERT_TRUE(plain) << plain.error().message();
  for (const char* const text : {"", "ftp://chat.example/", "chat.example", "@/nonexistent"}) {
    EXPECT_FALSE(parse_webhook(text)) << text;
  }
}

TEST(WebhookAddress, WithCredentialsItIsReadFromAFileAlone) {
  const std::string url = "https://me:hunter2@chat.example/hook";
  const auto refused = parse_webhook(url);
  ASSERT_FALSE(refused);
  EXPECT_THAT(refused.error().message(), AllOf(HasSubstr("@FILE"), Not(HasSubstr("hunter2"))));
  auto folder = TemporaryFolder::make("webhook-test");
  ASSERT_TRUE(folder);
  const std::string path = folder->path() + "/address";
  std::ofstream(path) << url << "\n";
  EXPECT_TRUE(parse_webhook("@" + path));
  std::ofstream(path).close();
  EXPECT_FALSE(parse_webhook("@" + path)) << "it is empty";
}

TEST_F(WebhookTest, AChangeThatNoServerTakesIsTriedAgainAndThenReported) {
  Webhook webhook = webhook_at("http://127.0.0.1:1/secret");
  webhook.add("{}");
  webhook.add("{}");
  run(webhook, seconds(8));
  EXPECT_THAT(warnings_, IsEmpty()) << "1, 2 and 4 s, and 8 s are left";
  run(webhook, seconds(600));
  EXPECT_FALSE(webhook.busy());
  ASSERT_THAT(warnings_, SizeIs(2));
  EXPECT_THAT(warnings_.front(), AllOf(HasSubstr("http://127.0.0.1:1 "), HasSubstr("5 tries"),
                                       Not(HasSubstr("secret"))));
}

TEST_F(WebhookTest, ChangesThatWaitAreBounded) {
  Webhook webhook = webhook_at("http://127.0.0.1:1/");
  for (size_t i = 0; i < params::kMostWaiting; ++i) webhook.add("{}");
  EXPECT_THAT(warnings_, IsEmpty());
  webhook.add("{}");
  EXPECT_THAT(warnings_, ElementsAre(HasSubstr("left out")));
}

}  // namespace
}  // namespace heddle::monitor
