// OwnFabric: for tests of what runs commands: each of its hosts is this machine.
#pragma once

#include <unistd.h>

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "acceptance/fabric.h"
#include "base/exec.h"

namespace heddle::acceptance {

class OwnFabric final : public Fabric {
 public:
  std::string name() const override { return "own"; }
  bool is_emulated() const override { return true; }
  std::vector<std::string> notes() const override { return {}; }
  const topology::Topology& topology() const override { return topology_; }
  void run(const std::string& /*host*/, const std::vector<std::string>& words,
           const Start& /*start*/) const override {
    _exit(exec_program(words).exit_status);
  }
  Nanos login_time() const override { return {}; }
  std::string line(const std::string& /*host*/,
                   const std::vector<std::string>& words) const override {
    return words.front();
  }
  std::vector<std::string> options_for_ranks(const std::vector<uint32_t>& /*h*/) const override {
    return {};
  }
  std::string address(uint32_t /*host*/) const override { return "127.0.0.1"; }
  std::string target(uint32_t /*host*/) const override { return "127.0.0.1"; }
  std::string device(uint32_t /*host*/) const override { return "lo"; }
  std::optional<HostRdma> rdma(uint32_t /*host*/) const override { return {}; }
  std::optional<uint32_t> switch_at(const std::string& /*address*/) const override { return {}; }
  std::string folder_for_ranks(const std::string& folder) const override { return folder; }
  Result<void> collect(Commands& /*commands*/, const std::string& /*folder*/,
                       const std::vector<uint32_t>& /*hosts*/) const override {
    return {};
  }
  Result<std::string> place_file(Commands& /*commands*/, const std::string& path,
                                 const std::string& /*text*/,
                                 const std::vector<uint32_t>& /*hosts*/) const override {
    return path;
  }
  void clean_up(Commands& /*commands*/, const std::vector<uint32_t>& /*hosts*/) const override {}
  Result<FabricFacts> read_facts(Commands& /*commands*/) const override { return FabricFacts{}; }
  Result<std::vector<PlaceCounts>> read_counts(Commands& /*commands*/) const override {
    return std::vector<PlaceCounts>{};
  }
  Result<std::unique_ptr<LinkWatch>> watch_links(Commands& /*commands*/,
                                                 const std::vector<uint32_t>& /*hosts*/,
                                                 bool /*with_nics*/) const override {
    return fail(ErrorCode::kUnavailable, "no links");
  }

 private:
  topology::Topology topology_;
};

}  // namespace heddle::acceptance
