// ExchangeFolder: values appear whole and once.
#include "nccl/exchange.h"

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <fstream>
#include <string>

#include "nccl/testing/private_folder.h"

namespace heddle::nccl {
namespace {

using testing::PrivateFolder;

TEST(ExchangeFolder, ValueIsFoundOnceItIsPublished) {
  const PrivateFolder folder;
  Result<ExchangeFolder> writer = ExchangeFolder::open(folder.path() + "/new");
  ASSERT_TRUE(writer) << writer.error().message();
  Result<ExchangeFolder> reader = ExchangeFolder::open(folder.path() + "/new");
  ASSERT_TRUE(reader) << reader.error().message();
  EXPECT_FALSE(*reader->get("key"));
  const std::string value("a\0b", 3);
  ASSERT_TRUE(writer->put("key", value));
  EXPECT_EQ(*reader->get("key"), value);
}

// A pipe made reading wait for a writer, beyond every timeout.
TEST(ExchangeFolder, PipesAndLinksAreRefusedAtOnce) {
  const PrivateFolder folder;
  Result<ExchangeFolder> exchange = ExchangeFolder::open(folder.path());
  ASSERT_TRUE(exchange) << exchange.error().message();
  ASSERT_EQ(mkfifo((folder.path() + "/pipe").c_str(), 0600), 0);
  ASSERT_EQ(symlink("/etc/hostname", (folder.path() + "/link").c_str()), 0);
  for (const char* const key : {"pipe", "link"}) {
    const auto value = exchange->get(key);
    ASSERT_FALSE(value) << key;
    EXPECT_NE(value.error().message().find(key), std::string::npos);
  }
}

TEST(ExchangeFolder, SecondValueOfAKeyIsRefused) {
  const PrivateFolder folder;
  Result<ExchangeFolder> exchange = ExchangeFolder::open(folder.path());
  ASSERT_TRUE(exchange) << exchange.error().message();
  ASSERT_TRUE(exchange->put("key", "1"));
  const Result<void> again = exchange->put("key", "2");
  ASSERT_FALSE(again);
  EXPECT_EQ(again.error().code, ErrorCode::kInUse);
  EXPECT_EQ(*exchange->get("key"), "1");
}

TEST(ExchangeFolder, FolderThatCannotBeMadeIsRefused) {
  const Result<ExchangeFolder> exchange = ExchangeFolder::open("/nonexistent/folder");
  ASSERT_FALSE(exchange);
  EXPECT_EQ(exchange.error().code, ErrorCode::kUnavailable);
}

TEST(ExchangeFolder, FileInPlaceOfAFolderIsRefused) {
  const PrivateFolder folder;
  const std::string file = folder.path() + "/file";
  std::ofstream(file) << "text";
  for (const std::string& each : {file, file + "/folder"}) {
    const Result<ExchangeFolder> exchange = ExchangeFolder::open(each);
    ASSERT_FALSE(exchange);
    EXPECT_EQ(exchange.error().code, ErrorCode::kUnavailable);
  }
}

}  // namespace
}  // namespace heddle::nccl
