// Documents: tasks and observations as JSON between `heddle probe` and the agents on hosts. Each
// has the number of its version; of another one it names the host to upgrade.
#pragma once

#include <nlohmann/json.hpp>
#include <string>

#include "base/result.h"
#include "probing/observations.h"
#include "probing/tasks.h"

namespace heddle::probing {

using Json = nlohmann::ordered_json;

std::string text_of(const RoundSpec& spec);
std::string text_of(const SendSpec& spec);
// Errors: kInvalid for text that is none of these, kVersion for one of another version.
Result<RoundSpec> parse_round_spec(const std::string& text);
Result<SendSpec> parse_send_spec(const std::string& text);

// Flows and packets of a part of the observations; its NICs are known to both ends.
Json json_of(const Observations& part);
// Who wrote a part: the sender of a host, or its receiver.
struct Part {
  std::string host;
  bool is_sender = true;
};
// Adds what a part can know: a sender what it sent and the routers that answered, a receiver what
// arrived at its NICs, after the senders. Errors: kVersion, with the host to upgrade; kInvalid,
// with the host, for all that is not possible; then `all` has a part of it.
Result<void> add_part(const std::string& text, const Part& part, Observations& all);

}  // namespace heddle::probing
