// Addresses of NATS servers, parts of subjects, and credentials.
#include "messaging/nats_address.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include "base/document.h"
#include "base/temporary_folder.h"

namespace heddle::messaging {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

TEST(NatsAddress, HasServersAndASubject) {
  const auto made = parse_nats_address("nats://a.example:4333,[fd00::1],b/site.one");
  ASSERT_TRUE(made) << made.error().message();
  ASSERT_EQ(made->servers.size(), 3U);
  EXPECT_EQ(made->servers[0].text(), "a.example:4333");
  EXPECT_EQ(made->servers[1].text(), "[fd00::1]:4222");
  EXPECT_EQ(made->servers[2].text(), "b:4222");
  EXPECT_EQ(made->subject, "site.one");
  EXPECT_FALSE(made->tls);
  EXPECT_EQ(made->text(), "nats://a.example:4333,[fd00::1]:4222,b:4222/site.one");
}

TEST(NatsAddress, HasDefaults) {
  const auto made = parse_nats_address("tls://h");
  ASSERT_TRUE(made);
  EXPECT_TRUE(made->tls);
  EXPECT_EQ(made->text(), "tls://h:4222/heddle");
}

TEST(NatsAddress, OthersAreRefused) {
  for (const char* const text :
       {"", "h:4222", "http://h", "nats://", "nats://h:0", "nats://h:70000", "nats://h:4x",
        "nats://,h", "nats://h/a..b", "nats://h/a.>", "nats://h/*", "nats://h/a b", "nats://h/.a",
        "nats://[::1", "nats://h h"}) {
    EXPECT_FALSE(parse_nats_address(text)) << text;
  }
}

TEST(NatsAddress, CredentialsAreRefusedAndNotRepeated) {
  const auto made = parse_nats_address("nats://me:hunter2@h/site");
  ASSERT_FALSE(made);
  EXPECT_THAT(made.error().message(), HasSubstr("HEDDLE_NATS_USER"));
  EXPECT_THAT(made.error().message(), Not(HasSubstr("hunter2")));
}

TEST(SubjectToken, IsUniqueForAnyText) {
  EXPECT_EQ(subject_token("train-7b_x"), "train-7b_x");
  EXPECT_EQ(subject_token("a.b c>*%"), "a%2Eb%20c%3E%2A%25");
  EXPECT_EQ(subject_token(""), "_");
  for (const char* const text : {"a.b", "\xff\n", "über", ">"}) {
    EXPECT_TRUE(is_subject_token(subject_token(text))) << text;
  }
}

class NatsAccessFile : public ::testing::Test {
 protected:
  std::string write(const std::string& text, mode_t mode) {
    const std::string path = folder_->path() + "/access.toml";
    EXPECT_TRUE(write_text_file(path, text));
    EXPECT_EQ(chmod(path.c_str(), mode), 0);
    return path;
  }

  Result<TemporaryFolder> folder_ = TemporaryFolder::make("heddle-access");
};

TEST_F(NatsAccessFile, IsRead) {
  const auto made = read_nats_access(
      write("user = \"me\"\npassword = \"hunter2\"\nca = \"/etc/site.pem\"\n", 0600));
  ASSERT_TRUE(made) << made.error().message();
  EXPECT_EQ(made->user, "me");
  EXPECT_EQ(made->password, "hunter2");
  EXPECT_EQ(made->ca, "/etc/site.pem");
}

TEST_F(NatsAccessFile, ThatOthersMayReadIsRefused) {
  const auto made = read_nats_access(write("token = \"hunter2\"\n", 0644));
  ASSERT_FALSE(made);
  EXPECT_EQ(made.error().code, ErrorCode::kPermission);
  EXPECT_THAT(made.error().message(), HasSubstr("chmod 600"));
}

TEST_F(NatsAccessFile, WithMistakesIsRefused) {
  for (const char* const text : {"token = 7\n", "pasword = \"x\"\n", "user = \"me\"\n",
                                 "user = \"me\"\npassword = \"x\"\ntoken = \"y\"\n",
                                 "certificate = \"x\"\n", "token = \"x", "token = 'a\"b'\n"}) {
    EXPECT_FALSE(read_nats_access(write(text, 0600))) << text;
  }
  EXPECT_FALSE(read_nats_access(folder_->path() + "/none"));
}

}  // namespace
}  // namespace heddle::messaging
