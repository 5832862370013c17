// See contents_report.h.
#include "apps/cli/record/contents_report.h"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <vector>

#include "apps/cli/json.h"
#include "apps/cli/params.h"
#include "apps/cli/terminal.h"
#include "base/printable.h"
#include "recordings/manifest.h"

namespace heddle::cli {
namespace {

using insight::Clock;
using insight::ClockBasis;
using recordings::JobContents;
using recordings::RecordingSummary;

std::string list_of(const std::vector<uint32_t>& ranks) {
  std::string text;
  for (size_t i = 0; i < std::min(ranks.size(), params::record::kMostListed); ++i) {
    text += (text.empty() ? "" : ", ") + std::to_string(ranks[i]);
  }
  return ranks.size() > params::record::kMostListed ? text + ", ..." : text;
}

const char* plural(uint64_t count) { return count == 1 ? "" : "s"; }

std::string duration(int64_t ns) {
  const double value = std::abs(static_cast<double>(ns));
  if (value < 1e6) return fmt::format("{:.1f} us", value / 1e3);
  return value < 1e9 ? fmt::format("{:.3f} ms", value / 1e6) : fmt::format("{:.6f} s", value / 1e9);
}

std::string line_of(const Clock& clock, const std::string& first) {
  const std::string name = printable(clock.name);
  if (clock.basis == ClockBasis::kWallClock) {
    return fmt::format("  {}: against {} by the wall clocks only, of unknown agreement{}\n", name,
                       first,
                       clock.messages == 0 ? ", since no message between them was recorded" : "");
  }
  if (clock.basis == ClockBasis::kSameHost) {
    return fmt::format("  {}: against {} exactly, they are of one host\n", name, first);
  }
  return fmt::format(
      "  {}: against {} known to {} by {} messages, drift {:+.1f} ppm known to {:.1f}; its wall "
      "clock is {} {}\n",
      name, first, duration(clock.error_ns), clock.messages, clock.drift_ppm(),
      clock.drift_error_ppm(), duration(clock.wall_ahead_ns),
      clock.wall_ahead_ns < 0 ? "behind" : "ahead");
}

// A line a clock but the reference; empty where there is one clock.
std::string clocks_text(const insight::Clocks& clocks) {
  // The least certain clocks come first, and at most kMostClocksReported are printed.
  std::vector<const Clock*> order;
  for (const Clock& clock : clocks.clocks) {
    if (clock.basis != ClockBasis::kReference) order.push_back(&clock);
  }
  const auto unsure = [](const Clock* clock) { return static_cast<uint64_t>(clock->error_ns); };
  if (order.size() > params::record::kMostClocksReported) {
    std::stable_sort(order.begin(), order.end(),
                     [&unsure](const Clock* a, const Clock* b) { return unsure(a) > unsure(b); });
  }
  std::string text;
  for (size_t i = 0; i < std::min(order.size(), params::record::kMostClocksReported); ++i) {
    text += line_of(*order[i], printable(clocks.clocks.front().name));
  }
  if (order.size() <= params::record::kMostClocksReported) return text;
  return text + fmt::format("  ... and {} more, all better known; see --json\n",
                            order.size() - params::record::kMostClocksReported);
}

Json to_json(const RecordingSummary& summary) {
  const events::RecordingFacts& facts = summary.facts;
  Json identity = Json::object();
  for (const auto& [name, value] : facts.identity) identity[name] = value;
  return {{"file", summary.file},
          {"identity", identity},
          {"endpoints", summary.endpoints},
          {"started_realtime_ns", facts.started_realtime_ns},
          {"first_event_ns", summary.first_ns},
          {"last_event_ns", summary.last_ns},
          {"events", summary.events()},
          {"events_by_kind", summary.events_by_kind},
          {"unknown_events", summary.unknown_events},
          {"dropped_events", facts.dropped_events},
          {"ended_well", facts.closed},
          {"cut_short", facts.cut_short},
          {"missing_bytes", facts.missing_bytes},
          {"missing_events", summary.missing_events()},
          {"damaged_blocks", facts.blocks_damaged + summary.blocks_broken},
          {"stamps_off_ns", summary.stamps_off_ns < 0 ? Json() : Json(summary.stamps_off_ns)},
          {"wall_clock_offset_ns", facts.first_offset_ns},
          {"clock_drift_ns", static_cast<int64_t>(static_cast<uint64_t>(facts.last_offset_ns) -
                                                  static_cast<uint64_t>(facts.first_offset_ns))}};
}

Json contents_json(const JobContents& job) {
  Json rows = Json::array();
  for (const RecordingSummary& file : job.files) rows.push_back(to_json(file));
  Json document = {{"recordings", rows},
                   {"unreadable", job.unreadable},
                   {"hosts", job.hosts},
                   {"ranks", job.ranks},
                   {"ranks_missing", job.ranks_missing},
                   {"events", job.events()},
                   {"dropped_events", job.dropped_events()},
                   {"missing_events", job.missing_events()},
                   {"not_ended", job.not_ended()},
                   {"sound", job.sound()}};
  const Json alignment = to_json(job.alignment);
  document["clocks"] = alignment.at("clocks");
  document["clock_of_file"] = alignment.at("clock_of_file");
  return document;
}

std::string contents_text(const JobContents& job) {
  std::string text = fmt::format("{} recording{} of {} host{}, {} events", job.files.size(),
                                 plural(job.files.size()), job.hosts.size(),
                                 plural(job.hosts.size()), job.events());
  if (job.dropped_events() > 0) text += fmt::format(", {} older dropped", job.dropped_events());
  text += "\n";
  if (job.ranks > 0 && job.ranks_missing.empty()) {
    const bool of_some = job.files.size() > job.ranks;
    text += fmt::format("ranks: all {} are there{}\n", job.ranks,
                        of_some ? " of the largest communicator" : "");
  } else if (job.ranks > 0) {
    text += fmt::format("ranks: {} of {} are there, not {}\n", job.ranks - job.ranks_missing.size(),
                        job.ranks, list_of(job.ranks_missing));
  }
  if (job.not_ended() > 0) {
    text += fmt::format("ends: {} of the processes were killed, or still run\n", job.not_ended());
  }
  const size_t clocks = job.alignment.clocks.clocks.size();
  text += fmt::format("clocks: {}\n", clocks) + clocks_text(job.alignment.clocks);
  uint64_t damaged = 0;
  for (const RecordingSummary& file : job.files) damaged += file.sound ? 0 : 1;
  if (damaged > 0) {
    text += fmt::format("damaged: {} of the recordings; at least {} events are missing\n", damaged,
                        job.missing_events());
  }
  for (const std::string& why : job.unreadable) text += "not read: " + printable(why) + "\n";
  return text;
}

std::string contents_text(const RecordingSummary& summary) {
  const events::RecordingFacts& facts = summary.facts;
  const std::string pid = summary.identity("pid");  // of a simulated process there is none
  std::string text = fmt::format("{}{}: {}\n", summary.identity("host"),
                                 pid == "?" ? "" : ", process " + pid, summary.identity("command"));
  std::string endpoints;
  for (const std::string& endpoint : summary.endpoints) {
    endpoints += (endpoints.empty() ? "" : ", ") + endpoint;
  }
  text += fmt::format("  {:<12}{}\n", "endpoints", endpoints.empty() ? "none known" : endpoints);
  text += fmt::format("  {:<12}{} over {:.3f} s", "events", summary.events(), summary.seconds());
  if (facts.dropped_events > 0) text += fmt::format(", {} older dropped", facts.dropped_events);
  text += facts.closed ? "; ended well\n" : "; killed, or still running\n";
  for (const auto& [kind, count] : summary.events_by_kind) {
    text += fmt::format("    {:<22}{:>12}\n", kind, count);
  }
  if (summary.stamps_off_ns >= 0) {
    text += fmt::format("  {:<12}calls by the processor's counter, off by at most {} ns\n",
                        "stamps", summary.stamps_off_ns);
  }
  if (summary.unknown_events > 0) {
    text += fmt::format("    {:<22}{:>12}\n", "unknown here", summary.unknown_events);
  }
  if (!summary.sound) {
    text += fmt::format("  damaged: {} blocks could not be read whole, {} events are missing",
                        facts.blocks_damaged + summary.blocks_broken, summary.missing_events());
    if (facts.blocks_damaged > 0) text += " and what was in blocks without a head";
    if (facts.missing_bytes > 0) {
      text += fmt::format("; the file is {} bytes shorter than it should be", facts.missing_bytes);
    }
    text += "\n";
  }
  return text;
}

}  // namespace

void print_contents(const JobContents& job, bool json) {
  if (!json) return print(contents_text(job));
  // A command line may be of any bytes.
  print(contents_json(job).dump(2, ' ', false, Json::error_handler_t::replace) + "\n");
}

void print_files(const JobContents& job) {
  std::string text = "\n";
  for (const RecordingSummary& file : job.files) text += contents_text(file);
  print(text);
}

}  // namespace heddle::cli
