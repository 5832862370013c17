// NetLibrary over test plugins of several versions: which table is taken, what an older one is
// given, and what the errors say.
#include "nccl/net_library.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <fstream>
#include <string>
#include <utility>

#include "nccl/drive/plugin_log.h"
#include "nccl/result_name.h"
#include "nccl/testing/private_folder.h"

namespace heddle::nccl {
namespace {

using ::testing::ElementsAre;
using ::testing::EndsWith;
using ::testing::HasSubstr;
using ::testing::Not;

std::string net_file(const std::string& name) {
  return std::string(HEDDLE_TEST_NETS) + "/libnccl-net-" + name + ".so";
}

v12::Properties properties_of(NetLibrary& library) {
  v12::Properties properties{};
  EXPECT_EQ(library.plugin().get_properties(0, &properties), kSuccess);
  return properties;
}

TEST(NetLibrary, NewestTableIsTaken) {
  Result<NetLibrary> library = NetLibrary::open(net_file("loopback12"));
  ASSERT_TRUE(library) << library.error().message();
  EXPECT_EQ(library->plugin().version(), 12);
  EXPECT_THAT(library->versions(), ElementsAre(12, 9));
  EXPECT_STREQ(library->plugin().name(), "Loopback");
  EXPECT_THAT(library->file(), HasSubstr("libnccl-net-loopback12.so"));
  const v12::Properties properties = properties_of(*library);
  EXPECT_EQ(properties.rail_id, 4);
  EXPECT_EQ(properties.plane_id, 5);
  EXPECT_EQ(properties.max_multi_request_size, 3);
}

TEST(NetLibrary, ChosenVersionIsTaken) {
  Result<NetLibrary> library = NetLibrary::open(net_file("loopback"), 6);
  ASSERT_TRUE(library) << library.error().message();
  EXPECT_EQ(library->plugin().version(), 6);
}

TEST(NetLibrary, VersionThatIsNotExportedIsRefused) {
  const Result<NetLibrary> library = NetLibrary::open(net_file("loopback"), 11);
  ASSERT_FALSE(library);
  EXPECT_EQ(library.error().code, ErrorCode::kVersion);
  EXPECT_THAT(library.error().message(), HasSubstr("ncclNetPlugin_v9"));
}

TEST(NetLibrary, PropertiesThatVersion6LacksAreNcclsDefaults) {
  Result<NetLibrary> library = NetLibrary::open(net_file("loopback6"));
  ASSERT_TRUE(library) << library.error().message();
  const v12::Properties properties = properties_of(*library);
  EXPECT_STREQ(properties.name, "loopback0");
  EXPECT_EQ(properties.speed_mbps, 10'000);
  EXPECT_EQ(properties.mr_is_global, 0);
  EXPECT_EQ(properties.force_flush, 0);
  EXPECT_EQ(properties.device_type, kDeviceHost);
  EXPECT_EQ(properties.virtual_device.count, 1);
  EXPECT_EQ(properties.virtual_device.devices[0], 0);
  EXPECT_EQ(properties.max_p2p_bytes, size_t{1} << 30);
  EXPECT_EQ(properties.max_coll_bytes, size_t{1} << 29);
  EXPECT_EQ(properties.max_multi_request_size, 1);
  EXPECT_EQ(properties.rail_id, kUndefinedId);
  EXPECT_EQ(properties.plane_id, kUndefinedId);
}

TEST(NetLibrary, SizesThatVersion6CannotExpressAreRefused) {
  Result<NetLibrary> library = NetLibrary::open(net_file("loopback6"));
  ASSERT_TRUE(library) << library.error().message();
  char data = 0;
  void* mhandle = nullptr;
  EXPECT_EQ(library->plugin().reg_mr(&data, &data, size_t{1} << 31, kPointerHost, &mhandle),
            kInternalError);
  void* request = nullptr;
  const NetPlugin::Message message{.data = &data, .size = (size_t{1} << 30) + 1};
  EXPECT_EQ(library->plugin().isend(&data, message, &request), kInternalError);
  EXPECT_EQ(library->plugin().irecv(&data, 1, &message, &request), kInternalError);
}

TEST(NetLibrary, TableBeforeVersion11IsInitializedOnceForSeveralContexts) {
  Result<NetLibrary> library = NetLibrary::open(net_file("loopback10"));
  ASSERT_TRUE(library) << library.error().message();
  NetPlugin& plugin = library->plugin();
  void* first = nullptr;
  void* second = nullptr;
  ASSERT_EQ(plugin.init(&first, 1, {3}, write_plugin_log, accept_profiler_event), kSuccess);
  // A second init of the table would fail now.
  setenv("HEDDLE_LOOPBACK", "init=2", 1);
  EXPECT_EQ(plugin.init(&second, 2, {4}, write_plugin_log, accept_profiler_event), kSuccess);
  EXPECT_NE(first, second);
  EXPECT_EQ(plugin.finalize(first), kSuccess);
  EXPECT_EQ(plugin.finalize(second), kSuccess);
  void* third = nullptr;
  EXPECT_EQ(plugin.init(&third, 3, {5}, write_plugin_log, accept_profiler_event), kSystemError);
  EXPECT_EQ(plugin.finalize(third), kSuccess);  // after a failed init, as NCCL 2.28 does
  unsetenv("HEDDLE_LOOPBACK");
}

TEST(NetLibrary, MissingFileIsNamedWithAllThatWasTried) {
  const Result<NetLibrary> library = NetLibrary::open("no-such-net");
  ASSERT_FALSE(library);
  EXPECT_EQ(library.error().code, ErrorCode::kUnavailable);
  EXPECT_THAT(library.error().why, HasSubstr("no-such-net:"));
  EXPECT_THAT(library.error().why, HasSubstr("libnccl-net-no-such-net.so"));
}

TEST(NetLibrary, NameThatIsAPathHasNoOtherSpelling) {
  const Result<NetLibrary> library = NetLibrary::open("./no-such-net");
  ASSERT_FALSE(library);
  EXPECT_THAT(library.error().why, Not(HasSubstr("libnccl-net-")));
}

TEST(NetLibrary, RemedyFitsTheReason) {
  const auto refusal = [](const std::string& name) {
    const Result<NetLibrary> library = NetLibrary::open(name);
    return library ? std::string() : library.error().message();
  };
  EXPECT_THAT(refusal("no-such-net"), HasSubstr("add its folder to LD_LIBRARY_PATH"));
  EXPECT_THAT(refusal("./no-such-net"), EndsWith("(look at the path)"));
  const testing::PrivateFolder folder;
  const std::string file = folder.path() + "/libnccl-net-x.so";
  for (const auto& [content, reason] :
       {std::pair<std::string, const char*>("x", "file too short"),
        std::pair<std::string, const char*>(std::string(4'096, 'x'), "invalid ELF header")}) {
    std::ofstream(file) << content;
    EXPECT_THAT(refusal(file), HasSubstr(reason));
    EXPECT_THAT(refusal(file), HasSubstr("no library of this machine's kind"));
    EXPECT_THAT(refusal(file), Not(HasSubstr("LD_LIBRARY_PATH")));
  }
}

TEST(NetLibrary, LibraryWithoutTableIsRefused) {
  const Result<NetLibrary> library = NetLibrary::open(net_file("empty"));
  ASSERT_FALSE(library);
  EXPECT_EQ(library.error().code, ErrorCode::kVersion);
  EXPECT_THAT(library.error().why, HasSubstr("no table ncclNetPlugin_v6 to ncclNetPlugin_v12"));
}

TEST(NetLibrary, TableWithoutAFunctionIsRefused) {
  const Result<NetLibrary> library = NetLibrary::open(net_file("broken"));
  ASSERT_FALSE(library);
  EXPECT_EQ(library.error().code, ErrorCode::kInvalid);
  EXPECT_THAT(library.error().why, HasSubstr("init is null"));
}

TEST(ResultName, ResultsHaveNcclsNames) {
  EXPECT_STREQ(result_name(kRemoteError), "ncclRemoteError");
  EXPECT_STREQ(result_name(static_cast<Status>(99)), "ncclResult");
  EXPECT_EQ(error_code(kRemoteError), ErrorCode::kPeerDead);
  EXPECT_EQ(error_code(kInvalidArgument), ErrorCode::kSystem);  // the plugin's, not the user's
}

}  // namespace
}  // namespace heddle::nccl
