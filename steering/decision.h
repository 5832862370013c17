// Decision: one line of the audit log: which rule did what about which fault, when, and why not.
#pragma once

#include <cstdint>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace heddle::steering {

using Json = nlohmann::ordered_json;

enum class Outcome : uint8_t {
  kWouldRun,      // a dry run
  kRefused,       // by a limit, the hosts that are allowed, or what the scheduler says
  kAlready,       // the same is in effect
  kTesting,       // the active test begins
  kNotConfirmed,  // it did not find the fault
  kNotTested,     // it could not run
  kOver,          // the fault was over before the action
  kStarted,       // the action begins
  kDone,
  kFailed,
  kInterrupted,  // the monitor was ended while it ran
};
const char* name_of(Outcome outcome);
std::vector<Outcome> all_outcomes();

struct Decision {
  int64_t at_ns = 0;       // since 1970
  std::string job;         // the recording's name
  std::string job_id;      // its folder, as a whole path, and when it began
  uint64_t alarm = 0;      // its number
  std::string fault;       // its class
  std::string place_text;  // for people
  std::string target;      // the host, "from>to" of a link, or "job ID"
  double confidence = 0;
  int64_t lasted_ns = 0;  // since the alarm was raised
  std::string rule;
  std::string action;
  std::string effect;  // the action with what it sets: the same at the same target is the same
  bool undo = false;
  bool dry = false;
  Outcome outcome = Outcome::kRefused;
  bool by_limit = false;  // kRefused: the policy's limits did not allow it; not in the log
  std::string why;
  std::vector<std::string> command;
};

Json json_of(const Decision& decision);
// One line of JSON.
std::string line_of(const Decision& decision);
// What a line of an audit log says; nothing if it is damaged.
std::optional<Decision> decision_of(std::string_view line);
// A sentence for people.
std::string text_of(const Decision& decision);

// "2026-11-27T01:52:00Z"
std::string time_text(int64_t at_ns);

}  // namespace heddle::steering
