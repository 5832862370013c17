// See wire_row.h.
#include "acceptance/stages/wire_row.h"

#include <fmt/format.h>

#include "acceptance/params.h"
#include "base/quantity.h"

namespace heddle::acceptance {

Row wire_row(const std::string& where, const HostRates& wire, const WireNeeds& needs) {
  Row row{"wire rate", where,
          fmt::format("{} to {} at the hosts' ports", rate_text(wire.least_bits_per_s),
                      rate_text(wire.most_bits_per_s))};
  if (wire.share > 0) {
    row.measured += fmt::format(", up to {:.0f}% of their rate", wire.share * 100);
  }
  if (wire.share > params::kTooFast) {
    row.expected = "at most the ports' rates";
    row.grade = Grade::kWarn;
    row.todo =
        "a port has another rate than the topology says: compare its speed with the plan, since "
        "all bounds come of it";
    return row;
  }
  const bool counts = wire.least_bits_per_s >= needs.bus_bits_per_s * params::kCountedShare;
  if (!counts || needs.least_bits_per_s == 0) return row;
  row.expected = fmt::format("at least {}, as the bus bandwidth, and at most the ports' rates",
                             rate_text(needs.least_bits_per_s));
  if (wire.least_bits_per_s >= needs.least_bits_per_s) return row;
  row.grade = Grade::kWarn;
  row.todo = "a host sends less than the all-reduces need: see the rows of all-reduces and links";
  return row;
}

}  // namespace heddle::acceptance
