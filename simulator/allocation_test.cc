// No allocations in the simulator's steady state, counted by this test program's operator new.
#include <gtest/gtest.h>

#include <cstdlib>
#include <memory>
#include <new>
#include <vector>

#include "simulator/network.h"
#include "simulator/sim_datapath.h"
#include "topology/generators.h"

namespace {

uint64_t g_allocations = 0;

void* counted(std::size_t bytes) {
  ++g_allocations;
  if (void* memory = std::malloc(bytes)) return memory;
  throw std::bad_alloc();
}

}  // namespace

// GCC 12 inlines these functions and then reports new and free as a mismatch.
#pragma GCC diagnostic ignored "-Wmismatched-new-delete"
void* operator new(std::size_t bytes) { return counted(bytes); }
void* operator new[](std::size_t bytes) { return counted(bytes); }
void* operator new(std::size_t bytes, const std::nothrow_t&) noexcept { return counted(bytes); }
void* operator new[](std::size_t bytes, const std::nothrow_t&) noexcept { return counted(bytes); }
void operator delete(void* memory) noexcept { std::free(memory); }
void operator delete[](void* memory) noexcept { std::free(memory); }
void operator delete(void* memory, std::size_t) noexcept { std::free(memory); }
void operator delete[](void* memory, std::size_t) noexcept { std::free(memory); }

namespace heddle::simulator {
namespace {

// Every host sends bursts to its counterpart, and receives and places its input.
TEST(SimulatorAllocationTest, PacketsThroughALossyFabricAllocateNothing) {
  topology::Topology topology =
      topology::leaf_spine({.leaves = 2, .spines = 2, .hosts_per_leaf = 4});
  for (topology::Link& link : topology.links) {
    link.forward = {.loss_per_million = 1'000,
                    .duplicate_per_million = 1'000,
                    .reorder_per_million = 1'000,
                    .reorder_min = micros(1),
                    .reorder_max = micros(50)};
  }
  Network network(topology, {}, 1);
  std::vector<std::unique_ptr<SimDatapath>> hosts;
  std::vector<transport::RegionId> sources;
  std::vector<transport::RegionId> targets;
  for (NicId nic = 0; nic < 8; ++nic) {
    hosts.push_back(std::make_unique<SimDatapath>(network, SimDatapathOptions{.nic = nic}));
    sources.push_back(hosts.back()->register_virtual(nic, 1u << 30));
    targets.push_back(hosts.back()->register_virtual(nic + 100, 1u << 30));
  }
  std::vector<std::byte> headers(8 * transport::kDataHeaderBytes);
  datapath::RxBatch batch;
  uint64_t before = 0;
  uint64_t runs = 0;
  for (uint32_t round = 0; round < 2'000; ++round) {
    if (round == 1'000) before = g_allocations;
    for (NicId nic = 0; nic < 8; ++nic) {
      transport::TxBurst burst;
      burst.to = hosts[7 - nic]->local_address();
      burst.path = static_cast<uint16_t>(round % 64);
      burst.segments = 8;
      burst.header_bytes = transport::kDataHeaderBytes;
      burst.headers = headers.data();
      burst.payload_bytes = burst.last_payload_bytes = 4'000;
      burst.region = sources[nic];
      burst.offset = round * 32'000u;
      hosts[nic]->transmit({&burst, 1});
    }
    network.run_until(network.now() + micros(10));
    for (NicId nic = 0; nic < 8; ++nic) {
      hosts[nic]->receive(batch, nullptr);
      for (size_t i = 0; i < batch.count; ++i) {
        transport::Placement placement;
        placement.payload_at = transport::PayloadAt::kVirtual;
        placement.from = batch.runs[i].place;
        placement.segments = batch.runs[i].segments;
        placement.bytes = placement.last_bytes = 4'000;
        placement.to_region = targets[nic];
        hosts[nic]->place({&placement, 1});
        ++runs;
      }
      hosts[nic]->release(batch);
    }
  }
  EXPECT_GT(runs, 2'000u);
  EXPECT_GT(network.fates()[Fate::kReordered], 0u);
  EXPECT_EQ(g_allocations, before);
}

}  // namespace
}  // namespace heddle::simulator
