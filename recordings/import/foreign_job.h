// What other tools recorded of a job: calls of collectives, and how long they took. They do not
// record the traffic of a call.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "base/result.h"
#include "events/events.h"
#include "insight/party.h"
#include "recordings/import/bounded_json.h"

namespace heddle::recordings {

struct ForeignCall {
  uint64_t communicator = 0;
  uint64_t number = 0;
  events::Operation operation = events::Operation::kAllreduce;
  events::ElementType type = events::ElementType::kUint8;
  uint64_t count = 0;  // as in call_made
  uint32_t root = 0;   // or the peer
  // Since 1970.
  int64_t made_ns = 0;
  int64_t started_ns = 0;
  int64_t ended_ns = 0;
  bool ended = true;
};

struct ForeignProcess {
  insight::Identity identity;
  std::map<uint64_t, std::pair<uint32_t, uint32_t>> communicators;  // rank in it, and its size
  std::vector<ForeignCall> calls;
  int64_t seen_ns = 0;  // the last time it was looked at, since 1970; 0: when its last call was
  // Why some are left out, and how many.
  std::map<std::string, uint64_t> left_out;
};

// A recording of it in the folder, the `number`-th. Errors: those of Recording::create().
Result<void> write_foreign(const ForeignProcess& process, const std::string& folder, size_t number);

// Of JSON; what is none throws as JSON's own access does.
uint64_t whole_number(const ForeignJson& value);

// A number for a communicator that is known by a name; never 0.
uint64_t number_of_name(const std::string& name);

}  // namespace heddle::recordings
