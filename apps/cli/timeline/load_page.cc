// See load_page.h. Columns travel as steps from one index to the next, with their bytes and, where
// they are wider than a bin, their largest bin's.
#include "apps/cli/timeline/load_page.h"

#include <fmt/format.h>

#include "apps/cli/matrix/show.h"
#include "apps/cli/pages/pages.h"

namespace heddle::cli {
namespace {

using insight::Load;
using insight::LoadColumn;
using insight::LoadSpan;
using insight::Microburst;
using insight::NicLoad;

Json columns_of(const std::vector<LoadColumn>& columns, bool wide) {
  Json steps = Json::array();
  Json bytes = Json::array();
  Json peaks = Json::array();
  int64_t before = 0;
  for (const LoadColumn& column : columns) {
    steps.push_back(column.index - before);
    bytes.push_back(column.bytes);
    if (wide) peaks.push_back(column.peak);
    before = column.index;
  }
  Json made = {{"steps", std::move(steps)}, {"bytes", std::move(bytes)}};
  if (wide) made["peaks"] = std::move(peaks);
  return made;
}

Json nic_of(const NicLoad& nic, bool wide) {
  return {{"host", nic.host},
          {"name", nic.name},
          {"rate", nic.rate.count},
          {"total", nic.bytes},
          {"peak", nic.peak},
          {"ways", {columns_of(nic.columns[0], wide), columns_of(nic.columns[1], wide)}}};
}

Json spans_of(const std::vector<LoadSpan>& spans) {
  Json made = Json::array();
  for (const LoadSpan& span : spans) made.push_back({span.begin_ns, span.end_ns, span.name});
  return made;
}

Json burst_of(const Microburst& burst) {
  return {{"nic", burst.nic},          {"way", static_cast<int>(burst.direction)},
          {"begin", burst.begin_ns},   {"length", burst.length_ns},
          {"bytes", burst.bytes},      {"peak", burst.peak},
          {"times", burst.times_mean}, {"operations", burst.operations},
          {"phase", burst.phase}};
}

std::string about(const Load& load) {
  uint64_t sent = 0;
  for (const NicLoad& nic : load.nics) sent += nic.bytes[0];
  return fmt::format("{} NIC{}, {} on the wire, bins of {}", load.nics.size(),
                     load.nics.size() == 1 ? "" : "s", short_value(sent, MatrixUnit::kBytes),
                     short_value(static_cast<uint64_t>(load.bin_ns), MatrixUnit::kTime));
}

}  // namespace

std::string load_page(const Load& load, const std::string& title) {
  const bool wide = load.column_ns > load.bin_ns;
  Json nics = Json::array();
  for (const NicLoad& nic : load.nics) nics.push_back(nic_of(nic, wide));
  Json bursts = Json::array();
  for (const Microburst& burst : load.bursts) bursts.push_back(burst_of(burst));
  return fill_page(kTimelinePage, title,
                   {{"about", about(load)},
                    {"bin", load.bin_ns},
                    {"column", load.column_ns},
                    {"end", load.end_ns},
                    {"nics", std::move(nics)},
                    {"bursts", std::move(bursts)},
                    {"burstsInAll", load.bursts_in_all},
                    {"callsOf", load.calls_of},
                    {"calls", spans_of(load.calls)},
                    {"phases", spans_of(load.phases)}});
}

}  // namespace heddle::cli
