// Tests of the search for libnccl, and of the version and tables in its content.

#include "nccl/libraries.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <string>

#include "nccl/plugin_names.h"

namespace heddle::nccl {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;
namespace fs = std::filesystem;

const std::string kContent = std::string("\0NCCL version mismatch\0", 23) +
                             "NCCL version 2.28.9+cuda13.0" +
                             std::string(
                                 "\0ncclNetPlugin_v10\0ncclNetPlugin_v11\0ncclProfiler_v5\0"
                                 "ncclTunerPlugin_v4\0ncclNetPlugin_v11",
                                 87);

TEST(LibraryContentTest, HasVersionAndTables) {
  NcclLibrary library;
  read_nccl(kContent, library);
  EXPECT_EQ(library.version, "2.28.9");
  EXPECT_THAT(library.net, ElementsAre(11, 10));
  EXPECT_THAT(library.profiler, ElementsAre(5));
  EXPECT_THAT(library.tuner, ElementsAre(4));
  EXPECT_FALSE(library.from_version);
}

TEST(LibraryContentTest, WithoutNamesTheVersionDecides) {
  NcclLibrary library;
  read_nccl("NCCL version 2.26.2+cuda12.4", library);
  EXPECT_TRUE(library.from_version);
  EXPECT_THAT(library.net, ElementsAre(10, 9, 8, 7, 6));
  read_nccl("nothing", library);
  EXPECT_EQ(library.version, "");
  EXPECT_THAT(library.net, IsEmpty());
}

TEST(LibraryContentTest, TablesOfReleases) {
  EXPECT_EQ(net_table_of("2.32.6"), 12);
  EXPECT_EQ(net_table_of("2.30.7"), 12);
  EXPECT_EQ(net_table_of("2.29.2"), 11);
  EXPECT_EQ(net_table_of("2.28.9"), 11);
  EXPECT_EQ(net_table_of("2.27.3"), 10);
  EXPECT_EQ(net_table_of("2.25.1"), 9);
  EXPECT_EQ(net_table_of("2.23.4"), 8);
  EXPECT_EQ(net_table_of("2.19.3"), 7);
  EXPECT_EQ(net_table_of("2.18.3"), 6);
  EXPECT_EQ(net_table_of("2.17.1"), 0);
  EXPECT_EQ(net_table_of(""), 0);
  EXPECT_EQ(net_table_of("2"), 0);
  EXPECT_EQ(net_table_of("two.three"), 0);
}

class LibrarySearchTest : public testing::Test {
 protected:
  void SetUp() override {
    root_ = fs::temp_directory_path() / ("heddle_libraries_" + std::to_string(getpid()));
    fs::remove_all(root_);
    fs::create_directories(root_);
    sources_.root = root_;
  }
  void TearDown() override { fs::remove_all(root_); }

  void write(const std::string& path) {
    fs::create_directories((root_ / path).parent_path());
    std::ofstream(root_ / path, std::ios::binary) << kContent;
  }

  fs::path root_;
  LibrarySources sources_;
};

TEST_F(LibrarySearchTest, FindsEachPlaceInTheOrderOfTheLoader) {
  write("cuda/libnccl.so.2");
  write("venv/lib/python3.11/site-packages/nvidia/nccl/lib/libnccl.so.2");
  write("usr/lib/libnccl.so.2.28.9");
  fs::create_symlink("libnccl.so.2.28.9", root_ / "usr/lib/libnccl.so.2");
  sources_.ld_library_path = "/empty:/cuda";
  sources_.virtual_env = "/venv";
  sources_.ldconfig =
      "\tlibnccl.so.2 (libc6,x86-64) => /usr/lib/libnccl.so.2\n"
      "\tlibnccl.so (libc6,x86-64) => /usr/lib/libnccl.so\n"
      "\tlibc.so.6 (libc6,x86-64) => /usr/lib/libc.so.6\n";
  const auto found = find_nccl_libraries(sources_);
  ASSERT_EQ(found.size(), 3u);
  EXPECT_EQ(found[0].origin, "LD_LIBRARY_PATH");
  EXPECT_EQ(found[1].origin, "Python");
  EXPECT_EQ(found[2].origin, "ldconfig");
  EXPECT_EQ(found[2].version, "2.28.9");
}

TEST_F(LibrarySearchTest, OneFileCountsOnce) {
  write("cuda/libnccl.so.2");
  sources_.ld_library_path = "/cuda:/cuda";
  sources_.ldconfig = "\tlibnccl.so.2 (libc6,x86-64) => /cuda/libnccl.so.2\n";
  EXPECT_EQ(find_nccl_libraries(sources_).size(), 1u);
}

TEST_F(LibrarySearchTest, AnEmptyFileHasNoVersion) {
  fs::create_directories(root_ / "cuda");
  std::ofstream(root_ / "cuda/libnccl.so.2").flush();
  sources_.ld_library_path = "/cuda";
  const auto found = find_nccl_libraries(sources_);
  ASSERT_EQ(found.size(), 1u);
  EXPECT_EQ(found[0].version, "");
  EXPECT_THAT(found[0].net, IsEmpty());
}

TEST(PluginNamesTest, AreTriedInNcclsOrder) {
  EXPECT_THAT(plugin_file_names("heddle"), ElementsAre("heddle", "libnccl-net-heddle.so"));
  EXPECT_THAT(plugin_file_names("heddle", PluginSlot::kProfiler),
              ElementsAre("heddle", "libnccl-profiler-heddle.so"));
  EXPECT_THAT(plugin_file_names("", PluginSlot::kTuner), ElementsAre("libnccl-tuner.so"));
  EXPECT_THAT(plugin_file_names(""), ElementsAre("libnccl-net.so"));
  EXPECT_THAT(plugin_file_names("/opt/x.so"), ElementsAre("/opt/x.so"));
  EXPECT_THAT(plugin_file_names("libx.so"), ElementsAre("libx.so"));
  EXPECT_THAT(plugin_file_names("x.so"), ElementsAre("x.so", "libnccl-net-x.so.so"));
  EXPECT_THAT(plugin_list("heddle,aws"), ElementsAre("heddle", "aws"));
  EXPECT_THAT(plugin_list("None"), IsEmpty());
}

TEST(PluginNamesTest, AMissingLibraryNamesWhatWasTried) {
  const FoundPlugin plugin = look_for_plugin("heddle-no-such-plugin");
  EXPECT_EQ(plugin.path, "");
  EXPECT_THAT(plugin.tried,
              ElementsAre("heddle-no-such-plugin", "libnccl-net-heddle-no-such-plugin.so"));
  EXPECT_NE(plugin.error, "");
}

TEST(PluginNamesTest, ALibraryWithoutTablesHasNone) {
  const FoundPlugin plugin = look_for_plugin("libm.so.6");
  EXPECT_NE(plugin.path, "");
  EXPECT_THAT(plugin.net, IsEmpty());
  EXPECT_EQ(plugin.net_name, "");
}

}  // namespace
}  // namespace heddle::nccl
