// The simulated datapath passes the contract suite of all datapaths.
#include "datapath/contract/contract.h"

#include <gtest/gtest.h>

#include <memory>
#include <utility>

#include "datapath/contract/chunk_contract.h"
#include "simulator/network.h"
#include "simulator/sim_datapath.h"
#include "topology/generators.h"

namespace heddle::datapath::contract {
namespace {

using simulator::Network;
using simulator::SimDatapath;
using simulator::SimDatapathOptions;

class SimPair : public Pair {
 public:
  SimPair(const topology::Topology& topology, const SimDatapathOptions& options)
      : network_(topology, {}, 1), a_(network_, options), b_(network_, at_nic_1(options)) {}

  Datapath& a() override { return a_; }
  Datapath& b() override { return b_; }
  transport::Address nobody() override { return simulator::address_of(1, 9); }
  bool reports_refused() const override { return true; }
  bool waits_block() const override { return false; }

 private:
  static SimDatapathOptions at_nic_1(SimDatapathOptions options) {
    options.nic = 1;
    return options;
  }

  Network network_;
  SimDatapath a_;
  SimDatapath b_;
};

Variant variant(const char* name, uint32_t mtu_bytes, const SimDatapathOptions& options) {
  return {name, [=](const PairOptions& asked) -> Result<std::unique_ptr<Pair>> {
            topology::LinkShape shape;
            shape.mtu_bytes = mtu_bytes;
            shape.queue = gibibytes(1);
            if (asked.mark_congestion) shape.ecn_threshold = {0};
            std::unique_ptr<Pair> pair =
                std::make_unique<SimPair>(topology::parallel_paths(1, shape, shape), options);
            return pair;
          }};
}

INSTANTIATE_TEST_SUITE_P(
    Simulator, Contract,
    testing::Values(
        variant("runs", 9'000, {}), variant("small_mtu", 1'500, {}),
        variant("single_datagrams", 9'000, {.coalesces = false}),
        variant("no_prediction", 9'000, {.predicts = false}),
        variant("plain", 1'500,
                {.coalesces = false, .predicts = false, .ecn = false, .timestamps = false}),
        variant("other_clock", 9'000, {.clock_offset = seconds(-100)}),
        variant("one_path", 9'000, {.max_paths = 1}),
        variant("largest_mtu", 65'535, {.receive_capacity = mebibytes(1)})),
    variant_name);

SimDatapathOptions with_chunks(bool reliable) {
  SimDatapathOptions options;
  options.chunk_paths = 4;
  options.chunks.reliable = reliable;
  return options;
}
INSTANTIATE_TEST_SUITE_P(Simulator, ChunkContract,
                         testing::Values(variant("unreliable", 9'000, with_chunks(false)),
                                         variant("reliable", 9'000, with_chunks(true)),
                                         variant("small_mtu", 1'500, with_chunks(true))),
                         variant_name);

}  // namespace
}  // namespace heddle::datapath::contract
