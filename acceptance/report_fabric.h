// The fabric in a report: its hosts, switches and links, what these have carried, and which of them
// rows name.
#pragma once

#include "acceptance/report.h"
#include "acceptance/session.h"

namespace heddle::acceptance {

void add_fabric(const Session& session, Report& report);
// Marks the places that rows name, again where rows were added since.
void name_places(Report& report);

}  // namespace heddle::acceptance
