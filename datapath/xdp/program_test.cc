// The steering program, run by the kernel on single frames (BPF_PROG_TEST_RUN). Needs root.
#include "datapath/xdp/program.h"

#include <gtest/gtest.h>
#include <sys/socket.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "datapath/resolve.h"
#include "datapath/xdp/bpf.h"
#include "datapath/xdp/frame.h"
#include "transport/engine_share.h"

namespace heddle::datapath {
namespace {

using Frame = std::vector<std::byte>;

constexpr uint16_t kPort = 4791;
constexpr int kPass = 2;      // XDP_PASS
constexpr int kRedirect = 4;  // XDP_REDIRECT

transport::Address address(const char* text) {
  return resolve(text, kPort).value_or(transport::Address{});
}

class XdpProgramTest : public testing::Test {
 protected:
  void SetUp() override {
    BpfResult map = make_socket_map(4);
    if (map.error == EPERM || map.error == ENOSYS) {
      GTEST_SKIP() << "loading BPF programs needs root: " << std::strerror(map.error);
    }
    ASSERT_EQ(map.error, 0);
    map_ = std::move(map.descriptor);
    std::vector<transport::Address> ours = {address("10.0.0.2"), address("fd00::2"),
                                            address("10.0.0.3"), address("fd00::3")};
    std::string log;
    BpfResult program =
        load_program(steering_program({.map = map_.number()}, kPort, ours), false, log);
    ASSERT_EQ(program.error, 0) << log;
    program_ = std::move(program.descriptor);
    socket_ = Descriptor(socket(AF_XDP, SOCK_RAW | SOCK_CLOEXEC, 0));
    ASSERT_EQ(put_socket(map_, 0, socket_.number()), 0);
  }

  // With a socket at queue 0, a steered frame returns kRedirect.
  bool steers(const Frame& frame) {
    const int result = run_program(program_, frame);
    EXPECT_TRUE(result == kPass || result == kRedirect) << result;
    return result == kRedirect;
  }

