// The contract suite over RC and UC queue pairs between the two devices of the virtual machine
// (`heddle lab vm`), and the ends of queue pairs.
#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <utility>

#include "datapath/contract/chunk_contract.h"
#include "datapath/udp/testing/one_processor.h"
#include "datapath/verbs/verbs_datapath.h"

namespace heddle::datapath::contract {
namespace {

class VerbsPair final : public Pair {
 public:
  static Result<std::unique_ptr<Pair>> make(RdmaMode mode, bool six, const PairOptions& wanted) {
    if (wanted.mark_congestion) return fail(ErrorCode::kUnavailable, "no router on this link");
    auto pair = std::make_unique<VerbsPair>();
    if (auto opened = open(six ? "fd09::1" : "10.9.0.1", mode, pair->a_); !opened) {
      return fail(opened.error());
    }
    if (auto opened = open(six ? "fd09::2" : "10.9.0.2", mode, pair->b_); !opened) {
      return fail(opened.error());
    }
    pair->nobody_ = pair->b_->local_address();
    pair->nobody_.port = pair->nobody_.port == 9 ? 10 : 9;
    return std::unique_ptr<Pair>(std::move(pair));
  }

  Datapath& a() override { return *a_; }
  Datapath& b() override { return *b_; }
  // The other side answers requests for queue pairs, so it is driven as well: a turn of each.
  void wait_for(Datapath& datapath, Nanos at_most) override {
    const Nanos end = datapath.now() + at_most;
    while (datapath.now() < end) {
      a_->serve();
      b_->serve();
      if (static_cast<VerbsDatapath&>(datapath).has_events()) return;
      datapath.wait(std::min(end, datapath.now() + millis(2)));
      if (++turns_ % 8 == 0) return;
    }
  }
  transport::Address nobody() override { return nobody_; }
  bool reports_refused() const override { return true; }
  bool waits_block() const override { return true; }

 private:
  static Result<void> open(const std::string& bind, RdmaMode mode,
                           std::unique_ptr<VerbsDatapath>& to) {
    VerbsOptions options;
    options.bind = bind;
    options.paths = 8;
    options.chunk_paths = 4;
    options.mode = mode;
    options.place_min_bytes = 1;
    Result<std::unique_ptr<VerbsDatapath>> opened = VerbsDatapath::open(options);
    if (!opened) return fail(opened.error());
    to = std::move(*opened);
    return {};
  }

  OneProcessor in_order_;
  std::unique_ptr<VerbsDatapath> a_;
  std::unique_ptr<VerbsDatapath> b_;
  transport::Address nobody_;
  uint32_t turns_ = 0;
};

Variant variant(const char* name, RdmaMode mode, bool six) {
  return {name,
          [mode, six](const PairOptions& wanted) { return VerbsPair::make(mode, six, wanted); }};
}

const auto kVariants = testing::Values(variant("rc_ipv4", RdmaMode::kReliable, false),
                                       variant("rc_ipv6", RdmaMode::kReliable, true),
                                       variant("uc_ipv4", RdmaMode::kUnreliable, false));

INSTANTIATE_TEST_SUITE_P(Verbs, Contract, kVariants, variant_name);
INSTANTIATE_TEST_SUITE_P(Verbs, ChunkContract, kVariants, variant_name);

}  // namespace
}  // namespace heddle::datapath::contract
