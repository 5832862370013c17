// See groups.h.
#include "topology/chakra/groups.h"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <numeric>
#include <optional>
#include <set>

namespace heddle::topology::chakra {
namespace {

using Json = nlohmann::json;

constexpr const char* kTodo =
    R"(write {"NAME": [RANK, ...], ...}: each rank once, from 0, below the number of traces)";

// The ranks of a JSON list; an empty one is all of them. Nothing: it is no such list.
std::optional<std::vector<uint32_t>> ranks_in(const Json& list,
                                              const std::vector<uint32_t>& every) {
  if (!list.is_array()) return std::nullopt;
  std::vector<uint32_t> members;
  for (const Json& each : list) {
    if (!each.is_number_unsigned() || each.get<uint64_t>() >= every.size()) return std::nullopt;
    members.push_back(each.get<uint32_t>());
  }
  if (std::set(members.begin(), members.end()).size() < members.size()) return std::nullopt;
  return members.empty() ? every : members;
}

}  // namespace

ProcessGroups::ProcessGroups(uint32_t ranks) : every_(ranks) {
  std::iota(every_.begin(), every_.end(), 0);
}

Result<void> ProcessGroups::read_file(std::string_view text, const std::string& file) {
  // Shallow by its schema: a callback refuses what is deeper, before it costs anything.
  const auto shallow = [](int depth, Json::parse_event_t, Json&) { return depth <= 3; };
  const Json document = Json::parse(text, shallow, false);
  if (!document.is_object()) return wrong(file, "", "it is no JSON object", kTodo);
  for (const auto& [name, list] : document.items()) {
    const auto members = ranks_in(list, every_);
    if (!members) return wrong(file, "group " + name, "its value is no list of ranks", kTodo);
    all_[name] = *members;
  }
  return {};
}

Result<void> ProcessGroups::read_nodes(const Trace& trace) {
  for (const Node& node : trace.nodes) {
    if (node.type != NodeType::kMetadata) continue;
    // PyTorch's converter writes the text as a list of one quoted text: ['[{...}]'].
    const size_t begin = node.inputs.find("[{");
    const size_t end = node.inputs.rfind("}]");
    if (begin == std::string::npos || end == std::string::npos || end < begin) continue;
    std::string text = node.inputs.substr(begin, end + 2 - begin);
    for (size_t at = 0; (at = text.find("\\\"", at)) != std::string::npos;) text.erase(at, 1);
    const auto shallow = [](int depth, Json::parse_event_t, Json&) { return depth <= 6; };
    const Json list = Json::parse(text, shallow, false);
    if (!list.is_array()) continue;
    for (const Json& each : list) {
      if (!each.is_object() || !each.contains("pg_name") || !each.contains("ranks")) continue;
      const Json& name = each["pg_name"];
      const auto members = ranks_in(each["ranks"], every_);
      if (!members || !name.is_string()) {
        return wrong(trace.file, "node " + std::to_string(node.id),
                     "a process group of it names ranks that have no trace, or no ranks",
                     "give the traces of all ranks");
      }
      of_rank_[trace.rank][name.get<std::string>()] = *members;
    }
  }
  return {};
}

const std::vector<uint32_t>* ProcessGroups::ranks_of(const std::string& name, uint32_t rank) const {
  if (name.empty()) return &every_;
  if (const auto of_rank = of_rank_.find(rank); of_rank != of_rank_.end()) {
    const auto found = of_rank->second.find(name);
    if (found != of_rank->second.end()) return &found->second;
  }
  const auto found = all_.find(name);
  return found == all_.end() ? nullptr : &found->second;
}

}  // namespace heddle::topology::chakra
