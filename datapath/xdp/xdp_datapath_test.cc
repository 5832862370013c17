// What AF_XDP does beside the contract suite: which datagrams take the XDP sockets and which the
// UDP datapath, neighbors that change, and what opening refuses. Needs root.
#include "datapath/xdp/xdp_datapath.h"

#include <gtest/gtest.h>
#include <linux/capability.h>
#include <poll.h>
#include <signal.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "datapath/resolve.h"
#include "datapath/udp.h"
#include "datapath/udp/testing/allocations.h"
#include "datapath/xdp/attachment.h"
#include "datapath/xdp/testing/wired_hosts.h"

namespace heddle::datapath {
namespace {

XdpOptions options_at(const std::string& bind) {
  XdpOptions options;
  options.bind = bind;
  options.paths = 4;
  options.mode = XdpMode::kCopy;
  return options;
}

class XdpDatapathTest : public testing::Test {
 protected:
  // False: skipped.
  bool wire(const WiredHostsOptions& options) {
    Result<std::unique_ptr<WiredHosts>> made = WiredHosts::create(options);
    if (!made) {
      [&] { GTEST_SKIP() << made.error().message(); }();
      return false;
    }
    hosts_ = std::move(*made);
    return true;
  }
  bool open_both(const XdpOptions& at_a, const XdpOptions& at_b) {
    a_ = open(hosts_->a(), at_a);
    b_ = open(hosts_->b(), at_b);
    return a_ != nullptr && b_ != nullptr;
  }
  static std::unique_ptr<XdpDatapath> open(PrivateNetwork& host, const XdpOptions& options) {
    Result<std::unique_ptr<XdpDatapath>> opened = try_open(host, options);
    if (opened) return std::move(*opened);
    const bool lacking = opened.error().code == ErrorCode::kPermission;
    [&] {
      if (lacking) GTEST_SKIP() << opened.error().message();
      ADD_FAILURE() << opened.error().message();
    }();
    return nullptr;
  }
  static Result<std::unique_ptr<XdpDatapath>> try_open(PrivateNetwork& host,
                                                       const XdpOptions& options) {
    Result<std::unique_ptr<XdpDatapath>> opened = fail(ErrorCode::kSystem, "not run");
    host.run([&] { opened = XdpDatapath::open(options); });
    return opened;
  }

  // Sends `count` datagrams one by one.
  static void send(Datapath& from, const transport::Address& to, int count) {
    const std::array<std::byte, 8> header{};
    transport::TxBurst burst;
    burst.to = to;
    burst.segments = 1;
    burst.header_bytes = header.size();
    burst.headers = header.data();
    for (int i = 0; i < count; ++i) ASSERT_EQ(from.transmit({&burst, 1}), 1u);
  }
  // Receives until there are `count` or nothing more arrives.
  static size_t collect(Datapath& at, size_t count) {
    size_t got = 0;
    RxBatch batch;
    for (int turns = 0; got < count && turns < 200; ++turns) {
      if (at.receive(batch, nullptr) == 0) {
        at.wait(at.now() + millis(10));
        continue;
      }
      for (size_t i = 0; i < batch.count; ++i) got += batch.runs[i].segments;
      at.release(batch);
    }
    return got;
  }

