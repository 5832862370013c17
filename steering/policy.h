// Policy: what is done about which fault, and how often at most. A TOML file of the operator's
// (docs/reference/policy.md); `heddle monitor --policy` reads it.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/nanos.h"
#include "base/result.h"
#include "insight/diagnosis.h"

namespace heddle::steering {

// The version of the schema that this build reads.
inline constexpr uint64_t kPolicyFileVersion = 1;

enum class ActionKind : uint8_t { kCommand, kSlurmDrain, kKubernetesCondition, kKubernetesTaint };
const char* name_of(ActionKind kind);
// Whether a fault of this place is of one host.
bool has_host(insight::PlaceKind place);

// In words of commands "{host}" is the fault's host, "{peer}" one of the job's without a fault,
// "{from}" and "{to}" the hosts of a link.
struct Action {
  ActionKind kind = ActionKind::kCommand;
  std::vector<std::string> command;       // kCommand
  std::vector<std::string> undo_command;  // kCommand; empty: there is no undoing
  std::string condition;                  // kKubernetesCondition: its type
  std::string taint_key;                  // kKubernetesTaint
  std::string taint_value;
  std::string taint_effect;
  bool undo = false;  // when the fault is over
};

struct Rule {
  std::string name;
  std::vector<insight::VerdictClass> classes;
  std::vector<insight::PlaceKind> places;      // empty: all
  double confidence = 0;                       // at least
  Nanos persists;                              // since the alarm was raised, at least
  std::vector<std::string> confirm;            // the active test; empty: none
  int confirm_status = 0;                      // the test's exit status that confirms the fault
  Action action;
};

struct Limits {
  uint64_t actions_per_hour = 4;
  uint64_t hosts = 1;  // with an action that was not undone in `hosts_within`
  Nanos hosts_within = seconds(24 * 3600);
  Nanos host_pause = seconds(3600);  // until the same action at the same place
  Nanos retry = seconds(600);        // after a test or an action that failed
  Nanos command_time = seconds(60);  // a command that takes longer is ended
};

struct Policy {
  std::string audit;  // file; empty: not named
  bool short_host_names = false;
  std::vector<std::string> hosts;  // patterns as of a shell; empty: all
  Limits limits;
  std::vector<Rule> rules;
};

// Errors: kUnavailable if it cannot be read; kVersion for a file of another version; kInvalid with
// file and line.
Result<Policy> read_policy_file(const std::string& path);
// The same from TOML text; `name` is the file's name in errors.
Result<Policy> parse_policy(std::string_view text, const std::string& name);

}  // namespace heddle::steering
