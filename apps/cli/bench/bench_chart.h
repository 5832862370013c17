// The chart of `heddle bench --plot`: one self-contained HTML page of size against bus bandwidth
// and against the time of a call, with the table below. A pure function.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "apps/cli/bench/bench_report.h"

namespace heddle::cli {

std::string bench_chart(const std::vector<BenchRow>& rows, uint32_t ranks);

}  // namespace heddle::cli
