// Machine folders: what the script removes, and what it leaves.
#include "acceptance/fabrics/machine_folders.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdlib>
#include <ctime>
#include <filesystem>
#include <fstream>
#include <set>
#include <sstream>

#include "acceptance/params.h"
#include "base/temporary_folder.h"

namespace heddle::acceptance {
namespace {

namespace fs = std::filesystem;

constexpr time_t kAge = params::kStaleFolderAge.count / seconds(1).count;

class MachineFolders : public testing::Test {
 protected:
  std::string path(const std::string& name) const { return place_->path() + "/" + name; }

  void make(const std::string& name, time_t age_s) const {
    fs::create_directory(path(name));
    std::ofstream(path(name) + "/recording") << "text";
    set_age(name, age_s);
  }

  void set_age(const std::string& name, time_t age_s) const {
    const timespec then{std::time(nullptr) - age_s, 0};
    const timespec times[] = {then, then};
    ASSERT_EQ(utimensat(AT_FDCWD, path(name).c_str(), times, AT_SYMLINK_NOFOLLOW), 0);
  }

  std::set<std::string> left() const {
    std::set<std::string> names;
    for (const auto& each : fs::directory_iterator(place_->path())) {
      names.insert(each.path().filename());
    }
    return names;
  }

  void remove(const std::string& own) const {
    ASSERT_EQ(std::system(removing_script(path(own)).c_str()), 0);
  }

  Result<TemporaryFolder> place_ = TemporaryFolder::make("heddle-folders");
};

TEST_F(MachineFolders, TheOwnOneAndThoseOfKilledTestsAreRemoved) {
  make("heddle-verify-12-1a2b", 0);
  make("heddle-verify-12-1a2b-recording", 0);
  make("heddle-verify-12-1a2b-recording-2", 0);
  make("heddle-verify-12-1a2bc", 0);  // of another test
  make("heddle-verify-13-cd34-training", kAge + 120);
  make("heddle-verify-13-cd34", kAge + 120);
  make("heddle-verify-14-cd34", kAge - 120);  // of a test that may run
  remove("heddle-verify-12-1a2b");
  EXPECT_EQ(left(), (std::set<std::string>{"heddle-verify-12-1a2bc", "heddle-verify-14-cd34"}));
}

// What a run had left that could not be fetched was in the recording of the next one.
TEST_F(MachineFolders, ARunHasItsOwnAndPacksNothingOfAnotherRun) {
  const std::string first = run_folder(path("heddle-verify-12-1a2b"), "report/recording");
  const std::string second = run_folder(path("heddle-verify-12-1a2b"), "report/recording-2");
  for (const std::string& each : {first, second}) {
    fs::create_directory(each);  // as ranks do, which make no folder above it
    std::ofstream(each + "/" + (each == first ? "old" : "new") + ".heddle") << "text";
  }
  const std::string listed = path("listed");
  const std::string pack = "(" + packing_script(second) + ") | tar -tzf - > " + listed;
  ASSERT_EQ(std::system(pack.c_str()), 0);
  std::stringstream names;
  names << std::ifstream(listed).rdbuf();
  EXPECT_NE(names.str().find("new.heddle"), std::string::npos);
  EXPECT_EQ(names.str().find("old.heddle"), std::string::npos);
  EXPECT_EQ(std::system(("[ -z \"$(" + packing_script(path("none")) + ")\" ]").c_str()), 0);
}

TEST_F(MachineFolders, LinksFilesAndOtherNamesStay) {
  make("elsewhere", 2 * kAge);
  make("heddle-verify-XyZ123", 2 * kAge);
  make("heddle-verify-notes", 2 * kAge);
  fs::create_directory_symlink(path("elsewhere"), path("heddle-verify-15-ab"));
  set_age("heddle-verify-15-ab", 2 * kAge);
  std::ofstream(path("heddle-verify-16-ab")) << "a file";
  set_age("heddle-verify-16-ab", 2 * kAge);
  const std::set<std::string> before = left();
  remove("heddle-verify-12-1a2b");
  EXPECT_EQ(left(), before);
  EXPECT_TRUE(fs::exists(path("elsewhere") + "/recording"));
}

TEST_F(MachineFolders, FoldersOfOtherUsersStay) {
  if (geteuid() != 0) GTEST_SKIP() << "root alone can make a folder of another user";
  make("heddle-verify-17-ab", 2 * kAge);
  ASSERT_EQ(chown(path("heddle-verify-17-ab").c_str(), 65'534, 65'534), 0);
  remove("heddle-verify-12-1a2b");
  EXPECT_EQ(left(), std::set<std::string>{"heddle-verify-17-ab"});
}

TEST(MachineFolder, ItsNameIsOneThatTheScriptRemoves) {
  const std::string folder = machine_folder();
  const std::string beside = removing_script("/tmp/heddle-verify-1-1");
  EXPECT_EQ(folder.rfind("/tmp/heddle-verify-" + std::to_string(getpid()) + "-", 0), 0U);
  EXPECT_NE(beside.find("find /tmp "), std::string::npos);
}

}  // namespace
}  // namespace heddle::acceptance
