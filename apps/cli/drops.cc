// Drops: see drops.h.
#include "apps/cli/drops.h"

#include "events/events.h"

namespace heddle::cli {

Json drops_of(const transport::Statistics& statistics) {
  Json drops = Json::object();
  for (size_t i = 0; i < events::kDropReasonCount; ++i) {
    drops[events::name_of(static_cast<events::DropReason>(i))] = statistics.drops_by_reason[i];
  }
  return drops;
}

}  // namespace heddle::cli