  Descriptor map_;
  Descriptor socket_;
  Descriptor program_;
};

Frame udp(const char* from, const char* to, std::vector<VlanTag> tags = {}, uint16_t port = kPort) {
  LinkHeader link;
  link.tag_count = static_cast<uint8_t>(tags.size());
  std::copy(tags.begin(), tags.end(), link.tags.begin());
  const FrameTemplate frame = make_frame_template(link, address(from), address(to));
  Frame built(frame.header_bytes + 20);
  write_frame_headers(frame, {.from_port = 50'000, .to_port = port, .payload_bytes = 20}, {},
                      built.data());
  return built;
}

Frame udp_with(const char* from, const char* to, std::span<const std::byte> payload) {
  const FrameTemplate frame = make_frame_template({}, address(from), address(to));
  Frame built(frame.header_bytes + payload.size());
  const auto bytes = static_cast<uint32_t>(payload.size());
  write_frame_headers(frame, {.from_port = 50'000, .to_port = kPort, .payload_bytes = bytes}, {},
                      built.data());
  std::copy(payload.begin(), payload.end(), built.end() - static_cast<ptrdiff_t>(payload.size()));
  return built;
}

Frame changed(Frame frame, size_t at, int value) {
  frame[at] = static_cast<std::byte>(value);
  return frame;
}

TEST_F(XdpProgramTest, DatagramsToOurAddressesAndPortAreSteered) {
  EXPECT_TRUE(steers(udp("10.0.0.1", "10.0.0.2")));
  EXPECT_TRUE(steers(udp("10.9.9.9", "10.0.0.3")));
  EXPECT_TRUE(steers(udp("fd00::1", "fd00::2")));
  EXPECT_TRUE(steers(udp("fd00::1", "fd00::3")));
}

TEST_F(XdpProgramTest, UpToTwoVlanTagsAreSeenThrough) {
  for (const auto& [from, to] : {std::pair{"10.0.0.1", "10.0.0.2"}, {"fd00::1", "fd00::2"}}) {
    EXPECT_TRUE(steers(udp(from, to, {{0x8100, 7}})));
    EXPECT_TRUE(steers(udp(from, to, {{0x88a8, 7}, {0x8100, 8}})));
  }
  // A third tag where the type of the inner packet would be.
  EXPECT_FALSE(steers(
      changed(changed(udp("10.0.0.1", "10.0.0.2", {{0x88a8, 7}, {0x8100, 8}}), 20, 0x81), 21, 0)));
}

TEST_F(XdpProgramTest, OtherAddressesAndPortsPass) {
  EXPECT_FALSE(steers(udp("10.0.0.1", "10.0.0.4")));
  EXPECT_FALSE(steers(udp("fd00::1", "fd00::4")));
  EXPECT_FALSE(steers(udp("10.0.0.1", "10.0.0.2", {}, kPort + 1)));
  EXPECT_FALSE(steers(udp("fd00::1", "fd00::2", {}, kPort + 1)));
}

TEST_F(XdpProgramTest, AllButPlainUdpPassesToTheKernel) {
  const Frame four = udp("10.0.0.1", "10.0.0.2");
  EXPECT_FALSE(steers(changed(four, 23, 6))) << "TCP";
  EXPECT_FALSE(steers(changed(four, 14, 0x46))) << "IPv4 options";
  EXPECT_FALSE(steers(changed(four, 20, 0x20))) << "the first fragment";
  EXPECT_FALSE(steers(changed(four, 21, 0x05))) << "a later fragment";
  EXPECT_FALSE(steers(changed(four, 13, 0x06))) << "ARP";
  EXPECT_FALSE(steers(changed(udp("fd00::1", "fd00::2"), 20, 58))) << "ICMPv6";
  EXPECT_FALSE(steers(changed(udp("fd00::1", "fd00::2"), 20, 44))) << "an IPv6 fragment";
}

// The kernel runs programs on frames of at least 14 bytes.
TEST_F(XdpProgramTest, TruncatedFramesPass) {
  for (const Frame& whole : {udp("10.0.0.1", "10.0.0.2"), udp("fd00::1", "fd00::2")}) {
    const size_t headers = whole.size() - 20;
    for (size_t bytes = 14; bytes < headers; ++bytes) {
      const Frame part(whole.begin(), whole.begin() + static_cast<ptrdiff_t>(bytes));
      EXPECT_FALSE(steers(part)) << bytes;
    }
    EXPECT_TRUE(steers(Frame(whole.begin(), whole.begin() + static_cast<ptrdiff_t>(headers))));
  }
}

TEST_F(XdpProgramTest, AddressesOfOneProtocolLeaveTheOtherAlone) {
  std::string log;
  BpfResult four = load_program(
      steering_program({.map = map_.number()}, kPort, {address("10.0.0.2")}), true, log);
  ASSERT_EQ(four.error, 0) << log;
  EXPECT_EQ(run_program(four.descriptor, udp("10.0.0.1", "10.0.0.2")), kRedirect);
  EXPECT_EQ(run_program(four.descriptor, udp("fd00::1", "fd00::2")), kPass);
  BpfResult six = load_program(
      steering_program({.map = map_.number()}, kPort, {address("fd00::2")}), true, log);
  ASSERT_EQ(six.error, 0) << log;
  EXPECT_EQ(run_program(six.descriptor, udp("10.0.0.1", "10.0.0.2")), kPass);
  EXPECT_EQ(run_program(six.descriptor, udp("fd00::1", "fd00::2")), kRedirect);
}

TEST_F(XdpProgramTest, TheMostAddressesFit) {
  std::vector<transport::Address> many;
  for (size_t i = 0; i < kMaxProgramAddresses; ++i) {
    many.push_back(address("fd00::100"));
    many.back().host[15] = static_cast<uint8_t>(i);
  }
  std::string log;
  BpfResult full = load_program(steering_program({.map = map_.number()}, kPort, many), true, log);
  ASSERT_EQ(full.error, 0) << log;
  EXPECT_EQ(run_program(full.descriptor, udp("fd00::1", "fd00::10f")), kRedirect);
  EXPECT_EQ(run_program(full.descriptor, udp("fd00::1", "fd00::110")), kPass);
}

// The kernel's copy of transport::engine_of(): with a socket at one engine's place, only what
// belongs to that engine is redirected, at any length.
TEST_F(XdpProgramTest, EachDatagramTakesTheSocketOfTheEngineThatItNames) {
  for (const uint8_t engines : {uint8_t{2}, uint8_t{3}, transport::kMostEngines}) {
    for (uint8_t engine = 0; engine < engines; ++engine) {
      BpfResult map = make_socket_map(engines);
      ASSERT_EQ(map.error, 0);
      ASSERT_EQ(put_socket(map.descriptor, engine, socket_.number()), 0);
      std::string log;
      const SteeringTarget target{.map = map.descriptor.number(), .engines = engines};
      BpfResult program = load_program(
          steering_program(target, kPort, {address("10.0.0.2"), address("fd00::2")}), false, log);
      ASSERT_EQ(program.error, 0) << log;
      for (const auto& [from, to] : {std::pair{"10.0.0.1", "10.0.0.2"}, {"fd00::1", "fd00::2"}}) {
        for (unsigned type = 0; type < 16; ++type) {
          for (const size_t bytes : {1UL, 8UL, 9UL, 24UL, 25UL, 64UL}) {
            for (int id = 0; id < 256; id += 7) {
              std::vector<std::byte> payload(bytes, std::byte{static_cast<uint8_t>(id)});
              payload[0] = std::byte{static_cast<uint8_t>(0x20 | type)};
              const uint8_t owner = transport::engine_of(payload, {.count = engines});
              if (owner >= engines) continue;  // any may take it
              const bool own = owner == engine;
              EXPECT_EQ(run_program(program.descriptor, udp_with(from, to, payload)),
                        own ? kRedirect : kPass)
                  << "type " << type << " id " << id << " of " << bytes << " bytes, engine "
                  << int{engine} << " of " << int{engines};
            }
          }
        }
      }
    }
  }
}

}  // namespace
}  // namespace heddle::datapath
