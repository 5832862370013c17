// The contract suite over UDP sockets with forward error correction around them.
#include <gtest/gtest.h>

#include <memory>
#include <utility>

#include "datapath/contract/contract.h"
#include "datapath/fec.h"
#include "datapath/udp.h"

namespace heddle::datapath::contract {
namespace {

class FecPair final : public Pair {
 public:
  static Result<std::unique_ptr<Pair>> make(const UdpOptions& options, const PairOptions& wanted) {
    if (wanted.mark_congestion) {
      return fail(ErrorCode::kUnavailable, "cannot mark", "the loopback interface does not");
    }
    auto pair = std::make_unique<FecPair>();
    for (std::unique_ptr<Datapath>* end : {&pair->a_, &pair->b_}) {
      Result<std::unique_ptr<Datapath>> opened = open_udp(options);
      if (!opened) return fail(opened.error());
      opened = with_fec(std::move(*opened), {4, 2});
      if (!opened) return fail(opened.error());
      *end = std::move(*opened);
    }
    Result<std::unique_ptr<Datapath>> gone = open_udp(options);
    if (!gone) return fail(gone.error());
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

Variant variant(const char* name, const char* bind, uint32_t mtu_bytes, Offload offload) {
  UdpOptions options{.bind = bind, .paths = 8, .mtu_bytes = mtu_bytes};
  options.segmentation = options.coalescing = offload;
  return {name, [options](const PairOptions& wanted) { return FecPair::make(options, wanted); }};
}

INSTANTIATE_TEST_SUITE_P(Fec, Contract,
                         testing::Values(variant("ipv4", "127.0.0.1", 0, Offload::kAuto),
                                         variant("ipv6_mtu_1500", "::1", 1500, Offload::kAuto),
                                         variant("ipv6_mtu_1280", "::1", 1280, Offload::kAuto),
                                         variant("single_datagrams", "127.0.0.1", 1500,
                                                 Offload::kOff)),
                         variant_name);

}  // namespace
}  // namespace heddle::datapath::contract
