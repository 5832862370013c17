// Fetched recordings: plain archives, and those that a hostile machine may send.
#include "acceptance/fabrics/fetched_recordings.h"

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <set>

#include "base/temporary_folder.h"
#include "lab/tool.h"

namespace heddle::acceptance {
namespace {

namespace fs = std::filesystem;

constexpr size_t kBlock = 512;

// One member of an archive (POSIX.1-1988, ustar): '0' a file, '1' a hard link, '2' a symbolic one,
// '3' a character device, '5' a folder.
struct Member {
  std::string name;
  char type = '0';
  std::string text = {};
  std::string link = {};
  std::string device = {};  // its major number, in octal
  std::string mode = "0000644";
};

std::string packed(const Member& member) {
  std::array<char, kBlock> head{};
  const auto put = [&](size_t at, const std::string& text) {
    std::copy(text.begin(), text.end(), head.begin() + static_cast<std::ptrdiff_t>(at));
  };
  std::array<char, 16> size{};
  std::snprintf(size.data(), size.size(), "%011zo", member.text.size());
  put(0, member.name);
  put(100, member.mode);
  put(108, "0000000");
  put(116, "0000000");
  put(124, size.data());
  put(136, "00000000000");
  put(148, "        ");
  head[156] = member.type;
  put(157, member.link);
  put(257, "ustar");
  put(263, "00");
  put(329, member.device.empty() ? "0000000" : member.device);
  put(337, "0000003");
  unsigned sum = 0;
  for (const char each : head) sum += static_cast<unsigned char>(each);
  std::array<char, 8> text{};
  std::snprintf(text.data(), text.size(), "%06o", sum);
  put(148, text.data());
  std::string made(head.begin(), head.end());
  made += member.text;
  made.append((kBlock - member.text.size() % kBlock) % kBlock, '\0');
  return made;
}

std::string zipped(const std::string& text) {
  const Result<std::string> made = lab::run_tool({"gzip", "-c"}, text);
  EXPECT_TRUE(made.has_value());
  return made.value_or("");
}

std::string archive(const std::vector<Member>& members) {
  std::string all;
  for (const Member& each : members) all += packed(each);
  return zipped(all + std::string(2 * kBlock, '\0'));
}

class FetchedRecordings : public testing::Test {
 protected:
  void SetUp() override {
    auto made = TemporaryFolder::make("heddle-fetched-test");
    ASSERT_TRUE(made.has_value());
    passing_ = std::move(*made);
    fs::create_directory(folder());
    fs::create_directory(elsewhere());
  }

  std::string folder() const { return passing_.path() + "/recording"; }
  std::string elsewhere() const { return passing_.path() + "/elsewhere"; }

  Result<void> unpack(const std::string& text, const std::string& machine = "h1",
                      const UnpackLimits& limits = {}) const {
    return unpack_recordings(text, machine, folder(), limits, [] { return false; });
  }

  std::set<std::string> names() const {
    std::set<std::string> found;
    for (const auto& each : fs::directory_iterator(folder())) found.insert(each.path().filename());
    return found;
  }

  std::string text_of(const std::string& name) const {
    std::ifstream file(folder() + "/" + name);
    return {std::istreambuf_iterator<char>(file), {}};
  }

