// See conditions.h.
#include "lab/conditions.h"

#include <fmt/format.h>

#include <filesystem>
#include <nlohmann/json.hpp>

#include "base/document.h"
#include "lab/state.h"
#include "topology/fault_order.h"

namespace heddle::lab {
namespace {

using topology::LinkChangeKind;
using topology::LinkDirection;

std::string path_of(const std::string& lab) { return lab_folder(lab) + "/conditions.json"; }

void apply_to(const topology::LinkChange& change, DirectionCondition& condition) {
  switch (change.kind) {
    case LinkChangeKind::kDown:
      condition.black_hole = true;
      break;
    case LinkChangeKind::kUp:
      condition.black_hole = false;
      break;
    case LinkChangeKind::kRate:
      condition.rate = change.rate;
      break;
    case LinkChangeKind::kFaults:
      condition.faults = change.faults;
      break;
    case LinkChangeKind::kNotice:
      break;
  }
}

nlohmann::json json_of(const DirectionCondition& condition) {
  return {{"black_hole", condition.black_hole},
          {"rate_bits_per_s", condition.rate.count},
          {"loss_per_million", condition.faults.loss_per_million},
          {"corrupt_per_million", condition.corrupt_per_million()},
          {"reorder_per_million", condition.faults.reorder_per_million}};
}

DirectionCondition condition_of(const nlohmann::json& json) {
  DirectionCondition condition;
  condition.black_hole = json.at("black_hole").get<bool>();
  condition.rate.count = json.at("rate_bits_per_s").get<uint64_t>();
  condition.faults.loss_per_million = json.at("loss_per_million").get<uint32_t>();
  topology::set_corruption(condition.faults, json.at("corrupt_per_million").get<uint32_t>());
  topology::set_reordering(condition.faults, json.at("reorder_per_million").get<uint32_t>());
  return condition;
}

std::string percent(uint32_t per_million) { return fmt::format("{:g}%", per_million / 10'000.0); }

}  // namespace

bool DirectionCondition::operator==(const DirectionCondition& other) const {
  return black_hole == other.black_hole && rate == other.rate &&
         faults.loss_per_million == other.faults.loss_per_million &&
         corrupt_per_million() == other.corrupt_per_million() &&
         faults.reorder_per_million == other.faults.reorder_per_million;
}

std::vector<bool> Conditions::up() const {
  std::vector<bool> list;
  for (const LinkCondition& link : links) list.push_back(!link.down);
  return list;
}

Conditions initial_conditions(const topology::Topology& topology) {
  Conditions conditions;
  for (const topology::Link& link : topology.links) {
    LinkCondition condition;
    condition.forward.rate = condition.backward.rate = link.shape.rate;
    condition.forward.faults = link.forward;
    condition.backward.faults = link.backward;
    conditions.links.push_back(condition);
  }
  conditions.paused.resize(topology.hosts.size());
  return conditions;
}

void apply(const topology::LinkChange& change, Conditions& conditions) {
  LinkCondition& link = conditions.links[change.link];
  if (change.direction != LinkDirection::kBackward) apply_to(change, link.forward);
  if (change.direction != LinkDirection::kForward) apply_to(change, link.backward);
  if (change.kind == LinkChangeKind::kNotice) link.down = true;
  if (change.kind == LinkChangeKind::kUp) link.down = false;
}

std::string rate_name(BitsPerSec rate) {
  if (rate.count == 0) return "no limit";
  return fmt::format("{:g} Mbit/s", static_cast<double>(rate.count) / 1e6);
}

std::string difference_text(const DirectionCondition& now, const DirectionCondition& file) {
  std::vector<std::string> parts;
  if (now.black_hole) parts.emplace_back("black hole");
  if (now.rate != file.rate) parts.push_back(rate_name(now.rate));
  if (now.faults.loss_per_million != file.faults.loss_per_million) {
    parts.push_back(percent(now.faults.loss_per_million) + " loss");
  }
  if (now.corrupt_per_million() != file.corrupt_per_million()) {
    parts.push_back(percent(now.corrupt_per_million()) + " corrupt");
  }
  if (now.faults.reorder_per_million != file.faults.reorder_per_million) {
    parts.push_back(percent(now.faults.reorder_per_million) + " reordered");
  }
  return fmt::format("{}", fmt::join(parts, ", "));
}

Result<void> save_conditions(const std::string& lab, const Conditions& conditions) {
  nlohmann::json links = nlohmann::json::array();
  for (const LinkCondition& link : conditions.links) {
    links.push_back({{"down", link.down},
                     {"forward", json_of(link.forward)},
                     {"backward", json_of(link.backward)}});
  }
  const nlohmann::json document = {{"links", links}, {"paused", conditions.paused}};
  return write_state_file(path_of(lab), document.dump() + "\n");
}

Result<Conditions> load_conditions(const std::string& lab, const topology::Topology& topology) {
  Conditions conditions = initial_conditions(topology);
  std::error_code error;
  if (!std::filesystem::exists(path_of(lab), error)) return conditions;
  const Result<std::string> text = read_text_file(path_of(lab), "run it as root");
  if (!text) return fail(text.error());
  try {
    const nlohmann::json document = nlohmann::json::parse(*text);
    const nlohmann::json& links = document.at("links");
    for (size_t i = 0; i < conditions.links.size(); ++i) {
      conditions.links[i].down = links.at(i).at("down").get<bool>();
      conditions.links[i].forward = condition_of(links.at(i).at("forward"));
      conditions.links[i].backward = condition_of(links.at(i).at("backward"));
    }
    conditions.paused = document.at("paused").get<std::vector<bool>>();
    conditions.paused.resize(topology.hosts.size());
  } catch (const nlohmann::json::exception& problem) {
    return fail(ErrorCode::kInvalid, "cannot read " + path_of(lab), problem.what(),
                "take the lab down and up again");
  }
  return conditions;
}

}  // namespace heddle::lab
