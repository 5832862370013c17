// The table at the end of a sweep: runs that differ in nothing but their seed stand in one row. Of
// flows there is one, and where there are jobs one of their steps.
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