  std::unique_ptr<WiredHosts> hosts_;
  std::unique_ptr<XdpDatapath> a_;
  std::unique_ptr<XdpDatapath> b_;
};

TEST_F(XdpDatapathTest, DatagramsToANeighborTakeTheXdpSocketsOnBothSides) {
  if (!wire({})) return;
  if (!open_both(options_at("10.8.0.1"), options_at("10.8.0.2"))) return;
  send(*a_, b_->local_address(), 5);
  EXPECT_EQ(collect(*b_, 5), 5u);
  EXPECT_EQ(a_->xdp_statistics().datagrams_sent, 5u);
  EXPECT_EQ(b_->xdp_statistics().datagrams_received, 5u);
  EXPECT_EQ(b_->statistics().datagrams_received, 5u);
}

TEST_F(XdpDatapathTest, AnInterfaceMayBeNamedOrFound) {
  if (!wire({})) return;
  if (!open_both(options_at("wire0"), options_at(""))) return;
  EXPECT_EQ(host_text(a_->local_address()), "10.8.0.1");
  transport::Address to = b_->local_address();
  to.host = a_->local_address().host;
  to.host[15] = 2;
  send(*a_, to, 3);
  EXPECT_EQ(collect(*b_, 3), 3u);
  EXPECT_EQ(b_->xdp_statistics().datagrams_received, 3u);
  // From the wildcard: the route chooses the source.
  send(*b_, a_->local_address(), 3);
  EXPECT_EQ(collect(*a_, 3), 3u);
  EXPECT_EQ(b_->xdp_statistics().datagrams_sent, 3u);
}

TEST_F(XdpDatapathTest, EachNicHasItsOwnSockets) {
  if (!wire({})) return;
  ASSERT_TRUE(hosts_->add_second_wire());
  if (!open_both(options_at("10.8.0.1,10.8.1.1"), options_at("wire0,wire1"))) return;
  ASSERT_EQ(b_->local_nics().size(), 2u);
  const std::array<std::byte, 8> header{};
  for (uint8_t nic = 0; nic < 2; ++nic) {
    transport::TxBurst burst;
    burst.to = b_->local_nics()[nic];
    burst.nic = nic;
    burst.segments = 1;
    burst.header_bytes = header.size();
    burst.headers = header.data();
    ASSERT_EQ(a_->transmit({&burst, 1}), 1u);
    RxBatch batch;
    for (int i = 0; i < 200 && b_->receive(batch, nullptr) == 0; ++i) {
      b_->wait(b_->now() + millis(10));
    }
    ASSERT_EQ(batch.count, 1u);
    EXPECT_EQ(batch.runs[0].nic, nic);
    EXPECT_EQ(batch.runs[0].from.host, a_->local_nics()[nic].host);
    EXPECT_EQ(batch.runs[0].from.port, a_->source_port(0, nic));
    b_->release(batch);
  }
  EXPECT_EQ(a_->xdp_statistics().datagrams_sent, 2u);
  EXPECT_EQ(b_->xdp_statistics().datagrams_received, 2u);
}

TEST_F(XdpDatapathTest, DatagramsToThisHostTakeUdp) {
  if (!wire({})) return;
  a_ = open(hosts_->a(), options_at("10.8.0.1"));
  if (a_ == nullptr) return;
  std::unique_ptr<Datapath> local;
  hosts_->a().run([&] {
    UdpOptions udp;
    udp.bind = "10.8.0.1";
    if (auto opened = open_udp(udp)) local = std::move(*opened);
  });
  ASSERT_NE(local, nullptr);
  send(*a_, local->local_address(), 3);
  EXPECT_EQ(collect(*local, 3), 3u);
  send(*local, a_->local_address(), 3);
  EXPECT_EQ(collect(*a_, 3), 3u);
  EXPECT_EQ(a_->xdp_statistics().datagrams_sent, 0u);
  EXPECT_EQ(a_->xdp_statistics().datagrams_received, 0u);
}

// The first datagram takes UDP, so that the kernel resolves the neighbor; later ones do not.
TEST_F(XdpDatapathTest, TheKernelResolvesNeighbors) {
  if (!wire({.static_neighbors = false})) return;
  if (!open_both(options_at("10.8.0.1"), options_at("10.8.0.2"))) return;
  send(*a_, b_->local_address(), 1);
  ASSERT_EQ(collect(*b_, 1), 1u);
  EXPECT_EQ(a_->xdp_statistics().datagrams_sent, 0u);
  // Within kUnresolvedAge the old answer may still be used.
  for (int i = 0; i < 1000 && a_->xdp_statistics().datagrams_sent == 0; ++i) {
    usleep(100);
    send(*a_, b_->local_address(), 1);
    ASSERT_EQ(collect(*b_, 1), 1u);
  }
  EXPECT_GT(a_->xdp_statistics().datagrams_sent, 0u);
}

// Else the kernel would never verify a neighbor that only XDP sockets use.
TEST_F(XdpDatapathTest, AStaleNeighborIsVerifiedByTheKernel) {
  if (!wire({})) return;
  if (!open_both(options_at("10.8.0.1"), options_at("10.8.0.2"))) return;
  ASSERT_TRUE(hosts_->a().command(
      "ip neigh replace 10.8.0.2 lladdr 02:00:00:00:00:02 nud stale dev wire0"));
  usleep(2'000);
  send(*a_, b_->local_address(), 1);
  EXPECT_EQ(a_->xdp_statistics().datagrams_sent, 0u);
  usleep(2'000);
  send(*a_, b_->local_address(), 1);
  EXPECT_EQ(a_->xdp_statistics().datagrams_sent, 1u) << "it is in the state DELAY now";
  EXPECT_EQ(collect(*b_, 2), 2u);
}

// A frame with the old MAC address would not be received.
TEST_F(XdpDatapathTest, ANeighborsNewMacAddressIsUsed) {
  if (!wire({})) return;
  if (!open_both(options_at("10.8.0.1"), options_at("10.8.0.2"))) return;
  send(*a_, b_->local_address(), 1);
  ASSERT_EQ(collect(*b_, 1), 1u);
  const std::string moved = "02:00:00:00:00:77";
  ASSERT_TRUE(hosts_->b().command("ip link set wire0 address " + moved));
  ASSERT_TRUE(hosts_->a().command("ip neigh replace 10.8.0.2 lladdr " + moved +
                                  " nud permanent dev wire0"));
  usleep(2'000);  // notifications are read every kNotificationsEvery
  const uint64_t before = a_->xdp_statistics().datagrams_sent;
  send(*a_, b_->local_address(), 4);
  EXPECT_EQ(collect(*b_, 4), 4u);
  EXPECT_EQ(a_->xdp_statistics().datagrams_sent, before + 4);
}

TEST_F(XdpDatapathTest, ARouteThatMovesAwayIsLeftToUdp) {
  if (!wire({})) return;
  if (!open_both(options_at("10.8.0.1"), options_at("10.8.0.2"))) return;
  send(*a_, b_->local_address(), 1);
  ASSERT_EQ(collect(*b_, 1), 1u);
  ASSERT_TRUE(hosts_->a().command("ip route add blackhole 10.8.0.2/32"));
  usleep(2'000);
  const uint64_t before = a_->xdp_statistics().datagrams_sent;
  send(*a_, b_->local_address(), 1);
  EXPECT_EQ(a_->xdp_statistics().datagrams_sent, before);
  transport::NetworkError error;
  EXPECT_TRUE(a_->poll_error(error));
  EXPECT_EQ(error.kind, transport::NetworkErrorKind::kUnreachable);
}

TEST_F(XdpDatapathTest, AnInterfaceThatGoesDownAndUpSendsAgain) {
  if (!wire({})) return;
  if (!open_both(options_at("10.8.0.1"), options_at("10.8.0.2"))) return;
  send(*a_, b_->local_address(), 1);
  ASSERT_EQ(collect(*b_, 1), 1u);
  ASSERT_TRUE(hosts_->a().command("ip link set wire0 down"));
  send(*a_, b_->local_address(), 3);  // lost, or refused by the kernel
  ASSERT_TRUE(hosts_->a().command(
      "sh -c 'ip link set wire0 up; "
      "ip neigh replace 10.8.0.2 lladdr 02:00:00:00:00:02 nud permanent dev wire0'"));
  size_t got = 0;
  for (int i = 0; i < 100 && got == 0; ++i) {
    send(*a_, b_->local_address(), 1);
    got = collect(*b_, 1);
  }
  EXPECT_GT(got, 0u);
}

TEST_F(XdpDatapathTest, FragmentsTakeUdp) {
  if (!wire({})) return;
  b_ = open(hosts_->b(), options_at("10.8.0.2"));
  if (b_ == nullptr) return;
  std::unique_ptr<Datapath> udp;
  hosts_->a().run([&] {
    UdpOptions options;
    options.bind = "10.8.0.1";
    options.mtu_bytes = 4000;  // more than the link has
    if (auto opened = open_udp(options)) udp = std::move(*opened);
  });
  ASSERT_NE(udp, nullptr);
  std::vector<std::byte> headers(3'000);
  transport::TxBurst burst;
  burst.to = b_->local_address();
  burst.segments = 1;
  burst.may_fragment = true;
  burst.header_bytes = 3'000;
  burst.headers = headers.data();
  ASSERT_EQ(udp->transmit({&burst, 1}), 1u);
  EXPECT_EQ(collect(*b_, 1), 1u);
  EXPECT_EQ(b_->xdp_statistics().datagrams_received, 0u);
}

TEST_F(XdpDatapathTest, SendingAndReceivingAllocateNothing) {
  if (!wire({})) return;
  if (!open_both(options_at("10.8.0.1"), options_at("10.8.0.2"))) return;
  send(*a_, b_->local_address(), 10);
  ASSERT_EQ(collect(*b_, 10), 10u);
  const uint64_t before = allocations();
  for (int i = 0; i < 100; ++i) {
    send(*a_, b_->local_address(), 10);
    ASSERT_EQ(collect(*b_, 10), 10u);
  }
  EXPECT_EQ(allocations() - before, 0u);
}

// After many receives without a wait the sockets are not watched; the next wait watches again.
TEST_F(XdpDatapathTest, AWaitAfterALongBusyTimeIsEndedByInput) {
  if (!wire({})) return;
  if (!open_both(options_at("10.8.0.1"), options_at("10.8.0.2"))) return;
  RxBatch batch;
  for (int i = 0; i < 600; ++i) {
    send(*a_, b_->local_address(), 1);
    // The kernel's thread that hands the datagram over may wait for a core.
    const Nanos give_up = b_->now() + seconds(20);
    while (b_->receive(batch, nullptr) == 0 && b_->now() < give_up) continue;
    ASSERT_EQ(batch.count, 1u);
    b_->release(batch);
  }
  for (const bool by_descriptor : {false, true}) {
    if (by_descriptor) b_->take_wake();
    send(*a_, b_->local_address(), 1);
    pollfd watched{.fd = b_->descriptor(), .events = POLLIN};
    if (by_descriptor) {
      EXPECT_EQ(poll(&watched, 1, 5'000), 1);
    } else {
      const Nanos before = b_->now();
      b_->wait(before + seconds(30));
      EXPECT_LT(b_->now(), before + seconds(20));
    }
    ASSERT_EQ(collect(*b_, 1), 1u);
  }
}

// --- busy polling ---

int socket_option(int socket, int name) {
  int value = -1;
  socklen_t length = sizeof value;
  return getsockopt(socket, SOL_SOCKET, name, &value, &length) == 0 ? value : -1;
}

// Linux 6.13 and newer names no NAPI of veth; older kernels do with the first frame.
TEST_F(XdpDatapathTest, BusyPollingIsOnFromTheFirstFrameOnWhereTheKernelNamesANapi) {
  constexpr int kPrefer = 69;  // SO_PREFER_BUSY_POLL
  if (!wire({})) return;
  a_ = open(hosts_->a(), options_at("10.8.0.1"));
  if (a_ == nullptr) return;
  XdpOptions options = options_at("10.8.0.2");
  options.busy_poll_us = 20;
  const transport::Address local = resolve("10.8.0.2", 7'777).value();
  std::shared_ptr<XdpAttachment> attachment;
  hosts_->b().run([&] {
    auto opened = XdpAttachment::open(options, {.local = local, .mtu_bytes = 1'500});
    if (opened) attachment = std::move(*opened);
  });
  ASSERT_NE(attachment, nullptr);
  XdpSocket& socket = *attachment->sockets(0).front();
  EXPECT_EQ(socket_option(socket.descriptor(), kPrefer), 1);
  EXPECT_EQ(socket_option(socket.descriptor(), SO_BUSY_POLL), 20);
  EXPECT_NE(attachment->text().find("busy polling"), std::string::npos) << attachment->text();
  send(*a_, local, 1);
  pollfd watched{.fd = socket.descriptor(), .events = POLLIN};
  ASSERT_EQ(poll(&watched, 1, 5'000), 1);
  ASSERT_EQ(socket.received(), 1U);
  socket.settle_busy_poll();
  const bool napi = socket_option(socket.descriptor(), SO_INCOMING_NAPI_ID) > 0;
  EXPECT_EQ(socket.busy_polls(), napi);
  EXPECT_EQ(socket_option(socket.descriptor(), kPrefer), napi ? 1 : 0);
}

// The kernel holds back the interrupts of the interface for a minute, so that a frame arrives
// earlier only where receive() runs the driver.
TEST_F(XdpDatapathTest, ABusyPollingReceiverNeedsNoInterrupts) {
  if (!wire({})) return;
  XdpOptions polls = options_at("10.8.0.2");
  polls.busy_poll_us = 20;
  if (!open_both(options_at("10.8.0.1"), polls)) return;
  send(*a_, b_->local_address(), 1);
  ASSERT_EQ(collect(*b_, 1), 1u);
  if (!b_->busy_polls()) GTEST_SKIP() << "this kernel names no NAPI of a veth interface";
  const std::string interface = "/sys/class/net/wire0/";
  ASSERT_TRUE(hosts_->b().command("unshare -m sh -c 'mount -t sysfs none /sys && echo 10 > " +
                                  interface + "napi_defer_hard_irqs && echo 60000000000 > " +
                                  interface + "gro_flush_timeout'"));
  send(*a_, b_->local_address(), 1);
  ASSERT_EQ(collect(*b_, 1), 1u) << "the last one with an interrupt";
  RxBatch batch;
  for (int i = 0; i < 50; ++i) {
    send(*a_, b_->local_address(), 1);
    size_t got = 0;
    for (int turns = 0; turns < 1'000 && got == 0; ++turns) got = b_->receive(batch, nullptr);
    ASSERT_EQ(got, 1u) << i;
    b_->release(batch);
  }
}

// --- opening ---

TEST_F(XdpDatapathTest, ASecondProcessOnTheInterfaceIsRefusedWithTheProgramsName) {
  if (!wire({})) return;
  a_ = open(hosts_->a(), options_at("10.8.0.1"));
  if (a_ == nullptr) return;
  const auto second = try_open(hosts_->a(), options_at("10.8.0.1"));
  ASSERT_FALSE(second.has_value());
  EXPECT_EQ(second.error().code, ErrorCode::kInUse);
  EXPECT_NE(second.error().message().find("heddle_xdp"), std::string::npos)
      << second.error().message();
  EXPECT_NE(second.error().message().find("wire0"), std::string::npos);
  a_.reset();
  const auto third = try_open(hosts_->a(), options_at("10.8.0.1"));
  EXPECT_TRUE(third.has_value()) << third.error().message();
}

TEST_F(XdpDatapathTest, ZeroCopyOnADriverWithoutItIsRefusedWithTheReason) {
  if (!wire({})) return;
  XdpOptions options = options_at("10.8.0.1");
  options.mode = XdpMode::kZeroCopy;
  const auto opened = try_open(hosts_->a(), options);
  ASSERT_FALSE(opened.has_value());
  if (opened.error().code == ErrorCode::kPermission) GTEST_SKIP() << opened.error().message();
  EXPECT_EQ(opened.error().code, ErrorCode::kUnavailable);
  EXPECT_NE(opened.error().why.find("not supported"), std::string::npos) << opened.error().why;
}

TEST_F(XdpDatapathTest, LoopbackIsRefused) {
  if (!wire({})) return;
  const auto opened = try_open(hosts_->a(), options_at("127.0.0.1"));
  ASSERT_FALSE(opened.has_value());
  EXPECT_EQ(opened.error().code, ErrorCode::kUnavailable);
}

TEST_F(XdpDatapathTest, AutoTakesCopyModeWhereThereIsNoZeroCopy) {
  if (!wire({})) return;
  XdpOptions options = options_at("10.8.0.1");
  options.mode = XdpMode::kAuto;
  EXPECT_NE(open(hosts_->a(), options), nullptr);
}

// Runs in a child, since dropped capabilities do not return.
TEST_F(XdpDatapathTest, WithoutRightsTheErrorNamesTheCapabilities) {
  if (!wire({})) return;
  int status = -1;
  hosts_->a().run([&] {
    const pid_t child = fork();
    if (child == 0) {
      __user_cap_header_struct header{_LINUX_CAPABILITY_VERSION_3, 0};
      std::array<__user_cap_data_struct, 2> none{};
      if (syscall(SYS_capset, &header, none.data()) != 0) _exit(9);
      const auto opened = XdpDatapath::open(options_at("10.8.0.1"));
      if (opened) _exit(1);
      const bool named =
          opened.error().why.find("CAP_NET_RAW, CAP_NET_ADMIN, CAP_BPF") != std::string::npos;
      _exit(opened.error().code == ErrorCode::kPermission && named ? 0 : 2);
    }
    waitpid(child, &status, 0);
  });
  EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0) << status;
}

// The link of the program belongs to the process, so a killed one leaves nothing.
TEST_F(XdpDatapathTest, AKilledProcessLeavesNoProgramBehind) {
  if (!wire({})) return;
  if (open(hosts_->a(), options_at("10.8.0.1")) == nullptr) return;
  const std::string attached = "sh -c 'ip -d link show dev wire0 | grep -q prog/xdp'";
  bool opened = false;
  int status = 0;
  pid_t child = 0;
  std::array<int, 2> ready{};
  ASSERT_EQ(pipe(ready.data()), 0);
  hosts_->a().run([&] {
    child = fork();
    if (child != 0) return;
    const auto made = XdpDatapath::open(options_at("10.8.0.1"));
    const char word = made ? 'y' : 'n';
    if (write(ready[1], &word, 1) != 1) _exit(1);
    while (true) pause();
  });
  char word = 0;
  ASSERT_EQ(read(ready[0], &word, 1), 1);
  opened = word == 'y';
  const bool seen = hosts_->a().command(attached).has_value();
  kill(child, SIGKILL);
  waitpid(child, &status, 0);
  close(ready[0]);
  close(ready[1]);
  ASSERT_TRUE(opened);
  EXPECT_TRUE(seen);
  EXPECT_FALSE(hosts_->a().command(attached).has_value());
  const auto again = try_open(hosts_->a(), options_at("10.8.0.1"));
  EXPECT_TRUE(again.has_value()) << again.error().message();
}

}  // namespace
}  // namespace heddle::datapath
