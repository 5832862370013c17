// See policy.h.
#include "steering/policy.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <optional>
#include <utility>

#include "base/document.h"
#include "base/table.h"
#include "steering/params.h"
#include "steering/rule_table.h"

namespace heddle::steering {
namespace {

constexpr Nanos kDay = seconds(24 * 3600);

Limits read_limits(TableReader& table) {
  Limits limits;
  limits.actions_per_hour =
      table.integer("actions_per_hour", limits.actions_per_hour, 1, 1'000'000);
  limits.hosts = table.integer("hosts", limits.hosts, 1, 1'000'000);
  limits.hosts_within =
      table.duration("hosts_within", limits.hosts_within, seconds(1), Nanos{30 * kDay.count});
  limits.host_pause = table.duration("host_pause", limits.host_pause, Nanos{}, kDay);
  limits.retry = table.duration("retry", limits.retry, seconds(1), kDay);
  limits.command_time =
      table.duration("command_time", limits.command_time, millis(100), seconds(3600));
  return limits;
}

class PolicyReader {
 public:
  PolicyReader(const DocumentValue& document, const std::string& name)
      : errors_(name), table_(document, errors_) {}

  Result<Policy> read() {
    table_.integer("version", kPolicyFileVersion, 0, INT64_MAX);
    policy_.audit = table_.text("audit", "");
    read_hosts();
    if (const DocumentValue* limits = table_.table("limits")) {
      TableReader inner(*limits, errors_);
      policy_.limits = read_limits(inner);
      inner.finish();
    }
    read_rules();
    table_.finish();
    if (errors_.any()) return fail(errors_.first());
    return std::move(policy_);
  }

 private:
  void read_hosts() {
    const std::string names = table_.text("host_names", "recorded");
    policy_.short_host_names = names == "short";
    if (names != "short" && names != "recorded") {
      table_.wrong("host_names", "'host_names' is \"" + names + "\"",
                   "give \"recorded\", or \"short\" to leave out the domain");
    }
    const std::string todo = R"(give names, or patterns like ["node*", "gpu[0-9]"])";
    const auto hosts = table_.names("hosts", todo);
    if (!hosts) return;
    if (hosts->empty()) table_.wrong("hosts", "'hosts' names no host", todo);
    policy_.hosts = *hosts;
  }

  void read_rules() {
    const std::string todo = "write [[rule]] before each rule";
    table_.need("rule", todo);
    const std::vector<DocumentValue>* rules = table_.list("rule", todo);
    if (rules == nullptr) return;
    if (rules->empty() || rules->size() > params::kMostRules) {
      table_.wrong("rule", fmt::format("there are {} rules", rules->size()),
                   fmt::format("give 1 to {}", params::kMostRules));
    }
    for (const DocumentValue& item : *rules) {
      TableReader inner(item, errors_);
      Rule rule = read_rule(inner);
      const auto same = [&rule](const Rule& other) { return other.name == rule.name; };
      if (std::any_of(policy_.rules.begin(), policy_.rules.end(), same)) {
        inner.wrong("name", "two rules have the name \"" + rule.name + "\"",
                    "give each its own: the audit log names them");
      }
      inner.finish();
      if (errors_.any()) return;
      policy_.rules.push_back(std::move(rule));
    }
  }

  FileErrors errors_;
  TableReader table_;
  Policy policy_;
};

}  // namespace

const char* name_of(ActionKind kind) {
  switch (kind) {
    case ActionKind::kCommand:
      return "command";
    case ActionKind::kSlurmDrain:
      return "slurm_drain";
    case ActionKind::kKubernetesCondition:
      return "kubernetes_condition";
    case ActionKind::kKubernetesTaint:
      return "kubernetes_taint";
  }
  return "unknown";
}

bool has_host(insight::PlaceKind place) {
  using insight::PlaceKind;
  return place == PlaceKind::kRank || place == PlaceKind::kSenderNic ||
         place == PlaceKind::kReceiverNic || place == PlaceKind::kNic;
}

Result<Policy> read_policy_file(const std::string& path) {
  const Result<std::string> text = read_text_file(path, "check the path of the policy file");
  if (!text) return fail(text.error());
  return parse_policy(*text, path);
}

Result<Policy> parse_policy(std::string_view text, const std::string& name) {
  const Result<DocumentValue> document = parse_document(text, name);
  if (!document) return fail(document.error());
  if (Result<void> version = check_version(*document, name, kPolicyFileVersion); !version) {
    return fail(version.error());
  }
  return PolicyReader(*document, name).read();
}

}  // namespace heddle::steering
