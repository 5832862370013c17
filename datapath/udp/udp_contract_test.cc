// The contract suite over UDP sockets: both protocols, with and without kernel offloads, with the
// receive buffer of an unprivileged process, and through queues that exert back-pressure.
#include <gtest/gtest.h>

#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "datapath/contract/contract.h"
#include "datapath/udp/testing/one_processor.h"
#include "datapath/udp/testing/private_network.h"
#include "datapath/udp/udp_datapath.h"

namespace heddle::datapath::contract {
namespace {

class UdpPair final : public Pair {
 public:
  // `shaping`: a command for a private network of the pair; empty: the host's loopback.
  static Result<std::unique_ptr<Pair>> make(const UdpOptions& options, std::string shaping,
                                            const PairOptions& wanted) {
    auto pair = std::make_unique<UdpPair>();
    if (wanted.mark_congestion) shaping = kMark;
    if (shaping.empty()) {
      if (Result<void> opened = pair->open(options); !opened) return fail(opened.error());
      return std::unique_ptr<Pair>(std::move(pair));
    }
    Result<std::unique_ptr<PrivateNetwork>> network = PrivateNetwork::create();
    if (!network) return fail(network.error());
    if (Result<void> shaped = (*network)->command(shaping); !shaped) return fail(shaped.error());
    Result<void> opened;
    (*network)->run([&] { opened = pair->open(options); });
    if (!opened) return fail(opened.error());
    pair->network_ = std::move(*network);
    pair->in_order_.emplace();
    return std::unique_ptr<Pair>(std::move(pair));
  }

  Datapath& a() override { return *a_; }
  Datapath& b() override { return *b_; }
  transport::Address nobody() override { return nobody_; }
  bool reports_refused() const override { return true; }
  bool waits_block() const override { return true; }

 private:
  static constexpr const char* kMark =
      "nft 'add table inet t; add chain inet t c { type filter hook input priority 0; }; "
      "add rule inet t c ip ecn ect0 ip ecn set ce; add rule inet t c ip6 ecn ect0 ip6 ecn set ce'";

  Result<void> open(UdpOptions options) {
    options.paths = 8;
    for (std::unique_ptr<Datapath>* end : {&a_, &b_}) {
      Result<std::unique_ptr<Datapath>> opened = open_udp(options);
      if (!opened) return fail(opened.error());
      *end = std::move(*opened);
    }
    // A port that was free a moment ago.
    Result<std::unique_ptr<Datapath>> gone = open_udp(options);
    if (!gone) return fail(gone.error());
    nobody_ = (*gone)->local_address();
    return {};
  }

  std::unique_ptr<PrivateNetwork> network_;
  std::optional<OneProcessor> in_order_;
  std::unique_ptr<Datapath> a_;
  std::unique_ptr<Datapath> b_;
  transport::Address nobody_;
};

Variant variant(const char* name, const UdpOptions& options, const std::string& shaping = {}) {
  return {name, [options, shaping](const PairOptions& wanted) {
            return UdpPair::make(options, shaping, wanted);
          }};
}

// Accepts predictions of every step, so that the suite's small ones are tested.
UdpOptions at(const char* bind) {
  UdpOptions options;
  options.bind = bind;
  options.place_min_bytes = 1;
  return options;
}

UdpOptions without(UdpOptions options, bool segmentation, bool coalescing) {
  if (segmentation) options.segmentation = Offload::kOff;
  if (coalescing) options.coalescing = Offload::kOff;
  return options;
}

UdpOptions with_mtu(UdpOptions options, uint32_t mtu_bytes) {
  options.mtu_bytes = mtu_bytes;
  return options;
}

UdpOptions with_buffer(UdpOptions options, Bytes receive_buffer) {
  options.receive_buffer = receive_buffer;
  return options;
}

// At this size no prediction is worth its cost.
UdpOptions with_defaults(const char* bind) {
  UdpOptions options;
  options.bind = bind;
  options.mtu_bytes = 1500;
  return options;
}

// Sockets fill up behind this queue; it drops nothing.
constexpr const char* kSlowQueue =
    "tc qdisc add dev lo root tbf rate 400mbit burst 64kb latency 2s";
// This queue fills quickly and refuses packets.
constexpr const char* kShortQueue =
    "tc qdisc add dev lo root tbf rate 400mbit burst 20kb limit 30000";

INSTANTIATE_TEST_SUITE_P(
    Udp, Contract,
    testing::Values(
        variant("ipv4", at("127.0.0.1")), variant("ipv6", at("::1")),
        variant("ipv4_mtu_1500", with_mtu(at("127.0.0.1"), 1500)),
        variant("ipv4_without_gso", without(at("127.0.0.1"), true, false)),
        variant("ipv4_without_gro", without(at("127.0.0.1"), false, true)),
        variant("ipv6_without_both", without(at("::1"), true, true)),
        variant("debian_buffer", with_buffer(at("127.0.0.1"), {212'992})),
        variant("no_prediction", with_defaults("127.0.0.1")),
        variant("slow_queue", at("127.0.0.1"), kSlowQueue),
        variant("slow_queue_without_gso", without(at("127.0.0.1"), true, false), kSlowQueue),
        variant("short_queue", without(with_mtu(at("127.0.0.1"), 1500), true, false), kShortQueue)),
    variant_name);

}  // namespace
}  // namespace heddle::datapath::contract
