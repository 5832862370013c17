// The contract suite over UD queue pairs of devices that exist only here; those of the virtual
// machine have it in vm/.
#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "datapath/contract/contract.h"
#include "datapath/ud/testing/datagram_nics.h"
#include "datapath/ud/testing/ud_ends.h"

namespace heddle::datapath::contract {
namespace {

struct Wish {
  std::string a = "127.0.0.1";
  std::string b = "127.0.0.2";
  uint8_t mtu = 5;
  bool acquainted = true;
};

class UdPair final : public Pair {
 public:
  static Result<std::unique_ptr<Pair>> make(const Wish& wish, const PairOptions& wanted) {
    if (wanted.mark_congestion) return fail(ErrorCode::kUnavailable, "no router on this link");
    auto pair = std::make_unique<UdPair>(wish);
    for (size_t end = 0; end < 2; ++end) {
      const VerbsOptions options{.paths = 8, .chunk_paths = 4, .mode = RdmaMode::kDatagrams};
      auto opened = UdDatapath::open(options, {.port = pair->nics_.port(end)});
      if (!opened) return fail(opened.error());
      pair->ends_[end] = std::move(*opened);
    }
    pair->nobody_ = pair->ends_[1]->local_address();
    pair->nobody_.port = pair->nobody_.port == 9 ? 10 : 9;
    if (wish.acquainted && !acquaint(*pair->ends_[0], *pair->ends_[1])) {
      return fail(ErrorCode::kSystem, "they do not use their queue pairs");
    }
    return std::unique_ptr<Pair>(std::move(pair));
  }

  explicit UdPair(const Wish& wish) : nics_({wish.a, wish.b}) {
    nics_.set_mtu(0, wish.mtu);
    nics_.set_mtu(1, wish.mtu);
  }

  Datapath& a() override { return *ends_[0]; }
  Datapath& b() override { return *ends_[1]; }
  transport::Address nobody() override { return nobody_; }
  bool reports_refused() const override { return true; }
  bool waits_block() const override { return true; }

 private:
  DatagramNics nics_;
  std::array<std::unique_ptr<UdDatapath>, 2> ends_;
  transport::Address nobody_;
};

Variant variant(const char* name, const Wish& wish) {
  return {name, [wish](const PairOptions& wanted) { return UdPair::make(wish, wanted); }};
}

INSTANTIATE_TEST_SUITE_P(Ud, Contract,
                         testing::Values(variant("ipv4", {}), variant("ipv4_mtu_2048", {.mtu = 4}),
                                         variant("ipv6", {.a = "::1", .b = "::1"}),
                                         variant("strangers", {.acquainted = false})),
                         variant_name);

}  // namespace
}  // namespace heddle::datapath::contract
