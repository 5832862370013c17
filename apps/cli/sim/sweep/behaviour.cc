// Small runs with each congestion control and kind of switch: see behaviour.h.
#include "apps/cli/sim/sweep/behaviour.h"

#include <fmt/core.h>

#include <array>
#include <memory>
#include <string>

#include "base/check.h"
#include "base/hash.h"
#include "base/result.h"
#include "base/version.h"
#include "jobs/simulated_jobs.h"
#include "simulator/flow_run.h"
#include "topology/generators.h"
#include "topology/workload_file.h"
#include "transport/names.h"

namespace heddle::cli {
namespace {

// Version of the format of a sweep's lines: increased with every change of the output.
constexpr int kFormOfResults = 3;

constexpr const char* kJobs = R"(
[[job]]
kind = "incast"
to = "h0"
bytes = "60KB"
[[job]]
kind = "all_reduce"
bytes = "200KB"
algorithm = "ring"
)";

// Queues in which packets are marked and some find no room.
topology::Topology small_fabric(const topology::SwitchShape& shape) {
  topology::LinkShape link{.rate = gigabits_per_s(100), .mtu_bytes = 4'154};
  link.delay = micros(1);
  link.queue = kibibytes(64);
  link.ecn_threshold = kibibytes(20);
  topology::Topology topology = topology::leaf_spine(
      {.leaves = 2, .spines = 2, .hosts_per_leaf = 3, .host_link = link, .spine_link = link});
  for (topology::Switch& each : topology.switches) each.shape = shape;
  return topology;
}

uint64_t history_with(std::string_view congestion, const topology::Topology& topology,
                      const topology::Workload& workload) {
  simulator::FlowRunOptions options{.congestion = std::string(congestion), .paths = 8};
  simulator::FlowRun run(topology, workload, options);
  const auto jobs = jobs::SimulatedJobs::create(run, {});
  CHECK(jobs.has_value());
  while (run.advance(seconds(1), UINT64_MAX)) {
  }
  return run.network().trace_hash();
}

// RoCE NICs run the flows, without the job.
uint64_t history_of_roce(const topology::Topology& topology, topology::Workload workload) {
  workload.jobs.clear();
  simulator::FlowRun run(topology, workload, {.roce = simulator::RoceOptions{}});
  while (run.advance(seconds(1), UINT64_MAX)) {
  }
  return run.network().trace_hash();
}

uint64_t behaviour() {
  uint64_t sum = 0;
  const std::array<topology::SwitchShape, 7> shapes = {
      {{},
       {.trims = true},
       {.buffer = kibibytes(200)},
       {.buffer = kibibytes(400), .lossless = true},
       {.balancing = topology::Balancing::kFlowlet},
       {.balancing = topology::Balancing::kSpray},
       {.balancing = topology::Balancing::kAdaptive}}};
  const std::string text = fmt::format("version = {}{}", topology::kWorkloadFileVersion, kJobs);
  for (const topology::SwitchShape& shape : shapes) {
    const topology::Topology topology = small_fabric(shape);
    const Result<topology::Workload> workload =
        topology::parse_workload(text, "behaviour", topology, 1);
    CHECK(workload.has_value());
    for (const std::string_view congestion : transport::controller_names()) {
      sum = mix_bits(sum ^ history_with(congestion, topology, *workload));
    }
    sum = mix_bits(sum ^ history_of_roce(topology, *workload));
  }
  return sum;
}

}  // namespace

std::string behaviour_text() {
  return fmt::format("{}, results {}, behaviour {:016x}", kVersion, kFormOfResults, behaviour());
}

}  // namespace heddle::cli
