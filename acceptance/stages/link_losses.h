// Link losses: what the queues of links dropped and marked while a load of the stage stress ran.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "acceptance/report.h"
#include "acceptance/session.h"
#include "base/result.h"

namespace heddle::acceptance {

struct LinkLosses {
  uint32_t links = 0;    // that have counters
  uint64_t packets = 0;  // that a link carried, of all of them
  uint64_t dropped = 0;
  uint64_t marked = 0;
  std::string most;  // the direction that dropped most
};

// Since the last Session::take_loads(). Errors: as that.
Result<LinkLosses> take_losses(Session& session);

// For information: a sender that finds a link's rate fills its queue. Nothing where no link has
// counters.
std::optional<Row> losses_row(const std::string& load, const LinkLosses& losses);

// What to do where a load is slower than pairs alone.
inline constexpr const char* kUneven =
    "single pairs passed: look for uneven hashing (heddle paths), shared buffers that are too "
    "small, and ECN or PFC that only some ports have";

}  // namespace heddle::acceptance
