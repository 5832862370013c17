// See rule_table.h.
#include "steering/rule_table.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "steering/words.h"

namespace heddle::steering {
namespace {

using insight::PlaceKind;
using insight::VerdictClass;

constexpr std::array kClasses = {VerdictClass::kNonCommunicationHang,
                                 VerdictClass::kCommunicationHang,
                                 VerdictClass::kMismatch,
                                 VerdictClass::kNonCommunicationSlow,
                                 VerdictClass::kCommunicationSlow,
                                 VerdictClass::kMixedSlow,
                                 VerdictClass::kDegradation,
                                 VerdictClass::kFlapping,
                                 VerdictClass::kPathFailure,
                                 VerdictClass::kFabricCollision};

// The last of these must be named: the job goes on meanwhile, and an action may cost more.
constexpr std::ptrdiff_t kOnlyByName = 3;

struct PlaceWord {
  const char* name;
  std::vector<PlaceKind> kinds;
};
const std::vector<PlaceWord>& place_words() {
  static const std::vector<PlaceWord> words = {
      {"rank", {PlaceKind::kRank}},
      {"nic", {PlaceKind::kSenderNic, PlaceKind::kReceiverNic, PlaceKind::kNic}},
      {"link", {PlaceKind::kLink}},
      {"route", {PlaceKind::kRoute}},
      {"group", {PlaceKind::kGroup}},
      {"job", {PlaceKind::kJob}}};
  return words;
}

void read_classes(TableReader& table, Rule& rule) {
  std::string todo = "give names of";
  for (const VerdictClass each : kClasses) {
    todo += std::string(each == kClasses.front() ? " " : ", ") + name_of(each);
  }
  const auto names = table.names("class", todo);
  if (!names) {
    rule.classes = default_classes();
    return;
  }
  if (names->empty()) table.wrong("class", "'class' is empty", todo);
  for (const std::string& name : *names) {
    const auto* const found =
        std::find_if(kClasses.begin(), kClasses.end(),
                     [&name](VerdictClass each) { return name == name_of(each); });
    if (found == kClasses.end()) {
      return table.wrong("class", "there is no class \"" + name + "\" of faults", todo);
    }
    rule.classes.push_back(*found);
  }
}

void read_places(TableReader& table, Rule& rule) {
  const std::string todo = "give names of rank, nic, link, route, group, job";
  const auto names = table.names("place", todo);
  if (!names) return;
  if (names->empty()) table.wrong("place", "'place' is empty", todo);
  for (const std::string& name : *names) {
    const auto found = std::find_if(place_words().begin(), place_words().end(),
                                    [&name](const PlaceWord& each) { return name == each.name; });
    if (found == place_words().end()) {
      return table.wrong("place", "there is no place \"" + name + "\"", todo);
    }
    rule.places.insert(rule.places.end(), found->kinds.begin(), found->kinds.end());
  }
}

// The words of a command; an empty list if the key is missing or wrong.
std::vector<std::string> read_words(TableReader& table, std::string_view key, bool may_be_empty) {
  const std::string todo = R"(give a program and its arguments, like ["ping", "-c1", "{host}"])";
  const auto words = table.names(key, todo);
  if (!words) return {};
  const std::string name(key);
  if (words->empty() && may_be_empty) return {};
  if (words->empty() || words->front().empty()) {
    table.wrong(key, "'" + name + "' names no program", todo);
    return {};
  }
  if (has_placeholder(words->front())) {
    table.wrong(key, "'" + name + "' has a placeholder in the name of its program", todo);
  }
  for (const std::string& word : *words) {
    if (word.find('\0') != std::string::npos) {
      table.wrong(key, "'" + name + "' has a zero byte", todo);
    }
    if (const std::string unknown = unknown_placeholder(word); !unknown.empty()) {
      table.wrong(key, "'" + name + "' has " + unknown + ", which is known to no fault",
                  "known here: {host}, {peer}, {from}, {to}");
    }
  }
  return *words;
}

void read_taint(TableReader& table, Action& action) {
  const std::string todo =
      "give it as kubectl takes it, like \"example.com/network-fault=true:NoSchedule\"";
  table.need("taint", todo);
  const std::optional<Taint> taint = parse_taint(table.text("taint", ""));
  if (!taint) return table.wrong("taint", "'taint' is no taint", todo);
  action.taint_key = taint->key;
  action.taint_value = taint->value;
  action.taint_effect = taint->effect;
}

void read_condition(TableReader& table, Action& action) {
  action.condition = table.text("condition", "HeddleFault");
  constexpr std::array kOwn = {"Ready", "MemoryPressure", "DiskPressure", "PIDPressure",
                               "NetworkUnavailable"};
  if (std::find(kOwn.begin(), kOwn.end(), action.condition) != kOwn.end()) {
    return table.wrong("condition", "\"" + action.condition + "\" is set by Kubernetes itself",
                       "give one of your own, like \"HeddleFault\"");
  }
  if (is_condition_type(action.condition)) return;
  table.wrong("condition", "\"" + action.condition + "\" is no type of a condition",
              "give letters and digits, a capital one first, like \"HeddleFault\"");
}

void read_action(TableReader& table, Action& action) {
  constexpr std::array kKinds = {ActionKind::kCommand, ActionKind::kSlurmDrain,
                                 ActionKind::kKubernetesCondition, ActionKind::kKubernetesTaint};
  const std::string todo = "give command, slurm_drain, kubernetes_condition or kubernetes_taint";
  table.need("action", todo);
  const std::string name = table.text("action", "");
  const auto* const kind = std::find_if(kKinds.begin(), kKinds.end(),
                                        [&name](ActionKind each) { return name == name_of(each); });
  if (kind == kKinds.end()) {
    return table.wrong("action", "there is no action \"" + name + "\"", todo);
  }
  action.kind = *kind;
  if (action.kind == ActionKind::kCommand) {
    table.need("command", R"(give a program and its arguments, like ["./drain", "{host}"])");
    action.command = read_words(table, "command", false);
    action.undo_command = read_words(table, "undo_command", false);
    action.undo = !action.undo_command.empty();
    return;
  }
  action.undo = table.boolean("undo", false);
  if (action.kind == ActionKind::kKubernetesTaint) read_taint(table, action);
  if (action.kind == ActionKind::kKubernetesCondition) read_condition(table, action);
}

// Whether one of the rule's commands has the placeholder.
bool uses(const Rule& rule, std::string_view placeholder) {
  for (const auto* words : {&rule.confirm, &rule.action.command, &rule.action.undo_command}) {
    for (const std::string& word : *words) {
      if (word.find(placeholder) != std::string::npos) return true;
    }
  }
  return false;
}

// Places that a rule names must have the hosts that it needs; one that names none has those that
// do.
void settle_places(TableReader& table, Rule& rule) {
  const bool host = rule.action.kind != ActionKind::kCommand || uses(rule, "{host}");
  const bool ends = uses(rule, "{from}") || uses(rule, "{to}");
  if (host && ends) {
    return table.wrong("action", "the rule needs {host} and the ends of a link",
                       "write a rule for links, and one for ranks and NICs");
  }
  if (rule.places.empty() && host) {
    rule.places = {PlaceKind::kRank, PlaceKind::kSenderNic, PlaceKind::kReceiverNic,
                   PlaceKind::kNic};
  }
  if (rule.places.empty() && ends) rule.places = {PlaceKind::kLink};
  for (const PlaceKind each : rule.places) {
    const std::string name = name_of(each);
    if (host && !has_host(each)) {
      return table.wrong("place", "a fault of a " + name + " has no host of its own",
                         "give rank or nic; for others a command with {from} and {to}, or none");
    }
    if (ends && each != PlaceKind::kLink) {
      return table.wrong("place", "a fault of a " + name + " has no {from} and {to}",
                         "give link, or use {host}");
    }
  }
}

void check_test(TableReader& table, const Rule& rule) {
  const Action& action = rule.action;
  if (action.kind != ActionKind::kKubernetesCondition) {
    table.need("confirm",
               "name the command of an active test that confirms the fault, or write "
               "confirm = [] to act without one");
  }
  if (action.taint_effect == "NoExecute" && rule.confirm.empty()) {
    table.wrong("taint", "NoExecute evicts the job's pods, and there is no test before it",
                "give a test with 'confirm', or use NoSchedule");
  }
  if (rule.confirm.empty() && table.has("confirm_status")) {
    table.wrong("confirm_status", "there is no test", "give 'confirm' too");
  }
}

}  // namespace

std::vector<VerdictClass> default_classes() {
  return {kClasses.begin(), kClasses.end() - kOnlyByName};
}

Rule read_rule(TableReader& table) {
  Rule rule;
  const std::string todo = "give a name for the audit log, like \"drain hanging hosts\"";
  table.need("name", todo);
  rule.name = table.text("name", "");
  if (rule.name.empty() || rule.name.size() > 100) {
    table.wrong("name", "it has no letter, or more than 100", todo);
  }
  read_classes(table, rule);
  read_places(table, rule);
  rule.confidence = table.fraction("confidence", 0.9, 0, 1);
  rule.persists = table.duration("persists", seconds(30), Nanos{}, seconds(24 * 3600));
  rule.confirm = read_words(table, "confirm", true);
  rule.confirm_status = static_cast<int>(table.integer("confirm_status", 0, 0, 123));
  read_action(table, rule.action);
  if (table.failed()) return rule;
  settle_places(table, rule);
  check_test(table, rule);
  return rule;
}

}  // namespace heddle::steering
