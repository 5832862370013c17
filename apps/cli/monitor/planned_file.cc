// See planned_file.h.
#include "apps/cli/monitor/planned_file.h"

#include <fmt/format.h>

#include <map>
#include <utility>

#include "apps/cli/json.h"
#include "apps/cli/monitor/params.h"
#include "base/document.h"
#include "base/json_depth.h"
#include "engine/addresses.h"
#include "engine/route_plan.h"

namespace heddle::cli {
namespace {

Unexpected refuse(const std::string& file, const std::string& why) {
  return fail(ErrorCode::kInvalid, "cannot serve the plan " + file, why,
              "make it with 'heddle plan --addresses' for this fabric");
}

// The first address of a host.
Result<transport::Address> address_in(const Json& addresses, const std::string& host,
                                      const std::string& file) {
  const auto found = addresses.find(host);
  const bool has_text = found != addresses.end() && found->is_array() && !found->empty() &&
                        found->front().is_string();
  if (!has_text) return refuse(file, fmt::format("the host '{}' has no address", host));
  return engine::parse_address(found->front().get<std::string>(), 0);
}

}  // namespace

// Each host reads its own flows alone, so each host's are checked as it will read them.
Result<void> check_plan(const std::string& text, const std::string& file) {
  if (text.size() > params::monitor::kMostServedBytes) {
    return refuse(file, fmt::format("it has {} bytes, and {} are the most that are served",
                                    text.size(), params::monitor::kMostServedBytes));
  }
  if (json_nests_deeper(text, params::monitor::kMostDepth)) {
    return refuse(file, fmt::format("it nests deeper than {} levels", params::monitor::kMostDepth));
  }
  const Json document = Json::parse(text, nullptr, false);
  const auto at = [&](const char* name) {
    return document.is_object() ? document.value(name, Json()) : Json();
  };
  const Json addresses = at("addresses");
  std::map<std::string, Json> flows;
  const Json listed = at("flows");
  if (!listed.is_null() && !listed.is_array()) return refuse(file, "its 'flows' is no list");
  for (const Json& each : listed) {
    const bool named = each.is_object() && each.contains("from") && each["from"].is_string();
    if (!named) return refuse(file, "it has a flow that names no host it is from");
    flows[each["from"].get<std::string>()].push_back(each);
  }
  if (flows.empty()) {
    // What it lacks, where it is no plan.
    const Result<engine::RoutePlan> plan = engine::RoutePlan::parse(text, file, {});
    return plan ? refuse(file, "it has no flow") : fail(plan.error());
  }
  Json part = {{"version", at("version")}, {"addresses", addresses}, {"flows", Json::array()}};
  for (const auto& [host, its] : flows) {
    const Result<transport::Address> own = address_in(addresses, host, file);
    if (!own) return fail(own.error());
    part["addresses"][host] = addresses[host];
    part["flows"] = its;
    const std::vector<transport::Address> alone = {*own};
    const Result<engine::RoutePlan> plan = engine::RoutePlan::parse(part.dump(), file, alone);
    if (!plan) return fail(plan.error());
    part["addresses"] = Json::object();  // the first host's check has looked at all
  }
  return {};
}

Result<void> take_plan(const std::string& text, const std::string& file) {
  const auto own = engine::own_addresses(0);
  const Result<engine::RoutePlan> plan = engine::RoutePlan::parse(text, file, own);
  if (!plan) return fail(plan.error());
  return replace_text_file(file, text);
}

}  // namespace heddle::cli
