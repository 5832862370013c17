// The table at the end of a sweep: runs that differ only in their seed share one row. There is one
// table of flows, and one of steps if there are jobs.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

namespace heddle::cli {

// By what was varied, as people sort it; it does not depend on the order in which runs ended.
void sort_rows(std::vector<nlohmann::json>& rows);
// Of sorted rows, with its head; nothing where there is none.
std::string sweep_table(const std::vector<nlohmann::json>& rows);

}  // namespace heddle::cli
