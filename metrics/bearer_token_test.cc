// Tokens of files, and which addresses need one.
#include "metrics/bearer_token.h"

#include <gtest/gtest.h>
#include <sys/stat.h>

#include <fstream>

#include "base/temporary_folder.h"

namespace heddle::metrics {
namespace {

class BearerTokenTest : public ::testing::Test {
 protected:
  void SetUp() override {
    auto made = TemporaryFolder::make("heddle-token");
    ASSERT_TRUE(made);
    folder_ = std::move(*made);
  }
  Result<std::string> read(const std::string& text, mode_t mode = 0600) {
    const std::string file = folder_.path() + "/token";
    std::ofstream(file) << text;
    chmod(file.c_str(), mode);
    return read_token(file);
  }

  TemporaryFolder folder_;
};

TEST_F(BearerTokenTest, TheFirstLineIsTheToken) {
  EXPECT_EQ(*read("secret"), "secret");
  EXPECT_EQ(*read("secret\nand a remark\n", 0640), "secret");
  EXPECT_EQ(*read("secret\r\n"), "secret");
}

TEST_F(BearerTokenTest, ReadableEmptyAndMissingSecretsAreRefused) {
  EXPECT_EQ(read("secret", 0644).error().code, ErrorCode::kPermission);
  EXPECT_EQ(read("\n").error().code, ErrorCode::kInvalid);
  EXPECT_EQ(read("two words\n").error().code, ErrorCode::kInvalid);
  EXPECT_EQ(read_token(folder_.path() + "/none").error().code, ErrorCode::kUnavailable);
}

TEST_F(BearerTokenTest, ALongTokenIsRefusedAndNotCut) {
  EXPECT_EQ(read(std::string(1024, 'a') + "\n")->size(), 1024u);
  EXPECT_EQ(read(std::string(1025, 'a')).error().code, ErrorCode::kInvalid);
  EXPECT_EQ(read(std::string(100'000, 'a') + "\n").error().code, ErrorCode::kInvalid);
}

TEST_F(BearerTokenTest, OnlyLoopbackNeedsNone) {
  EXPECT_TRUE(listen_with_token({"127.0.0.1", 0}, ""));
  const auto refused = listen_with_token({"0.0.0.0", 0}, "");
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, ErrorCode::kInvalid);
  ASSERT_TRUE(read("secret"));
  EXPECT_TRUE(listen_with_token({"0.0.0.0", 0}, folder_.path() + "/token"));
}

}  // namespace
}  // namespace heddle::metrics
