// See scripted_fabric.h.
#include "acceptance/testing/scripted_fabric.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <utility>

#include "base/write_all.h"
#include "topology/generators.h"

namespace heddle::acceptance {
namespace {

// Links that carry the same whenever they are asked.
class ScriptedLinks final : public LinkWatch {
 public:
  explicit ScriptedLinks(std::vector<CarriedLoad> loads) : loads_(std::move(loads)) {}

  Result<void> look() override { return {}; }
  Result<void> restart() override { return {}; }
  Result<std::vector<CarriedLoad>> loads() override { return loads_; }
  Result<std::vector<CarriedLoad>> totals() override { return loads_; }
  std::vector<PlaceCounts> nics() override { return {}; }

 private:
  std::vector<CarriedLoad> loads_;
};

[[noreturn]] void give(const Answer& answer) {
  write_all(STDOUT_FILENO, answer.output);
  write_all(STDERR_FILENO, answer.errors);
  _exit(answer.exit_status);
}

Answer healthy_figures(const Asked& asked) {
  if (asked.is("--listen")) return {"heddle perf listens on [::]:18700\n"};
  if (asked.is("lat")) {
    return {R"({"tests": [{"half_round_trip_us_min": 9, "half_round_trip_us_p50": 10,
                           "half_round_trip_us_p99": 12}]})"};
  }
  return {R"({"tests": [{"wrong_messages": 0, "packet_bytes": 1500, "seconds": 1,
                         "segments_sent": 1000, "segments_retransmitted": 0,
                         "server": {"received": {"goodput_gbits_per_s": 100}}}]})"};
}

constexpr const char* kSizes = R"({"results": [{"size": 65536, "count": 16384, "type": "float",
    "redop": "sum", "root": "-1",
    "out_of_place": {"time": 80.0, "alg_bw": 50, "bus_bw": 75, "nwrong": 0},
    "in_place": {"time": 80.0, "alg_bw": 50, "bus_bw": 75, "nwrong": 0}}],
    "heddle": {"results": [{"algorithm": "ring"}]}})";

}  // namespace

bool Asked::is(const std::string& word) const {
  return std::find(words.begin(), words.end(), word) != words.end();
}

std::string Asked::after(const std::string& word) const {
  const auto found = std::find(words.begin(), words.end(), word);
  return found == words.end() || found + 1 == words.end() ? "" : found[1];
}

Answer healthy_answer(const Asked& asked) {
  if (asked.is("perf")) return healthy_figures(asked);
  if (asked.is("paths")) {
    return {R"({"verdict": "known", "seen": [
        {"works": true, "routers": ["leaf0", "spine0", "leaf1"]},
        {"works": true, "routers": ["leaf0", "spine1", "leaf1"]}]})"};
  }
  if (asked.is("socket-test")) {
    return {R"({"tcp_bits_per_s": 9e7, "tcp_us": 20, "tcp_us_p99": 25, "udp_sent_bits_per_s": 9e7,
                "udp_received_bits_per_s": 9e7, "udp_us": 20})"};
  }
  if (asked.is("rdma-test")) return {R"({"rc_bits_per_s": 1e11, "rc_us": 4})"};
  if (asked.is("bench")) return {kSizes};
  if (asked.is("overlap")) {
    return {R"({"figures": [{"name": "step_s", "value": 1}, {"name": "exposed_s", "value": 0.1},
                            {"name": "communication_s", "value": 0.5}]})"};
  }
  if (asked.is("workload")) {
    return {R"({"jobs": [{"steps": [{}, {"took_us": 1e6, "computed_us": 9e5,
                                         "exposed_us": 1e5}]}]})"};
  }
  if (asked.is("heddle_torch.train")) {
    return {Json{{"backend", asked.after("--backend")},
                 {"ranks", 2},
                 {"data", "made images"},
                 {"weights", ""},
                 {"losses", {2.5, 2.0}},
                 {"step_s", 1},
                 {"images_per_s", asked.after("--measure") == "0" ? 16 : 31},
                 {"split", {{"compute_s", 1}, {"communicate_s", 0.5}, {"overlapped_s", 1.05}}}}
                .dump()};
  }
  if (asked.is("python3")) return {""};
  if (asked.is("matrix")) {
    return {R"({"ranks": 2, "parties": [{"host": "h0"}, {"host": "h1"}],
                "measured": [[0, 1e6], [1e6, 0]], "expected": [[0, 1e6], [1e6, 0]],
                "totals": {"measured": 2e6}})"};
  }
  if (asked.is("summary")) return {R"({"processes": [{"exposed_ns": 25, "hidden_ns": 75}]})"};
  if (asked.is("timeline")) return {""};
  if (asked.is("diagnose")) {
    return {R"({"verdicts": [], "operations": 40, "enough_evidence": true})"};
  }
  if (asked.is("doctor")) return {R"({"findings": [{"what": "no RDMA"}]})"};
  return {"", "heddle: no such command\n", 2};
}