 private:
  TemporaryFolder passing_;
};

using Names = std::set<std::string>;

TEST_F(FetchedRecordings, FilesOfRanksComeAndOthersDoNot) {
  const auto done = unpack(archive({{"./", '5', "", "", "", "0000755"},
                                    {"./h1.7.0.heddle", '0', "one"},
                                    {"./h1.8.0.heddle", '0', "other", "", "", "0004777"},
                                    {"./train.py", '0', "print()"},
                                    {"./.heddle", '0', "x"}}));
  ASSERT_TRUE(done.has_value()) << done.error().message();
  EXPECT_EQ(names(), (Names{"h1.7.0.heddle", "h1.8.0.heddle"}));
  EXPECT_EQ(text_of("h1.7.0.heddle"), "one");
  EXPECT_EQ(fs::status(folder() + "/h1.8.0.heddle").permissions(),
            fs::perms::owner_read | fs::perms::owner_write);
}

TEST_F(FetchedRecordings, HolesStayAndAreRead) {
  std::ofstream(elsewhere() + "/h1.7.0.heddle") << "head";
  fs::resize_file(elsewhere() + "/h1.7.0.heddle", size_t{1} << 20);
  const auto made = lab::run_tool({"tar", "-czSf", "-", "-C", elsewhere(), "."});
  ASSERT_TRUE(made.has_value());
  ASSERT_TRUE(unpack(*made).has_value());
  EXPECT_EQ(fs::file_size(folder() + "/h1.7.0.heddle"), size_t{1} << 20);
}

// A's link and B's file through it once wrote anywhere.
TEST_F(FetchedRecordings, ALinkOfOneMachineIsNoWayForTheNext) {
  static_cast<void>(unpack(archive({{"way.heddle", '2', "", elsewhere()}}), "h0"));
  static_cast<void>(unpack(archive({{"way.heddle/x.heddle", '0', "x"}}), "h1"));
  static_cast<void>(
      unpack(archive({{"way.heddle", '2', "", elsewhere()}, {"way.heddle/x.heddle", '0', "x"}})));
  static_cast<void>(unpack(archive({{"up.heddle", '2', "", ".."}, {"up.heddle/y.heddle"}})));
  EXPECT_TRUE(fs::is_empty(elsewhere()));
  EXPECT_EQ(names(), Names());
}

TEST_F(FetchedRecordings, NamesThatLeadOutAreNotTaken) {
  for (const char* const name : {"../out.heddle", "a/../../out.heddle"}) {
    static_cast<void>(unpack(archive({{name, '0', "x"}})));
  }
  static_cast<void>(unpack(archive({{elsewhere() + "/out.heddle", '0', "x"}})));
  EXPECT_FALSE(fs::exists(folder() + "/../out.heddle"));
  EXPECT_TRUE(fs::is_empty(elsewhere()));
  EXPECT_EQ(names(), Names());
}

TEST_F(FetchedRecordings, LinksAndDevicesDoNotCome) {
  std::ofstream(elsewhere() + "/secret") << "secret";
  static_cast<void>(unpack(archive({{"link.heddle", '2', "", elsewhere() + "/secret"}})));
  static_cast<void>(unpack(archive({{"hard.heddle", '1', "", elsewhere() + "/secret"}})));
  static_cast<void>(
      unpack(archive({{"one.heddle", '0', "x"}, {"two.heddle", '1', "", "one.heddle"}})));
  static_cast<void>(unpack(archive({{"null.heddle", '3', "", "", "0000001", "0000666"}})));
  static_cast<void>(unpack(archive({{"pipe.heddle", '6'}})));
  EXPECT_EQ(names(), Names());
}

TEST_F(FetchedRecordings, AMachineDoesNotReplaceWhatAnotherOneSent) {
  ASSERT_TRUE(unpack(archive({{"rank.heddle", '0', "first"}}), "h0").has_value());
  ASSERT_TRUE(unpack(archive({{"rank.heddle", '0', "other"}}), "h1").has_value());
  ASSERT_TRUE(unpack(archive({{"rank.heddle", '0', "third"}}), "h1").has_value());
  EXPECT_EQ(names(), (Names{"rank.heddle", "h1.rank.heddle", "h1.2.rank.heddle"}));
  EXPECT_EQ(text_of("rank.heddle"), "first");
  EXPECT_EQ(text_of("h1.rank.heddle"), "other");
}

TEST_F(FetchedRecordings, OfMachinesWithACommonDiskEachFileComesOnce) {
  for (const char* const machine : {"h0", "h1"}) {
    ASSERT_TRUE(unpack(archive({{"rank.heddle", '0', "same"}}), machine).has_value());
  }
  EXPECT_EQ(names(), Names{"rank.heddle"});
}

TEST_F(FetchedRecordings, AHugeSparseFileIsRefused) {
  std::ofstream(elsewhere() + "/huge.heddle") << "x";
  fs::resize_file(elsewhere() + "/huge.heddle", uint64_t{1} << 40);
  const auto made = lab::run_tool({"tar", "-czSf", "-", "-C", elsewhere(), "."});
  ASSERT_TRUE(made.has_value());
  EXPECT_LT(made->size(), size_t{1} << 20);
  const auto done = unpack(*made);
  ASSERT_FALSE(done.has_value());
  EXPECT_EQ(done.error().why, "it has more than 4294967296 bytes");
  EXPECT_EQ(names(), Names());
}

TEST_F(FetchedRecordings, ManyFilesAndNoArchiveAreRefused) {
  std::vector<Member> many;
  for (int i = 0; i < 20; ++i) many.push_back({std::to_string(i) + ".heddle"});
  UnpackLimits few;
  few.files = 10;
  EXPECT_EQ(unpack(archive(many), "h1", few).error().why, "it has more than 10 files");
  EXPECT_FALSE(unpack("no archive").has_value());
  EXPECT_FALSE(unpack(archive(many).substr(0, 100)).has_value());
  EXPECT_EQ(names(), Names());
}

TEST_F(FetchedRecordings, TarThatTakesTooLongIsEnded) {
  UnpackLimits none;
  none.time = {};
  const std::string large = archive({{"a.heddle", '0', std::string(size_t{64} << 20, 'x')}});
  const auto done = unpack(large, "h1", none);
  ASSERT_FALSE(done.has_value());
  EXPECT_EQ(done.error().why, "tar takes too long");
  EXPECT_EQ(names(), Names());
}

}  // namespace
}  // namespace heddle::acceptance
