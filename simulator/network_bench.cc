// Speed of the simulated network: packets through fabrics of several sizes, without a transport.
// `events` is the rate of one core; a packet takes one event per link.
#include <benchmark/benchmark.h>

#include <memory>
#include <vector>

#include "simulator/network.h"
#include "simulator/sim_datapath.h"
#include "topology/generators.h"

namespace heddle::simulator {
namespace {

class Sink : public Wakeup {
 public:
  explicit Sink(Network& network, NicId nic) : datapath(network, options_of(nic)) {
    datapath.set_wakeup(this);
  }
  void handle_ready() override {
    datapath::RxBatch batch;
    datapath.receive(batch, nullptr);
    datapath.release(batch);
  }
  SimDatapath datapath;

 private:
  static SimDatapathOptions options_of(NicId nic) {
    SimDatapathOptions options;
    options.nic = nic;
    return options;
  }
};

// Each host sends bursts of 8 segments to a host on another leaf, on changing paths.
void BM_PacketsThroughALeafSpine(benchmark::State& state) {
  const auto leaves = static_cast<uint32_t>(state.range(0));
  const topology::LeafSpineShape shape{
      .leaves = leaves, .spines = leaves / 2, .hosts_per_leaf = 16};
  Network network(topology::leaf_spine(shape), {}, 1);
  const uint32_t hosts = leaves * 16;
  std::vector<std::unique_ptr<Sink>> sinks;
  for (NicId nic = 0; nic < hosts; ++nic) sinks.push_back(std::make_unique<Sink>(network, nic));
  std::vector<std::byte> headers(8 * transport::kDataHeaderBytes);
  const transport::RegionId source = sinks[0]->datapath.register_virtual(1, uint64_t{1} << 40);
  transport::TxBurst burst;
  burst.segments = 8;
  burst.header_bytes = transport::kDataHeaderBytes;
  burst.headers = headers.data();
  burst.payload_bytes = burst.last_payload_bytes = 4'000;
  burst.region = source;
  uint32_t round = 0;
  const uint64_t before = network.events_handled();
  for (auto _ : state) {
    for (NicId nic = 0; nic < hosts; ++nic) {
      burst.to = address_of((nic + 16 + round % 16) % hosts, 4791);
      burst.path = static_cast<uint16_t>((round + nic) % 64);
      sinks[nic]->datapath.transmit({&burst, 1});
    }
    network.run_until(network.now() + micros(4));
    ++round;
  }
  state.SetItemsProcessed(static_cast<int64_t>(network.events_handled() - before));
  state.counters["delivered"] =
      static_cast<double>(sinks[hosts / 2]->datapath.statistics().datagrams_received);
}
BENCHMARK(BM_PacketsThroughALeafSpine)->Arg(2)->Arg(16)->Arg(64)->Arg(128);

}  // namespace
}  // namespace heddle::simulator