ScriptedFabric::ScriptedFabric(topology::Topology topology)
    : loads(topology.links.size()), more(topology.hosts.size()), topology_(std::move(topology)) {}

void ScriptedFabric::run(const std::string& host, const std::vector<std::string>& words,
                         const Start& /*start*/) const {
  const Answer made = answer({host, words});
  if (words.back() != "--listen" || made.exit_status != 0) give(made);
  write_all(STDOUT_FILENO, made.output);
  for (;;) pause();
}

void ScriptedFabric::run_here(const std::vector<std::string>& words) const {
  give(answer({"", words}));
}

std::string ScriptedFabric::line(const std::string& host,
                                 const std::vector<std::string>& words) const {
  return fmt::format("{}: {}", host, fmt::join(words, " "));
}

std::string ScriptedFabric::address(uint32_t host) const { return fmt::format("10.0.0.{}", host); }

std::vector<HostNic> ScriptedFabric::nics(uint32_t host) const {
  std::vector<HostNic> all = {{device(host), address(host), true}};
  all.insert(all.end(), more[host].begin(), more[host].end());
  return all;
}

std::optional<HostRdma> ScriptedFabric::rdma(uint32_t host) const {
  if (!has_rdma) return std::nullopt;
  return HostRdma{fmt::format("mlx5_{}", host)};
}

std::optional<uint32_t> ScriptedFabric::switch_at(const std::string& address) const {
  for (uint32_t i = 0; i < topology_.switches.size(); ++i) {
    if (topology_.switches[i].name == address) return i;
  }
  return std::nullopt;
}

Result<void> ScriptedFabric::collect(Commands& /*commands*/, const std::string& /*folder*/,
                                     const std::vector<uint32_t>& /*hosts*/) const {
  return {};
}

Result<std::string> ScriptedFabric::place_file(Commands& /*commands*/, const std::string& path,
                                               const std::string& /*text*/,
                                               const std::vector<uint32_t>& /*hosts*/) const {
  return path;
}

Result<FabricFacts> ScriptedFabric::read_facts(Commands& /*commands*/) const { return facts; }

Result<std::vector<PlaceCounts>> ScriptedFabric::read_counts(Commands& /*commands*/) const {
  return std::vector<PlaceCounts>{};
}

Result<std::unique_ptr<LinkWatch>> ScriptedFabric::watch_links(
    Commands& /*commands*/, const std::vector<uint32_t>& /*hosts*/, bool /*with_nics*/) const {
  return std::unique_ptr<LinkWatch>(std::make_unique<ScriptedLinks>(loads));
}

topology::Topology scripted_leaf_spine(uint32_t per_leaf, uint32_t leaves) {
  topology::LeafSpineShape shape{.leaves = leaves, .spines = 2, .hosts_per_leaf = per_leaf};
  shape.host_link = {
      .rate = megabits_per_s(100), .delay = {}, .queue = {125'000}, .mtu_bytes = 1500};
  shape.spine_link = shape.host_link;
  return topology::leaf_spine(shape);
}

std::vector<Row> StageMade::rows(const std::string& check) const {
  std::vector<Row> found;
  for (const Row& row : report.rows) {
    if (row.check == check) found.push_back(row);
  }
  return found;
}

Row StageMade::row(const std::string& check, size_t index) const {
  const std::vector<Row> found = rows(check);
  return index < found.size() ? found[index] : Row{};
}

StageMade made_by(const StageRun& run, const ScriptedFabric& fabric,
                  const AcceptanceOptions& options) {
  StageMade made;
  Result<std::unique_ptr<Session>> session = Session::open(fabric, options);
  if (!session) {
    made.error = session.error().message();
    return made;
  }
  if (Result<void> ran = run(**session, made.report); !ran) made.error = ran.error().message();
  made.commands = (*session)->commands().take_lines();
  return made;
}

}  // namespace heddle::acceptance
