// The plan file: JSON with the paths and shares of each connection of a plan, which `heddle plan`
// writes and `heddle sim --plan` follows. docs/reference/json.md has the fields.
#pragma once

#include <cstdint>
#include <map>
#include <nlohmann/json.hpp>
#include <string>
#include <utility>
#include <vector>

#include "base/result.h"
#include "planner/path_plan.h"
#include "topology/topology.h"
#include "transport/endpoint.h"

namespace heddle::cli {

// The version of the schema that this build writes and reads.
inline constexpr uint64_t kPlanFileVersion = 2;

// A plan with what it was made for. All must outlive the user.
struct MadePlan {
  const planner::PathPlan& plan;
  const planner::Demand& demand;
  const topology::Topology& topology;
  const std::vector<uint32_t>& failed_links;
  // By the names of hosts and switches; with some, the document names each path's switches and has
  // these addresses, and transports on real networks can follow it.
  const std::multimap<std::string, std::string>& addresses;
  nlohmann::json background;  // background_json(); null: none
};

nlohmann::json plan_document(const MadePlan& made);

struct PlanFile {
  // By sender and receiver, which are hosts.
  using Pair = std::pair<uint32_t, uint32_t>;

  uint16_t paths = 0;  // of a connection
  std::map<Pair, std::vector<transport::PlannedShare>> shares;
  std::map<Pair, uint64_t> bytes;
  std::vector<uint32_t> failed_links;

  // As the planner has them, for plans after and beside this one.
  std::vector<planner::PlannedFlow> flows() const;
};

// The cable that the text names: "leaf0:spine1", or "leaf0 - spine1 #1" as link_label() writes it.
// Errors: kInvalid, listing what exists.
Result<uint32_t> link_named(const std::string& text, const topology::Topology& topology);

// Errors: kUnavailable if it cannot be read; kVersion for a plan of another version; kInvalid for
// other content than a plan's, or one of another fabric.
Result<PlanFile> read_plan_file(const std::string& path, const topology::Topology& topology);

}  // namespace heddle::cli
