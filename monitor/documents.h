// What is known of a watched job and its faults, for people, as JSON and as metrics.
#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "insight/diagnosis.h"
#include "metrics/exposition.h"
#include "monitor/observer.h"

namespace heddle::monitor {

using Json = nlohmann::ordered_json;

struct WatchedHost {
  std::string name;
  bool heard = false;
  double heard_seconds_ago = -1;  // -1: never
  uint64_t bytes = 0;             // that it sent
  uint64_t losses = 0;
  std::string complaint;
};

struct WatchDocument {
  std::string job;  // its name, for labels
  WatchState state;
  std::vector<WatchedHost> hosts;  // none: the job is recorded here
};

// A verdict's sentences, evidence and what to try, under a title.
std::string text_of(const insight::Verdict& verdict, const std::string& title);
// `place`: place_text(); `processes`: names of the place's.
Json json_of(const insight::Verdict& verdict, const std::string& place,
             const std::vector<std::string>& processes);

// "alarm 3", with the verdict; or that it is over.
std::string text_of(const AlarmChange& change);
Json json_of(const AlarmChange& change, const WatchState& state);
Json json_of(const Alarm& alarm);

// Null where there is no interval yet.
Json json_of(const TrafficInterval* traffic);

// "running", "ended", "not_heard".
const char* state_of(const WatchedProcess& process);

Json json_of(const WatchDocument& document);
std::vector<metrics::Family> families_of(const WatchDocument& document);

}  // namespace heddle::monitor
