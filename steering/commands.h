// The commands of actions, as words without a shell, and of the question to the scheduler before
// one: what an operator has done at a host is left as it is.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "monitor/alarms.h"
#include "steering/policy.h"
#include "steering/words.h"

namespace heddle::steering {

// The action with what it sets: "kubernetes_condition HeddleFault"; of a command, which may do
// something else for each class of faults, with the class.
std::string effect_of(const Rule& rule, const monitor::Alarm& alarm);

// Nothing where a host that the command needs is unknown. `at_ns`: since 1970.
std::optional<std::vector<std::string>> command_of(const Rule& rule, const monitor::Alarm& alarm,
                                                   const PlaceHosts& hosts, bool undo,
                                                   int64_t at_ns);

// The question before the command; empty: there is none.
std::vector<std::string> question_of(const Rule& rule, const PlaceHosts& hosts);
// What its answer has against the command.
struct Objection {
  bool already = false;  // the state is the wanted one
  std::string why;
};
std::optional<Objection> objection_of(const Rule& rule, const PlaceHosts& hosts, bool undo,
                                      const std::string& answer);

}  // namespace heddle::steering
