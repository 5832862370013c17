// All stages: whatever fails or warns says what to do; and a fabric without a fault has no such
// row.
#include "acceptance/stages/stages.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "acceptance/testing/scripted_fabric.h"

namespace heddle::acceptance {
namespace {

// A fault of one stage: rows of this check must show it.
struct Fault {
  const char* what;
  StageRun run;
  const char* check;
  std::function<void(ScriptedFabric& fabric)> make;
};

// The answers to some commands are others.
using Change = std::function<void(ScriptedFabric& fabric)>;
Change answers(const char* word, const Answer& other) {
  return [=](ScriptedFabric& fabric) {
    fabric.answer = [=](const Asked& asked) {
      return asked.is(word) ? other : healthy_answer(asked);
    };
  };
}

Change refused(const char* word) { return answers(word, {"", "heddle: refused\n", 2}); }

Change figures(const char* word, const char* test) {
  return answers(word, {fmt::format(R"({{"tests": [{}]}})", test)});
}

// As `heddle bench` prints them; bus bandwidth in GB/s.
Change all_reduces(double bus_bandwidth, int wrong) {
  Json document = Json::parse(healthy_answer({"", {"bench"}}).output);
  document["results"][0]["out_of_place"]["bus_bw"] = bus_bandwidth;
  document["results"][0]["out_of_place"]["nwrong"] = wrong;
  return answers("bench", {document.dump()});
}

// Hosts that have GPUs, and what nccl-tests prints there.
Change nccl(const Answer& table) {
  return [=](ScriptedFabric& fabric) {
    fabric.answer = [=](const Asked& asked) -> Answer {
      if (asked.is("sh")) return {"8\nall_reduce_perf\nmpirun\n"};
      return asked.is("all_reduce_perf") ? table : healthy_answer(asked);
    };
  };
}

Change carried(const LinkLoad& forward) {
  return [=](ScriptedFabric& fabric) {
    fabric.loads[0] = {.forward = forward, .forward_packets = 100'000};
  };
}

FabricFacts alike() {
  FabricFacts facts;
  for (const uint32_t host : {0, 1, 2, 3}) {
    facts.places.push_back({"h" + std::to_string(host),
                            false,
                            {{"nic0", host, true, true, 1500, 100e6}},
                            {{"kernel", "Linux 6.1"}},
                            ClockOffset{0.001, 0.001},
                            Firewall{}});
  }
  return facts;
}

Change host_facts(const std::function<void(PlaceFacts& host)>& change) {
  return [=](ScriptedFabric& fabric) { change(fabric.facts.places[2]); };
}

// Of all hosts' second NICs, which the topology does not have.
Change further_nics(const char* test) {
  return [=](ScriptedFabric& fabric) {
    for (uint32_t i = 0; i < fabric.more.size(); ++i) {
      fabric.more[i] = {{"nic1", fmt::format("10.1.0.{}", i), false}};
    }
    fabric.answer = [=](const Asked& asked) {
      return asked.after("perf").starts_with("10.1.")
                 ? Answer{fmt::format(R"({{"tests": [{}]}})", test)}
                 : healthy_answer(asked);
    };
  };
}

std::vector<Fault> faults() {
  return {
      {"no carrier", run_inventory, "link state",
       host_facts([](PlaceFacts& host) { host.ports[0].carrier = false; })},
      {"an MTU", run_inventory, "MTU",
       host_facts([](PlaceFacts& host) { host.ports[0].mtu_bytes = 1400; })},
      {"another rate than the plan's", run_inventory, "port rate",
       host_facts([](PlaceFacts& host) { host.ports[0].rate_bits_per_s = 40e6; })},
      {"another kernel", run_inventory, "kernel",
       host_facts([](PlaceFacts& host) { host.facts[0].second = "Linux 2.4"; })},
      {"a clock", run_inventory, "clock",
       host_facts([](PlaceFacts& host) { host.clock->ahead_s = 2; })},
      {"a firewall", run_inventory, "firewall",
       host_facts([](PlaceFacts& host) { host.firewall->drops_port = true; })},
      {"no server", run_reach, "server", refused("--listen")},
      {"no answers", run_reach, "reach", refused("bw")},
      {"changed payload", run_reach, "payload",
       figures("bw", R"({"wrong_messages": 1, "packet_bytes": 1500})")},
      {"small packets", run_reach, "MTU end to end", figures("bw", R"({"packet_bytes": 1400})")},
      {"small packets over a further NIC", run_reach, "MTU of NIC",
       further_nics(R"({"packet_bytes": 1400, "offered_packet_bytes": 1500})")},
      {"no routes", run_reach, "routes", answers("paths", {R"({"seen": []})"})},
      {"no goodput", run_pairs, "goodput", refused("bw")},
      {"low goodput", run_pairs, "goodput",
       figures("bw", R"({"server": {"received": {"goodput_gbits_per_s": 0.01}},
                         "segments_sent": 1, "segments_retransmitted": 0})")},
      {"no latency", run_pairs, "latency", refused("lat")},
      {"no sockets", run_pairs, "tcp_bw", refused("socket-test")},
      {"no RC", run_pairs, "rc_bw", refused("rdma-test")},
      {"no link carried enough", run_pairs, "links", [](ScriptedFabric&) {}},
      {"a slow link", run_pairs, "link rate", carried({.peak_bits_per_s = 20e6, .dropped = 100})},
      {"a fast link", run_pairs, "link rate", carried({.peak_bits_per_s = 200e6})},
      {"errors of a link", run_pairs, "link errors",
       carried({.peak_bits_per_s = 95e6, .errors = 1'000})},
      {"no all-reduces", run_collectives, "all-reduce", refused("bench")},
      {"slow all-reduces", run_collectives, "all-reduce", all_reduces(0.001, 0)},
      {"wrong sums", run_collectives, "all-reduce", all_reduces(75, 2)},
      {"a fast port", run_collectives, "wire rate", carried({.peak_bits_per_s = 200e6})},
      {"no NCCL", run_collectives, "NCCL", nccl({"", "mpirun: failed\n", 1})},
      {"slow NCCL", run_collectives, "NCCL",
       nccl({"65536 16384 float sum -1 80 0.001 0.001 0 80 0.001 0.001 0\n"})},
      {"wrong NCCL", run_collectives, "NCCL",
       nccl({"65536 16384 float sum -1 80 50 75 1 80 50 75 0\n"})},
      {"no flows", run_stress, "permutation", refused("bw")},
      {"retransmissions", run_stress, "permutation, retransmitted",
       figures("bw", R"({"server": {"received": {"goodput_gbits_per_s": 100}},
                         "segments_sent": 100, "segments_retransmitted": 50})")},
      {"no latency beside it", run_stress, "latency beside it", refused("lat")},
      {"no all-to-all", run_stress, "all-to-all", refused("bench")},
      {"slow all-to-all", run_stress, "all-to-all", all_reduces(0.001, 0)},
      {"wrong all-to-all", run_stress, "all-to-all", all_reduces(75, 2)},
      {"no steps", run_training, "training step", refused("workload")},
      {"slow steps", run_training, "training step",
       answers("workload", {R"({"jobs": [{"steps": [{}, {"took_us": 9e6, "computed_us": 1,
                                                         "exposed_us": 8e6}]}]})"})},
      {"no training", run_training, "ResNet-18", refused("heddle_torch.train")},
      {"no recording", run_traffic, "matrix", refused("bench")},
      {"no matrix", run_traffic, "matrix", refused("matrix")},
      {"no diagnosis", run_traffic, "diagnosis", refused("diagnose")},
      {"a verdict", run_traffic, "diagnosis",
       answers("diagnose", {R"({"verdicts": [{"class": "mismatch", "place_text": "rank 1",
                                              "summary": "it hangs"}]})"})},
  };
}

void set_up(ScriptedFabric& fabric) {
  fabric.facts = alike();
  fabric.has_rdma = true;
}

AcceptanceOptions options_with_torch() {
  AcceptanceOptions options;
  options.training.wanted = true;
  options.folder = "/nonexistent";
  return options;
}

std::vector<Row> wrong_rows(const StageMade& made) {
  std::vector<Row> wrong;
  for (const Row& row : made.report.rows) {
    if (row.grade != Grade::kOk) wrong.push_back(row);
  }
  return wrong;
}

TEST(Stages, EachFaultHasARowThatSaysWhatToDo) {
  for (const Fault& fault : faults()) {
    SCOPED_TRACE(fault.what);
    ScriptedFabric fabric(scripted_leaf_spine(2));
    set_up(fabric);
    fault.make(fabric);
    const StageMade made = made_by(fault.run, fabric, options_with_torch());
    EXPECT_EQ(made.error, "");
    bool shown = false;
    for (const Row& row : wrong_rows(made)) {
      shown = shown || row.check == fault.check;
      EXPECT_FALSE(row.todo.empty()) << row.check << " at " << row.where;
      EXPECT_FALSE(row.measured.empty()) << row.check << " at " << row.where;
      EXPECT_FALSE(row.where.empty()) << row.check;
    }
    EXPECT_TRUE(shown) << "no row of the check " << fault.check;
  }
}

TEST(Stages, AFabricWithoutAFaultHasNoSuchRow) {
  ScriptedFabric fabric(scripted_leaf_spine(2));
  set_up(fabric);
  for (CarriedLoad& load : fabric.loads) {
    load.forward.peak_bits_per_s = load.backward.peak_bits_per_s = 95e6;
  }
  for (const auto run : {run_inventory, run_reach, run_pairs, run_collectives, run_stress,
                         run_training, run_traffic}) {
    const StageMade made = made_by(run, fabric, options_with_torch());
    EXPECT_EQ(made.error, "");
    EXPECT_FALSE(made.report.rows.empty());
    for (const Row& row : wrong_rows(made)) {
      ADD_FAILURE() << row.check << " at " << row.where << ": " << row.measured;
    }
  }
}

}  // namespace
}  // namespace heddle::acceptance
