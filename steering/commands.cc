// See commands.h.
#include "steering/commands.h"

#include <fmt/format.h>

#include <string_view>
#include <utility>

#include "base/printable.h"
#include "steering/decision.h"
#include "steering/params.h"

namespace heddle::steering {
namespace {

// Drained nodes whose reason begins so are the monitor's.
constexpr std::string_view kReason = "heddle: ";

// "NonCommunicationHang"
std::string camel_case(std::string_view name) {
  std::string made;
  bool capital = true;
  for (const char c : name) {
    if (c == '_') {
      capital = true;
    } else {
      made += capital ? static_cast<char>(c - 'a' + 'A') : c;
      capital = false;
    }
  }
  return made;
}

std::vector<std::string> slurm_words(const Rule& rule, const monitor::Alarm& alarm,
                                     const std::string& host, bool undo) {
  std::vector<std::string> words = {"scontrol", "update", "nodename=" + host};
  if (undo) {
    words.emplace_back("state=resume");
    return words;
  }
  words.emplace_back("state=drain");
  words.push_back(fmt::format("reason={}{}, confidence {:.0f}%, rule {}", kReason,
                              name_of(alarm.verdict.what), 100 * alarm.verdict.confidence,
                              rule.name));
  return words;
}

// As node-problem-detector sets conditions: True is a problem, and the merge is by their type.
std::vector<std::string> condition_words(const Rule& rule, const monitor::Alarm& alarm,
                                         const std::string& host, bool undo, int64_t at_ns) {
  const std::string name = name_of(alarm.verdict.what);
  std::string message =
      undo ? "no fault is found any more"
           : fmt::format("[{}] {} (confidence {:.0f}%)", name, printable(alarm.verdict.summary),
                         100 * alarm.verdict.confidence);
  if (message.size() > params::kLongestMessage) message.resize(params::kLongestMessage);
  const std::string time = time_text(at_ns);
  const Json patch = {
      {"status",
       {{"conditions", Json::array({{{"type", rule.action.condition},
                                     {"status", undo ? "False" : "True"},
                                     {"reason", undo ? "NoFault" : camel_case(name)},
                                     {"message", message},
                                     {"lastHeartbeatTime", time},
                                     {"lastTransitionTime", time}}})}}}};
  return {"kubectl",
          "patch",
          "node",
          host,
          "--subresource=status",
          "--type=strategic",
          "--patch=" + patch.dump(-1, ' ', false, Json::error_handler_t::replace)};
}

std::vector<std::string> taint_words(const Action& action, const std::string& host, bool undo) {
  const std::string value = action.taint_value.empty() ? "" : "=" + action.taint_value;
  if (undo) {
    return {"kubectl", "taint", "nodes", host, action.taint_key + ":" + action.taint_effect + "-"};
  }
  // Without --overwrite it fails where the taint has got another value since the question.
  return {"kubectl", "taint", "nodes", host, action.taint_key + value + ":" + action.taint_effect};
}

// The value of "Name=value" in a line of `scontrol -o show node`, up to the next blank or, for the
// last one, up to the line's end.
std::string field_of(const std::string& line, const std::string& name, bool whole) {
  const size_t at = line.find(" " + name + "=");
  if (at == std::string::npos) return {};
  const size_t begin = at + name.size() + 2;
  return line.substr(begin, line.find_first_of(whole ? "\n" : " \n", begin) - begin);
}

std::optional<Objection> slurm_objection(const std::string& host, bool undo,
                                         const std::string& answer) {
  const std::string begin = "NodeName=" + host + " ";
  if (!answer.starts_with(begin) || answer.find("\nNodeName=") != std::string::npos) {
    return Objection{false, "scontrol does not answer for " + host};
  }
  const std::string state = field_of(answer, "State", false);
  if (state.empty()) return Objection{false, "scontrol does not say which state the node has"};
  const bool drained = state.find("DRAIN") != std::string::npos;
  const std::string reason = field_of(answer, "Reason", true);
  const bool ours = reason.starts_with(kReason);
  for (const char* const word : {"DOWN", "FAIL", "MAINT"}) {
    if (state.find(word) == std::string::npos) continue;
    return Objection{false, "its state is " + state + (reason.empty() ? "" : ": " + reason)};
  }
  if (!undo && drained) return Objection{true, "it is drained: " + reason};
  if (undo && !drained) return Objection{true, "it is not drained any more"};
  if (undo && !ours) return Objection{false, "it is drained for another reason: " + reason};
  if (!undo && !ours && !reason.empty()) {
    return Objection{false, "it has a reason of another origin: " + reason};
  }
  return std::nullopt;
}

// The value of a key of text; empty: there is none.
std::string text_at(const Json& json, const char* key) {
  if (!json.is_object()) return {};
  const auto found = json.find(key);
  return found == json.end() || !found->is_string() ? "" : found->get<std::string>();
}

// The value of the node's taint with that key and effect; nothing: it has none.
std::optional<std::string> taint_value_of(const Json& node, const Action& action) {
  const Json::json_pointer at("/spec/taints");
  if (!node.contains(at) || !node.at(at).is_array()) return std::nullopt;
  for (const Json& each : node.at(at)) {
    if (text_at(each, "key") != action.taint_key) continue;
    if (text_at(each, "effect") == action.taint_effect) return text_at(each, "value");
  }
  return std::nullopt;
}

std::optional<Objection> taint_objection(const Action& action, const std::string& host, bool undo,
                                         const std::string& answer) {
  const Json node = Json::parse(answer, nullptr, false);
  if (!node.is_object() || text_at(node.value("metadata", Json::object()), "name") != host) {
    return Objection{false, "kubectl does not answer for " + host};
  }
  const std::optional<std::string> value = taint_value_of(node, action);
  if (undo && !value) return Objection{true, "it does not have the taint any more"};
  if (value && *value != action.taint_value) {
    return Objection{false, "its taint has another value: '" + *value + "'"};
  }
  if (!undo && value) return Objection{true, "it has the taint"};
  return std::nullopt;
}

}  // namespace

std::string effect_of(const Rule& rule, const monitor::Alarm& alarm) {
  const Action& action = rule.action;
  const std::string name = name_of(action.kind);
  switch (action.kind) {
    case ActionKind::kCommand:
      return name + " " + rule.name + " " + name_of(alarm.verdict.what);
    case ActionKind::kSlurmDrain:
      return name;
    case ActionKind::kKubernetesCondition:
      return name + " " + action.condition;
    case ActionKind::kKubernetesTaint:
      return name + " " + action.taint_key + ":" + action.taint_effect;
  }
  return name;
}

std::optional<std::vector<std::string>> command_of(const Rule& rule, const monitor::Alarm& alarm,
                                                   const PlaceHosts& hosts, bool undo,
                                                   int64_t at_ns) {
  const Action& action = rule.action;
  if (action.kind == ActionKind::kCommand) {
    return fill(undo ? action.undo_command : action.command, hosts);
  }
  if (hosts.host.empty()) return std::nullopt;
  if (action.kind == ActionKind::kSlurmDrain) return slurm_words(rule, alarm, hosts.host, undo);
  if (action.kind == ActionKind::kKubernetesTaint) return taint_words(action, hosts.host, undo);
  return condition_words(rule, alarm, hosts.host, undo, at_ns);
}

std::vector<std::string> question_of(const Rule& rule, const PlaceHosts& hosts) {
  if (rule.action.kind == ActionKind::kSlurmDrain) {
    return {"scontrol", "-o", "show", "node", hosts.host};
  }
  if (rule.action.kind == ActionKind::kKubernetesTaint) {
    return {"kubectl", "get", "node", hosts.host, "-o", "json"};
  }
  return {};
}

std::optional<Objection> objection_of(const Rule& rule, const PlaceHosts& hosts, bool undo,
                                      const std::string& answer) {
  if (rule.action.kind == ActionKind::kSlurmDrain) {
    return slurm_objection(hosts.host, undo, answer);
  }
  if (rule.action.kind == ActionKind::kKubernetesTaint) {
    return taint_objection(rule.action, hosts.host, undo, answer);
  }
  return std::nullopt;
}

}  // namespace heddle::steering
