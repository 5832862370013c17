// See commands.h.
#include "steering/commands.h"

#include <fmt/format.h>

#include <string_view>
#include <utility>

#include "base/printable.h"
#include "steering/decision.h"

namespace heddle::steering {
namespace {

// Drained nodes whose reason begins so are the monitor's.
constexpr std::string_view kReason = "heddle: ";
constexpr size_t kLongestMessage = 1024;

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
  if (message.size() > kLongestMessage) message.resize(kLongestMessage);
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
  return {"kubectl", "taint", "--overwrite",
          "nodes",   host,    action.taint_key + value + ":" + action.taint_effect};
}

// The value of "Name=value" in a line of `scontrol -o show node`, up to the next blank or, for the
// last one, up to the line's end.
std::string field_of(const std::string& line, const std::string& name, bool whole) {
  const size_t at = line.find(" " + name + "=");
  if (at == std::string::npos) return {};
  const size_t begin = at + name.size() + 2;
  return line.substr(begin, line.find_first_of(whole ? "\n" : " \n", begin) - begin);
}

}  // namespace

std::string effect_of(const Rule& rule) {
  const Action& action = rule.action;
  const std::string name = name_of(action.kind);
  switch (action.kind) {
    case ActionKind::kCommand:
      return name + " " + rule.name;
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
  if (rule.action.kind != ActionKind::kSlurmDrain) return {};
  return {"scontrol", "-o", "show", "node", hosts.host};
}

std::optional<Objection> objection_of(const Rule& rule, bool undo, const std::string& answer) {
  if (rule.action.kind != ActionKind::kSlurmDrain) return std::nullopt;
  const std::string state = field_of(answer, "State", false);
  if (state.empty()) return Objection{false, "scontrol does not say which state the node has"};
  const bool drained = state.find("DRAIN") != std::string::npos;
  const std::string reason = field_of(answer, "Reason", true);
  if (!undo && drained) return Objection{true, "it is drained: " + reason};
  if (undo && !drained) return Objection{true, "it is not drained any more"};
  if (undo && !reason.starts_with(kReason)) {
    return Objection{false, "it is drained for another reason: " + reason};
  }
  return std::nullopt;
}

}  // namespace heddle::steering
