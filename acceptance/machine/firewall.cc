// See firewall.h.
#include "acceptance/machine/firewall.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cstdint>
#include <map>
#include <utility>

#include "acceptance/machine_texts.h"
#include "acceptance/params.h"

namespace heddle::acceptance {
namespace {

constexpr int64_t kPort = 18700;  // of `heddle perf`

const Json* member(const Json& object, const char* name) {
  if (!object.is_object()) return nullptr;
  const auto found = object.find(name);
  return found == object.end() ? nullptr : &*found;
}

std::string text_at(const Json& object, const char* name) {
  const Json* const found = member(object, name);
  return found != nullptr && found->is_string() ? found->get<std::string>() : std::string();
}

// A port, a range of ports, or a set of both.
bool has_port(const Json& right) {
  if (right.is_number_integer()) return right.get<int64_t>() == kPort;
  if (const Json* const range = member(right, "range")) {
    return range->is_array() && range->size() == 2 && (*range)[0].is_number_integer() &&
           (*range)[1].is_number_integer() && (*range)[0].get<int64_t>() <= kPort &&
           kPort <= (*range)[1].get<int64_t>();
  }
  const Json* const set = member(right, "set");
  return set != nullptr && set->is_array() && std::any_of(set->begin(), set->end(), has_port);
}

bool names_port(const Json& part) {
  const Json* const match = member(part, "match");
  const Json* const left = match == nullptr ? nullptr : member(*match, "left");
  const Json* const payload = left == nullptr ? nullptr : member(*left, "payload");
  if (payload == nullptr || text_at(*payload, "field") != "dport") return false;
  const std::string protocol = text_at(*payload, "protocol");
  const Json* const right = member(*match, "right");
  return (protocol == "udp" || protocol == "th") && text_at(*match, "op") != "!=" &&
         right != nullptr && has_port(*right);
}

// "inet filter".
std::string table_of(const Json& object) {
  return text_at(object, "family") + " " + text_at(object, "table");
}

// Tables with a chain of such a hook, and these chains: "inet filter input" has the hook "input".
struct HookedChains {
  std::set<std::string> tables;
  std::map<std::string, std::string> hooks;
};

void add_chain(const Json& chain, Firewall& firewall, HookedChains& hooked) {
  const std::string hook = text_at(chain, "hook");
  if (hook != "input" && hook != "forward") return;
  const std::string family = text_at(chain, "family");
  if (family != "ip" && family != "ip6" && family != "inet") return;
  hooked.tables.insert(table_of(chain));
  hooked.hooks[table_of(chain) + " " + text_at(chain, "name")] = hook;
  if (text_at(chain, "policy") == "drop") firewall.dropping.insert(hook);
}

// Whether a rule drops whatever reaches it.
bool drops_all(const Json& parts) {
  const auto is_plain = [](const Json& part) {
    return member(part, "drop") != nullptr || member(part, "reject") != nullptr ||
           member(part, "counter") != nullptr || member(part, "log") != nullptr;
  };
  return std::all_of(parts.begin(), parts.end(), is_plain);
}

void add_rule(const Json& rule, const HookedChains& hooked, Firewall& firewall) {
  const Json* const parts = member(rule, "expr");
  if (parts == nullptr || !parts->is_array()) return;
  const auto has = [&](const char* verdict) {
    return std::any_of(parts->begin(), parts->end(),
                       [&](const Json& part) { return member(part, verdict) != nullptr; });
  };
  const bool drops = has("drop") || has("reject");
  firewall.drop_rules += drops ? 1 : 0;
  // firewalld's chains have the policy accept, and end with such a rule.
  const auto hook = hooked.hooks.find(table_of(rule) + " " + text_at(rule, "chain"));
  if (drops && hook != hooked.hooks.end() && drops_all(*parts)) {
    firewall.dropping.insert(hook->second);
  }
  if (!std::any_of(parts->begin(), parts->end(), names_port)) return;
  firewall.drops_port |= drops;
  firewall.accepts_port |= has("accept");
}

}  // namespace

std::optional<Firewall> firewall_of(const std::string& ruleset, const std::string& legacy_tables) {
  const Json document = Json::parse(ruleset, nullptr, false);
  const Json* const objects = member(document, "nftables");
  if (objects == nullptr || !objects->is_array()) return std::nullopt;
  Firewall firewall;
  firewall.legacy = legacy_tables.find("filter") != std::string::npos;
  HookedChains hooked;
  for (const Json& object : *objects) {
    if (const Json* const chain = member(object, "chain")) add_chain(*chain, firewall, hooked);
  }
  for (const Json& object : *objects) {
    const Json* const rule = member(object, "rule");
    if (rule != nullptr && hooked.tables.count(table_of(*rule)) > 0) {
      add_rule(*rule, hooked, firewall);
    }
  }
  return firewall;
}

std::string firewall_text(const std::optional<Firewall>& firewall) {
  if (!firewall) return "not known";
  std::string measured =
      firewall->dropping.empty()
          ? "drops nothing by default"
          : fmt::format("drops on {} by default", fmt::join(firewall->dropping, " and "));
  if (firewall->accepts_port) measured += ", accepts UDP 18700";
  if (firewall->drops_port) measured += ", drops UDP 18700";
  if (firewall->legacy) measured += ", rules of iptables-legacy that are not read";
  return measured;
}

bool may_drop(const Firewall& firewall) {
  return firewall.drops_port || (firewall.dropping.count("input") > 0 && !firewall.accepts_port);
}

Json json_of(const Firewall& firewall) {
  return {{"dropping", firewall.dropping},
          {"drop_rules", firewall.drop_rules},
          {"accepts_port", firewall.accepts_port},
          {"drops_port", firewall.drops_port},
          {"legacy", firewall.legacy}};
}

std::optional<Firewall> firewall_in(const Json& document) {
  const Json* const dropping = member(document, "dropping");
  const Json* const rules = member(document, "drop_rules");
  if (dropping == nullptr || !dropping->is_array() || rules == nullptr ||
      !rules->is_number_unsigned()) {
    return std::nullopt;
  }
  Firewall firewall;
  for (const Json& hook : *dropping) {
    if (!hook.is_string() || firewall.dropping.size() == params::kMostHooks) continue;
    if (is_machine_name(hook.get<std::string>())) firewall.dropping.insert(hook.get<std::string>());
  }
  firewall.drop_rules = rules->get<size_t>();
  for (const auto& [name, flag] : {std::pair("accepts_port", &Firewall::accepts_port),
                                   {"drops_port", &Firewall::drops_port},
                                   {"legacy", &Firewall::legacy}}) {
    const Json* const found = member(document, name);
    firewall.*flag = found != nullptr && found->is_boolean() && found->get<bool>();
  }
  return firewall;
}

}  // namespace heddle::acceptance
