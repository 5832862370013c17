// Settings reach the options; unknown names are rejected by an error that lists the valid ones.
#include "engine/configured.h"

#include <gtest/gtest.h>

#include <cstdio>

#include "engine/key_file.h"

namespace heddle::engine {
namespace {

Config load(std::vector<std::pair<std::string, std::string>> settings) {
  ConfigSources sources;
  sources.command_line = std::move(settings);
  return Config::load(config_keys(), sources).value();
}

TEST(Configured, DefaultsAreThoseOfTheOptions) {
  const Config config = load({});
  const Options options = configured_options(config).value();
  const Options plain;
  EXPECT_EQ(options.transport.default_paths, plain.transport.default_paths);
  EXPECT_EQ(options.transport.congestion, plain.transport.congestion);
  EXPECT_EQ(options.transport.selector, plain.transport.selector);
  EXPECT_EQ(options.transport.peer_dead_after, plain.transport.peer_dead_after);
  EXPECT_EQ(options.transport.handshake_timeout, plain.transport.handshake_timeout);
  EXPECT_EQ(options.transport.close_timeout, plain.transport.close_timeout);
  EXPECT_EQ(options.drive, plain.drive);
  EXPECT_EQ(options.spin, plain.spin);
  const NetworkOptions network = configured_network(config);
  EXPECT_TRUE(network.bind.empty());
  EXPECT_EQ(network.datapath, DatapathKind::kUdp);
  EXPECT_EQ(network.xdp_mode, datapath::XdpMode::kAuto);
  EXPECT_EQ(network.xdp_busy_poll_us, 0U);
  EXPECT_EQ(network.mtu_bytes, 0U);
  EXPECT_EQ(network.receive_buffer_bytes, 0U);
}

TEST(Configured, SettingsReachTheOptions) {
  const Config config = load({{"paths", "200"},
                              {"congestion", "swift"},
                              {"drive", "thread"},
                              {"engines", "3"},
                              {"spin", "never"},
                              {"bind", "127.0.0.1"},
                              {"datapath", "xdp"},
                              {"xdp_mode", "generic"},
                              {"xdp_busy_poll_us", "20"},
                              {"mtu_bytes", "1500"},
                              {"receive_buffer_bytes", "100000"},
                              {"peer_dead_after_ms", "70"}});
  const Options options = configured_options(config).value();
  EXPECT_EQ(options.transport.default_paths, 200);
  EXPECT_EQ(options.transport.max_paths, 200);
  EXPECT_EQ(options.transport.congestion, "swift");
  EXPECT_EQ(options.drive, Drive::kThread);
  EXPECT_EQ(options.engines, 3);
  EXPECT_EQ(options.spin, Spin::kNever);
  EXPECT_EQ(options.transport.peer_dead_after, millis(70));
  const NetworkOptions network = configured_network(config);
  EXPECT_EQ(network.bind, "127.0.0.1");
  EXPECT_EQ(network.datapath, DatapathKind::kXdp);
  EXPECT_EQ(network.xdp_mode, datapath::XdpMode::kGeneric);
  EXPECT_EQ(network.xdp_busy_poll_us, 20U);
  EXPECT_EQ(network.mtu_bytes, 1500U);
  EXPECT_EQ(network.receive_buffer_bytes, 100'000U);
}

TEST(Configured, EveryDatapathHasAName) {
  for (const auto& [name, kind] : {std::pair("auto", DatapathKind::kAuto),
                                   {"udp", DatapathKind::kUdp},
                                   {"xdp", DatapathKind::kXdp},
                                   {"verbs", DatapathKind::kVerbs}}) {
    EXPECT_EQ(configured_network(load({{"datapath", name}})).datapath, kind) << name;
  }
}

TEST(Configured, ProtectionWithoutAKeyIsAnError) {
  for (const char* level : {"headers", "full"}) {
    const Result<Options> options = configured_options(load({{"protection", level}}));
    ASSERT_FALSE(options) << level;
    EXPECT_EQ(options.error().code, ErrorCode::kInvalid);
    EXPECT_NE(options.error().message().find("key_file"), std::string::npos);
  }
  for (const char* level : {"none", "auto"}) {
    const Result<Options> options = configured_options(load({{"protection", level}}));
    ASSERT_TRUE(options) << level;
    EXPECT_TRUE(options->transport.keys.empty());
  }
}

TEST(Configured, ProtectionLevelReachesTheOptionsAndNoneIgnoresTheKeys) {
  const std::string path = testing::TempDir() + "heddle-configured-test-key";
  std::remove(path.c_str());
  ASSERT_TRUE(generate_key_file(path));
  const auto options = [&path](const char* level) {
    return configured_options(load({{"key_file", path}, {"protection", level}})).value();
  };
  EXPECT_EQ(options("headers").transport.protection, transport::Protection::kHeaders);
  EXPECT_EQ(options("full").transport.protection, transport::Protection::kFull);
  EXPECT_EQ(options("auto").transport.protection, transport::Protection::kFull);
  EXPECT_EQ(options("headers").transport.keys.size(), 1U);
  EXPECT_TRUE(options("none").transport.keys.empty());
  std::remove(path.c_str());
}

// Observed: with stranger_bytes of 64 MiB, `perf --listen` listened and refused every client.
TEST(Configured, AStrangerBudgetTooSmallForOnePeerIsAnErrorThatNamesTheMinimum) {
  Options options = configured_options(load({{"stranger_bytes", "67108864"}})).value();
  const Result<void> none = check_stranger_bytes(options, kEndpointParts, 1);
  ASSERT_FALSE(none);
  EXPECT_EQ(none.error().code, ErrorCode::kExhausted);
  const std::string least = none.error().todo.substr(std::string("set it to ").size());
  options =
      configured_options(load({{"stranger_bytes", least.substr(0, least.find(' '))}})).value();
  EXPECT_TRUE(check_stranger_bytes(options, kEndpointParts, 1));
  EXPECT_FALSE(check_stranger_bytes(options, kEndpointParts, 2));
  options.transport.keys.emplace_back();
  EXPECT_TRUE(check_stranger_bytes(options, kEndpointParts, 60'000));
}

TEST(Configured, TheStrangerBudgetOfSeveralEnginesHasRoomForAPeerAtEach) {
  Options options =
      configured_options(load({{"stranger_bytes", "67108864"}, {"engines", "16"}})).value();
  const Result<void> none = check_stranger_bytes(options, kEndpointParts, 1);
  ASSERT_FALSE(none);
  std::string least = none.error().todo.substr(std::string("set it to ").size());
  least = least.substr(0, least.find(' '));
  options = configured_options(load({{"stranger_bytes", least}, {"engines", "16"}})).value();
  EXPECT_TRUE(check_stranger_bytes(options, kEndpointParts, 1));
  options = configured_options(load({{"engines", "16"}})).value();
  EXPECT_TRUE(check_stranger_bytes(options, kEndpointParts, 1)) << "the default suffices";
}

TEST(Configured, UnknownNamesAreRejectedWithTheValidOnes) {
  const Result<Options> congestion = configured_options(load({{"congestion", "reno"}}));
  ASSERT_FALSE(congestion);
  EXPECT_EQ(congestion.error().code, ErrorCode::kInvalid);
  EXPECT_NE(congestion.error().message().find("reno"), std::string::npos);
  EXPECT_NE(congestion.error().todo.find("cubic"), std::string::npos);
  EXPECT_FALSE(configured_options(load({{"selector", "random"}})));
}

}  // namespace
}  // namespace heddle::engine
