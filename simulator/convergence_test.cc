// Flows that share a bottleneck converge to equal shares with each congestion controller, over the
// whole stack.
#include <gtest/gtest.h>

#include <memory>
#include <ostream>
#include <string>
#include <vector>

#include "simulator/testing/stream.h"
#include "simulator/world.h"
#include "topology/generators.h"
#include "transport/congestion/registry.h"

namespace heddle::simulator {
namespace {

struct Case {
  std::string congestion;
  uint32_t flows = 2;
  Nanos between_starts;
};

void PrintTo(const Case& one, std::ostream* out) {
  *out << one.flows << " flows of " << one.congestion;
}

constexpr uint64_t kMessage = 1u << 20;

// Flow i goes from host i on the left to host i on the right; all share one link of 10 Gb/s.
topology::Topology dumbbell(uint32_t flows) {
  topology::LeafSpineShape shape{.leaves = 2, .spines = 1, .hosts_per_leaf = flows};
  shape.host_link = {.rate = gigabits_per_s(25), .delay = micros(2), .queue = mebibytes(4)};
  shape.spine_link = {.rate = gigabits_per_s(10),
                      .delay = micros(10),
                      .queue = kibibytes(512),
                      .ecn_threshold = kibibytes(96)};
  return topology::leaf_spine(shape);
}

TransportProcessOptions options_of(NicId nic, const std::string& congestion) {
  TransportProcessOptions options;
  options.process.datapath.nic = nic;
  options.process.datapath.receive_capacity = mebibytes(2);
  options.transport.accept = true;
  options.transport.congestion = congestion;
  return options;
}

double jain_index(const std::vector<double>& rates) {
  double sum = 0;
  double squares = 0;
  for (const double rate : rates) {
    sum += rate;
    squares += rate * rate;
  }
  return sum * sum / (static_cast<double>(rates.size()) * squares);
}

class ConvergenceTest : public testing::TestWithParam<Case> {};

TEST_P(ConvergenceTest, FlowsShareABottleneckEvenly) {
  const auto& [congestion, flows, between_starts] = GetParam();
  World world({.topology = dumbbell(flows)}, 1);
  std::vector<TransportProcess*> processes;
  for (uint32_t nic = 0; nic < 2 * flows; ++nic) {
    processes.push_back(&world.add(options_of(nic, congestion)));
  }
  std::vector<std::unique_ptr<Stream>> receivers;
  std::vector<std::unique_ptr<Stream>> senders;
  for (uint32_t flow = 0; flow < flows; ++flow) {
    TransportProcess& to = *processes[flows + flow];
    StreamOptions stream{.message_bytes = kMessage, .messages = 4'000, .pattern = flow + 1};
    receivers.push_back(std::make_unique<Stream>(to, stream));
    stream.peer = to.address();
    senders.push_back(std::make_unique<Stream>(*processes[flow], stream));
    world.run_for(between_starts);
  }
  world.run_for(millis(200));
  std::vector<double> rates;
  for (const auto& receiver : receivers) {
    rates.push_back(-static_cast<double>(receiver->statistics()->payload_bytes_received));
  }
  const Nanos span = millis(300);
  world.run_for(span);
  double total = 0;
  for (uint32_t flow = 0; flow < flows; ++flow) {
    rates[flow] += static_cast<double>(receivers[flow]->statistics()->payload_bytes_received);
    total += rates[flow] * 8 / static_cast<double>(span.count);
    EXPECT_TRUE(receivers[flow]->violations().empty());
    EXPECT_FALSE(senders[flow]->closed());
    receivers[flow]->forget();
  }
  EXPECT_GE(jain_index(rates), 0.95);
  EXPECT_GE(total, 8.5) << "gigabits a second of goodput on a link of 10";
  EXPECT_LT(total, 10);
  RecordProperty("jain_index_per_thousand", static_cast<int>(jain_index(rates) * 1000));
  RecordProperty("goodput_mbits_per_s", static_cast<int>(total * 1000));
}

// Controllers that react to loss or marks must yield to a flow that starts when the link is full.
// Swift takes the lowest round trip of a connection as the fabric's base, so a flow that never saw
// an empty queue aims higher than the others; its flows start together here.
std::vector<Case> cases() {
  std::vector<Case> all;
  for (const std::string_view name : transport::controller_names()) {
    for (const uint32_t flows : {2, 8}) {
      all.push_back({std::string(name), flows, name == "swift" ? Nanos{} : millis(10)});
    }
  }
  return all;
}
std::string case_name(const testing::TestParamInfo<Case>& info) {
  return info.param.congestion + "_" + std::to_string(info.param.flows);
}
INSTANTIATE_TEST_SUITE_P(Controllers, ConvergenceTest, testing::ValuesIn(cases()), case_name);

}  // namespace
}  // namespace heddle::simulator
