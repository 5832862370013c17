// ScriptedFabric: for tests of stages: a fabric whose hosts answer each command as a function says,
// with links that carry what a test put there. Commands are children that print and end.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "acceptance/acceptance.h"
#include "acceptance/fabric.h"
#include "acceptance/report.h"
#include "acceptance/session.h"

namespace heddle::acceptance {

// What a command writes, and how it ends.
struct Answer {
  std::string output;
  std::string errors = {};
  int exit_status = 0;
};

// A command on a host; `host` is empty for this machine.
struct Asked {
  std::string host;
  std::vector<std::string> words;

  bool is(const std::string& word) const;            // one of its words
  std::string after(const std::string& word) const;  // the word behind it; empty: none
};

// Of a fabric without a fault: each figure is above what any link allows.
Answer healthy_answer(const Asked& asked);

class ScriptedFabric final : public Fabric {
 public:
  explicit ScriptedFabric(topology::Topology topology);

  std::function<Answer(const Asked&)> answer = healthy_answer;
  std::vector<CarriedLoad> loads;          // of each link, since whatever began
  std::vector<std::vector<HostNic>> more;  // NICs of each host behind the first
  bool has_rdma = false;
  bool planned = true;
  FabricFacts facts;

  std::string name() const override { return "scripted"; }
  bool is_emulated() const override { return false; }  // what others use of this machine is nothing
  std::vector<std::string> notes() const override { return {}; }
  const topology::Topology& topology() const override { return topology_; }
  // Servers of `heddle perf` run until they are ended.
  void run(const std::string& host, const std::vector<std::string>& words,
           const Start& start) const override;
  void run_here(const std::vector<std::string>& words) const override;
  Nanos login_time() const override { return {}; }
  std::string line(const std::string& host, const std::vector<std::string>& words) const override;
  std::vector<std::string> options_for_ranks(const std::vector<uint32_t>& /*h*/) const override {
    return {};
  }
  std::string address(uint32_t host) const override;
  std::string target(uint32_t host) const override { return topology_.hosts[host].name; }
  std::string device(uint32_t /*host*/) const override { return "nic0"; }
  std::vector<HostNic> nics(uint32_t host) const override;
  bool has_plan() const override { return planned; }
  std::optional<HostRdma> rdma(uint32_t host) const override;
  std::optional<uint32_t> switch_at(const std::string& address) const override;  // "leaf0"
  std::string folder_for_ranks(const std::string& folder) const override { return folder; }
  Result<void> collect(Commands& commands, const std::string& folder,
                       const std::vector<uint32_t>& hosts) const override;
  Result<std::string> place_file(Commands& commands, const std::string& path,
                                 const std::string& text,
                                 const std::vector<uint32_t>& hosts) const override;
  void clean_up(Commands& /*commands*/, const std::vector<uint32_t>& /*hosts*/) const override {}
  Result<FabricFacts> read_facts(Commands& commands) const override;
  Result<std::vector<PlaceCounts>> read_counts(Commands& commands) const override;
  Result<std::unique_ptr<LinkWatch>> watch_links(Commands& commands,
                                                 const std::vector<uint32_t>& hosts,
                                                 bool with_nics) const override;

 private:
  topology::Topology topology_;
};

// Hosts of 100 Mbit/s, `per_leaf` under each leaf, and two spines with links as fast.
topology::Topology scripted_leaf_spine(uint32_t per_leaf, uint32_t leaves = 2);

// What one stage makes of the fabric, and the commands that it ran.
struct StageMade {
  StageReport report;
  std::vector<std::string> commands;
  std::string error;  // why it could not measure; empty: it did

  // Rows of a check, in order; and one of them, an empty one where there are fewer.
  std::vector<Row> rows(const std::string& check) const;
  Row row(const std::string& check, size_t index = 0) const;
};
using StageRun = std::function<Result<void>(Session& session, StageReport& report)>;
StageMade made_by(const StageRun& run, const ScriptedFabric& fabric,
                  const AcceptanceOptions& options = {});

}  // namespace heddle::acceptance
