// The contract suite over UDP sockets on loopback: both protocols, with and without the kernel's
// offloads, with the receive buffer that an unprivileged process gets.
#include <gtest/gtest.h>

#include <memory>
#include <utility>

#include "datapath/contract/contract.h"
#include "datapath/udp/udp_datapath.h"

namespace heddle::datapath::contract {
namespace {

class UdpPair final : public Pair {
 public:
  static Result<std::unique_ptr<Pair>> open(UdpOptions options, const PairOptions& wanted) {
    if (wanted.mark_congestion) {
      return fail(ErrorCode::kUnavailable, "cannot mark congestion", "loopback has no queue");
    }
    options.paths = 8;
    auto pair = std::make_unique<UdpPair>();
    for (std::unique_ptr<Datapath>* end : {&pair->a_, &pair->b_}) {
      Result<std::unique_ptr<Datapath>> opened = open_udp(options);
      if (!opened) return fail(std::move(opened).error());
      *end = std::move(*opened);
    }
    // A port that was free a moment ago.
    Result<std::unique_ptr<Datapath>> gone = open_udp(options);
    if (!gone) return fail(std::move(gone).error());
    pair->nobody_ = (*gone)->local_address();
    return std::unique_ptr<Pair>(std::move(pair));
  }

  Datapath& a() override { return *a_; }
  Datapath& b() override { return *b_; }
  transport::Address nobody() override { return nobody_; }
  bool reports_refused() const override { return true; }
  bool waits_block() const override { return true; }

 private:
  std::unique_ptr<Datapath> a_;
  std::unique_ptr<Datapath> b_;
  transport::Address nobody_;
};

Variant variant(const char* name, const UdpOptions& options) {
  return {name, [options](const PairOptions& wanted) { return UdpPair::open(options, wanted); }};
}

// Predictions of every step are honoured, so that the suite's small ones are tested.
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

UdpOptions with_defaults(const char* bind) {
  UdpOptions options;
  options.bind = bind;
  options.mtu_bytes = 1500;
  return options;
}

INSTANTIATE_TEST_SUITE_P(
    Udp, Contract,
    testing::Values(variant("ipv4", at("127.0.0.1")), variant("ipv6", at("::1")),
                    variant("ipv4_mtu_1500", with_mtu(at("127.0.0.1"), 1500)),
                    variant("ipv4_without_gso", without(at("127.0.0.1"), true, false)),
                    variant("ipv4_without_gro", without(at("127.0.0.1"), false, true)),
                    variant("ipv6_without_both", without(at("::1"), true, true)),
                    variant("debian_buffer", with_buffer(at("127.0.0.1"), {212'992})),
                    variant("no_prediction", with_defaults("127.0.0.1"))),
    variant_name);

}  // namespace
}  // namespace heddle::datapath::contract
