// See decision.h.
#include "steering/decision.h"

#include <fmt/format.h>

#include <array>
#include <ctime>
#include <utility>

#include "base/printable.h"
#include "launch/remote_shell.h"
#include "steering/params.h"

namespace heddle::steering {
namespace {

struct OutcomeWords {
  Outcome outcome;
  const char* name;
  const char* text;
};
constexpr std::array kOutcomes = {
    OutcomeWords{Outcome::kWouldRun, "would_run", "would run"},
    OutcomeWords{Outcome::kRefused, "refused", "does not act"},
    OutcomeWords{Outcome::kAlready, "already", "has nothing to do"},
    OutcomeWords{Outcome::kTesting, "testing", "tests first"},
    OutcomeWords{Outcome::kNotConfirmed, "not_confirmed", "does not act, not confirmed"},
    OutcomeWords{Outcome::kNotTested, "not_tested", "does not act, not tested"},
    OutcomeWords{Outcome::kOver, "over", "does not act, the fault is over"},
    OutcomeWords{Outcome::kStarted, "started", "runs"},
    OutcomeWords{Outcome::kDone, "done", "has run"},
    OutcomeWords{Outcome::kFailed, "failed", "failed"},
    OutcomeWords{Outcome::kInterrupted, "interrupted", "was interrupted"}};

// Not within a character of UTF-8.
std::string clipped(const std::string& text) {
  if (text.size() <= params::kLongestText) return text;
  size_t end = params::kLongestText;
  while (end > 0 && (static_cast<unsigned char>(text[end]) & 0xC0U) == 0x80U) --end;
  return text.substr(0, end) + "...";
}

// The value of a key of that type, or else an empty one.
template <typename Value>
Value value_of(const Json& json, const char* key) {
  const auto found = json.find(key);
  if (found == json.end()) return {};
  Value value{};
  try {
    value = found->get<Value>();
  } catch (const Json::exception&) {
    return {};
  }
  return value;
}

}  // namespace

std::vector<Outcome> all_outcomes() {
  std::vector<Outcome> all;
  for (const OutcomeWords& each : kOutcomes) all.push_back(each.outcome);
  return all;
}

const char* name_of(Outcome outcome) {
  for (const OutcomeWords& each : kOutcomes) {
    if (each.outcome == outcome) return each.name;
  }
  return "unknown";
}

std::string time_text(int64_t at_ns) {
  const std::time_t seconds = at_ns / 1'000'000'000;
  std::tm parts{};
  gmtime_r(&seconds, &parts);
  std::array<char, 32> text{};
  std::strftime(text.data(), text.size(), "%Y-%m-%dT%H:%M:%SZ", &parts);
  return text.data();
}

Json json_of(const Decision& decision) {
  Json command = Json::array();
  for (const std::string& word : decision.command) command.push_back(clipped(word));
  return {{"event", "decision"},
          {"time", time_text(decision.at_ns)},
          {"realtime_ns", decision.at_ns},
          {"job", decision.job},
          {"job_id", decision.job_id},
          {"alarm", decision.alarm},
          {"class", decision.fault},
          {"place_text", clipped(decision.place_text)},
          {"target", decision.target},
          {"confidence", decision.confidence},
          {"lasted_ns", decision.lasted_ns},
          {"rule", decision.rule},
          {"action", decision.action},
          {"effect", decision.effect},
          {"undo", decision.undo},
          {"dry_run", decision.dry},
          {"outcome", name_of(decision.outcome)},
          {"why", clipped(decision.why)},
          {"command", std::move(command)}};
}

std::string line_of(const Decision& decision) {
  return json_of(decision).dump(-1, ' ', false, Json::error_handler_t::replace) + "\n";
}

std::optional<Decision> decision_of(std::string_view line) {
  const Json json = Json::parse(line, nullptr, false);
  if (!json.is_object() || value_of<std::string>(json, "event") != "decision") return std::nullopt;
  const auto name = value_of<std::string>(json, "outcome");
  Decision made;
  bool known = false;
  for (const OutcomeWords& each : kOutcomes) {
    if (name != each.name) continue;
    made.outcome = each.outcome;
    known = true;
  }
  made.at_ns = value_of<int64_t>(json, "realtime_ns");
  made.target = value_of<std::string>(json, "target");
  made.effect = value_of<std::string>(json, "effect");
  if (!known || made.at_ns <= 0 || made.target.empty() || made.effect.empty()) return std::nullopt;
  made.job = value_of<std::string>(json, "job");
  made.job_id = value_of<std::string>(json, "job_id");
  made.alarm = value_of<uint64_t>(json, "alarm");
  made.fault = value_of<std::string>(json, "class");
  made.place_text = value_of<std::string>(json, "place_text");
  made.confidence = value_of<double>(json, "confidence");
  made.lasted_ns = value_of<int64_t>(json, "lasted_ns");
  made.rule = value_of<std::string>(json, "rule");
  made.action = value_of<std::string>(json, "action");
  made.undo = value_of<bool>(json, "undo");
  made.dry = value_of<bool>(json, "dry_run");
  made.why = value_of<std::string>(json, "why");
  made.command = value_of<std::vector<std::string>>(json, "command");
  return made;
}

std::string text_of(const Decision& decision) {
  const char* words = "";
  for (const OutcomeWords& each : kOutcomes) {
    if (each.outcome == decision.outcome) words = each.text;
  }
  std::string text = fmt::format("steering: alarm {}, rule '{}'{} {}", decision.alarm,
                                 decision.rule, decision.undo ? " (undo)" : "", words);
  if (!decision.why.empty()) text += ": " + decision.why;
  if (!decision.command.empty()) text += ": " + launch::shell_line(decision.command);
  return printable(text) + "\n";
}

}  // namespace heddle::steering
