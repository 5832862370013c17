// See kept_changes.h.
#include "apps/cli/plan/kept_changes.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <optional>
#include <sstream>

#include "apps/cli/plan/plan_file.h"
#include "base/quantity.h"
#include "topology/names.h"
#include "topology/quantity.h"

namespace heddle::cli {
namespace {

Unexpected refuse(const std::string& line, const std::string& why) {
  return fail(ErrorCode::kInvalid, "cannot apply '" + line + "'", why,
              "write 'down LINK', 'up LINK', 'rate LINK RATE', 'flow HOST HOST BYTES' or "
              "'end HOST HOST'");
}

std::vector<std::string> words_of(const std::string& line) {
  std::istringstream text(line);
  std::vector<std::string> words;
  for (std::string word; text >> word;) words.push_back(word);
  return words;
}

std::string joined(const std::vector<std::string>& words) {
  std::string line;
  for (const std::string& word : words) line += (line.empty() ? "" : " ") + word;
  return line;
}

// What is known of a plan when all flows are planned at once.
constexpr std::array kOfWholePlans = {"bound_between_switches_us",
                                      "bound_us",
                                      "colored",
                                      "ecmp",
                                      "kept",
                                      "no_gain",
                                      "parts",
                                      "spraying"};

}  // namespace

Result<std::unique_ptr<KeptChanges>> KeptChanges::make(const ReadPlanInputs& read) {
  Result<std::unique_ptr<planner::LivePlan>> plan =
      planner::LivePlan::make(read.topology, read.demand, read.options);
  if (!plan) return fail(plan.error());
  return std::unique_ptr<KeptChanges>(new KeptChanges(read, std::move(*plan)));
}

KeptChanges::KeptChanges(const ReadPlanInputs& read, std::unique_ptr<planner::LivePlan> plan)
    : read_(read), plan_(std::move(plan)), failed_(read.options.failed_links) {
  for (uint32_t i = 0; i < read.demand.flows.size(); ++i) {
    const planner::FlowDemand& flow = read.demand.flows[i];
    flows_[{read.demand.endpoints[flow.from].host, read.demand.endpoints[flow.to].host}] = i;
  }
}

Result<planner::Replanned> KeptChanges::apply(const std::string& line) {
  const std::vector<std::string> words = words_of(line);
  const std::string verb = words.empty() ? "" : words.front();
  const size_t needed = verb == "down" || verb == "up"    ? 2
                        : verb == "rate" || verb == "end" ? 3
                        : verb == "flow"                  ? 4
                                                          : 0;
  if (needed == 0) return refuse(line, "it begins with no change that is known");
  const bool of_link = verb != "flow" && verb != "end";
  // A link may be written with spaces: "leaf0 - spine1 #1".
  if (words.size() < needed || (!of_link && words.size() > needed)) {
    return refuse(line, "it has too few or too many words");
  }
  return of_link ? change_link(words) : change_flow(words);
}

Result<planner::Replanned> KeptChanges::change_link(const std::vector<std::string>& words) {
  const bool of_rate = words[0] == "rate";
  if (of_rate && std::isdigit(static_cast<unsigned char>(words.back().front())) == 0) {
    return refuse(joined(words), "it has no rate, like 50Gbit/s, at its end");
  }
  const Result<uint32_t> link =
      link_named(joined({words.begin() + 1, words.end() - (of_rate ? 1 : 0)}), read_.topology);
  if (!link) return fail(link.error());
  if (of_rate) {
    const std::optional<BitsPerSec> rate = topology::parse_rate(words.back());
    if (!rate || rate->count == 0) {
      return refuse(joined(words), "'" + words.back() + "' is no rate like 50Gbit/s");
    }
    return plan_->set_rate(*link, *rate);
  }
  std::erase(failed_, *link);
  if (words[0] == "down") failed_.push_back(*link);
  return plan_->set_down(*link, words[0] == "down");
}

Result<planner::Replanned> KeptChanges::change_flow(const std::vector<std::string>& words) {
  const std::optional<uint32_t> from = topology::find_host(read_.topology, words[1]);
  const std::optional<uint32_t> to = topology::find_host(read_.topology, words[2]);
  if (!from || !to) {
    return refuse(joined(words), "the topology has no host '" + words[from ? 2 : 1] + "'");
  }
  if (*from == *to) return refuse(joined(words), "it is from a host to itself");
  const auto found = flows_.find({*from, *to});
  if (words[0] == "end") {
    if (found == flows_.end()) return refuse(joined(words), "the plan has no such flow");
    const uint32_t flow = found->second;
    flows_.erase(found);
    return plan_->remove_flow(flow);
  }
  if (found != flows_.end()) return refuse(joined(words), "the plan has this flow already");
  const Result<Bytes> bytes = parse_size(words[3]);
  if (!bytes) return fail(bytes.error());
  if (bytes->count == 0) return refuse(joined(words), "it has no bytes");
  const std::vector<planner::PathEndpoint>& endpoints = read_.demand.endpoints;
  const auto endpoint_of = [&](uint32_t host) {
    const auto its = std::find_if(endpoints.begin(), endpoints.end(),
                                  [host](const auto& each) { return each.host == host; });
    return static_cast<uint32_t>(its - endpoints.begin());
  };
  const planner::FlowDemand flow{endpoint_of(*from), endpoint_of(*to), bytes->count};
  if (flow.from == endpoints.size() || flow.to == endpoints.size()) {
    return refuse(joined(words), "a host of it has no part in what was planned");
  }
  planner::Replanned replanned = plan_->add_flow(flow);
  flows_[{*from, *to}] = replanned.begun;
  return replanned;
}

std::string KeptChanges::document() const {
  planner::PathPlan plan;
  plan.paths = plan_->paths();
  plan.planned = plan_->planned();
  plan.unreachable = plan_->unreachable();
  for (const auto& [pair, flow] : flows_) plan.flows.push_back(plan_->flows()[flow]);
  nlohmann::json document = plan_document(
      {plan, read_.demand, read_.topology, failed_, read_.addresses, nlohmann::json()});
  for (const char* each : kOfWholePlans) document.erase(each);
  return document.dump(1) + "\n";
}

}  // namespace heddle::cli
