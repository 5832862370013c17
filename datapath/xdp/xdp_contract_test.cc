// The contract suite over XDP sockets on a veth pair between two network namespaces: native and
// generic mode, both protocols, one and several queues, packets in one and in several frames, and a
// peer that has UDP sockets only.
#include <gtest/gtest.h>

#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "datapath/contract/contract.h"
#include "datapath/udp.h"
#include "datapath/udp/testing/one_processor.h"
#include "datapath/xdp.h"
#include "datapath/xdp/testing/wired_hosts.h"
#include "datapath/xdp/xdp_datapath.h"

namespace heddle::datapath::contract {
namespace {

struct XdpVariant {
  bool six = false;
  XdpMode mode = XdpMode::kCopy;
  WiredHostsOptions hosts;
  uint32_t busy_poll_us = 0;
  bool a_is_udp = false;
  bool b_is_udp = false;
};

class XdpPair final : public Pair {
 public:
  static Result<std::unique_ptr<Pair>> make(const XdpVariant& variant, const PairOptions& wanted) {
    auto pair = std::make_unique<XdpPair>();
    WiredHostsOptions hosts = variant.hosts;
    hosts.router = wanted.mark_congestion;
    if (hosts.router && hosts.vlan) {
      return fail(ErrorCode::kUnavailable, "no router between VLAN interfaces");
    }
    Result<std::unique_ptr<WiredHosts>> wired = WiredHosts::create(hosts);
    if (!wired) return fail(wired.error());
    pair->hosts_ = std::move(*wired);
    pair->in_order_.emplace();
    const std::string at_a = pair->hosts_->address_a(variant.six);
    const std::string at_b = pair->hosts_->address_b(variant.six);
    Result<void> opened;
    pair->hosts_->a().run([&] { opened = open(at_a, variant, variant.a_is_udp, pair->a_); });
    if (!opened) return fail(opened.error());
    pair->hosts_->b().run([&] { opened = open(at_b, variant, variant.b_is_udp, pair->b_); });
    if (!opened) return fail(opened.error());
    pair->nobody_ = pair->b_->local_address();
    pair->nobody_.port = pair->nobody_.port == 9 ? 10 : 9;
    return std::unique_ptr<Pair>(std::move(pair));
  }

  // Without this check all would pass if each datagram took the UDP sockets behind.
  ~XdpPair() override {
    expect_xdp(a_.get());
    expect_xdp(b_.get());
  }

  Datapath& a() override { return *a_; }
  Datapath& b() override { return *b_; }
  transport::Address nobody() override { return nobody_; }
  bool reports_refused() const override { return true; }
  bool waits_block() const override { return true; }
  size_t wire_datagrams() const override { return 256; }  // a veth queue; the kernel's constant

 private:
  static Result<void> open(const std::string& bind, const XdpVariant& variant, bool udp,
                           std::unique_ptr<Datapath>& to) {
    Result<std::unique_ptr<Datapath>> opened = udp ? open_plain(bind) : open_with(bind, variant);
    if (!opened) return fail(opened.error());
    to = std::move(*opened);
    return {};
  }
  static Result<std::unique_ptr<Datapath>> open_plain(const std::string& bind) {
    UdpOptions options;
    options.bind = bind;
    options.paths = 8;
    options.place_min_bytes = 1;
    return open_udp(options);
  }
  static Result<std::unique_ptr<Datapath>> open_with(const std::string& bind,
                                                     const XdpVariant& variant) {
    XdpOptions options;
    options.bind = bind;
    options.paths = 8;
    options.mode = variant.mode;
    options.busy_poll_us = variant.busy_poll_us;
    return open_xdp(options);
  }

  static void expect_xdp(const Datapath* end) {
    const auto* xdp = dynamic_cast<const XdpDatapath*>(end);
    if (xdp == nullptr) return;
    const uint64_t arrived = xdp->statistics().datagrams_received;
    EXPECT_GE(2 * xdp->xdp_statistics().datagrams_received, arrived) << "of these over XDP sockets";
  }

  std::unique_ptr<WiredHosts> hosts_;
  std::optional<OneProcessor> in_order_;
  std::unique_ptr<Datapath> a_;
  std::unique_ptr<Datapath> b_;
  transport::Address nobody_;
};

Variant variant(const char* name, const XdpVariant& options) {
  return {name, [options](const PairOptions& wanted) { return XdpPair::make(options, wanted); }};
}

constexpr WiredHostsOptions kJumbo{.mtu_bytes = 9000};
constexpr WiredHostsOptions kPage{.mtu_bytes = 3000};
constexpr WiredHostsOptions kVlan{.vlan = true};
constexpr WiredHostsOptions kTwoQueues{.queues = 2};

INSTANTIATE_TEST_SUITE_P(
    Xdp, Contract,
    testing::Values(
        variant("copy_ipv4", {}), variant("copy_ipv6", {.six = true}),
        variant("generic_ipv4", {.mode = XdpMode::kGeneric}),
        variant("generic_ipv6", {.six = true, .mode = XdpMode::kGeneric}),
        variant("copy_mtu_3000", {.hosts = kPage}), variant("copy_mtu_9000", {.hosts = kJumbo}),
        variant("generic_mtu_9000", {.mode = XdpMode::kGeneric, .hosts = kJumbo}),
        variant("vlan_ipv4", {.hosts = kVlan}), variant("vlan_ipv6", {.six = true, .hosts = kVlan}),
        variant("busy_poll", {.busy_poll_us = 20}), variant("two_queues", {.hosts = kTwoQueues}),
        variant("to_udp", {.b_is_udp = true}), variant("from_udp", {.a_is_udp = true}),
        variant("from_udp_mtu_9000", {.hosts = kJumbo, .a_is_udp = true})),
    variant_name);

}  // namespace
}  // namespace heddle::datapath::contract
