// See contents.h.
#include "apps/cli/record/contents.h"

#include <fmt/core.h>

#include <algorithm>
#include <filesystem>

#include "apps/cli/output.h"
#include "datapath/resolve.h"

namespace heddle::cli {
namespace {

namespace fs = std::filesystem;

std::string address_of(const events::EndpointOpened& event) {
  transport::Address address;
  for (size_t i = 0; i < 8; ++i) {
    address.host[i] = static_cast<uint8_t>(event.address_high >> (56 - 8 * i));
    address.host[i + 8] = static_cast<uint8_t>(event.address_low >> (56 - 8 * i));
  }
  address.port = event.port;
  return datapath::to_text(address);
}

}  // namespace

Result<std::vector<std::string>> recording_files(const std::string& path) {
  std::error_code error;
  if (fs::is_regular_file(path, error)) return std::vector<std::string>{path};
  std::vector<std::string> files;
  for (fs::directory_iterator at(path, error), end; !error && at != end; at.increment(error)) {
    std::error_code ignored;
    const bool is_file = at->is_regular_file(ignored);
    if (is_file && at->path().extension() == kRecordingSuffix) files.push_back(at->path());
  }
  if (error) {
    const bool denied = error == std::errc::permission_denied;
    return fail(denied ? ErrorCode::kPermission : ErrorCode::kUnavailable,
                "cannot read the recordings in " + path, error.message(),
                "give the folder that was named to `heddle record -o`");
  }
  if (files.empty()) {
    return fail(ErrorCode::kUnavailable, "cannot read the recordings in " + path, "there are none",
                "make one with `heddle record -o " + path + " -- COMMAND`");
  }
  std::sort(files.begin(), files.end());
  return files;
}

uint64_t RecordingSummary::events() const {
  uint64_t sum = unknown_events;
  for (const auto& [kind, count] : events_by_kind) sum += count;
  return sum;
}

std::string RecordingSummary::identity(const std::string& name) const {
  for (const auto& [key, value] : facts.identity) {
    if (key == name) return printable(value);
  }
  return "?";
}

Result<RecordingSummary> summarize_recording(const std::string& file) {
  auto reader = events::RecordingReader::open(file);
  if (!reader) return fail(reader.error());
  RecordingSummary summary;
  summary.file = file;
  events::RecordedEvent recorded;
  bool any = false;
  while (reader->next(recorded)) {
    std::visit(
        [&](const auto& event) {
          ++summary.events_by_kind[std::string(events::name_of(event.kKind))];
          if (!any) summary.first_ns = event.time.count;
          any = true;
          summary.last_ns = std::max(summary.last_ns, event.time.count);
        },
        recorded.event);
    if (const auto* opened = std::get_if<events::EndpointOpened>(&recorded.event)) {
      summary.endpoints.push_back(address_of(*opened));
    } else if (const auto* made = std::get_if<events::CommunicatorMade>(&recorded.event)) {
      summary.memberships.push_back(*made);
    } else if (const auto* checked = std::get_if<events::StampsChecked>(&recorded.event)) {
      summary.stamps_off_ns = std::max(summary.stamps_off_ns, checked->most.count);
    }
  }
  summary.facts = reader->facts();
  summary.unknown_events = reader->unknown_events();
  summary.blocks_broken = reader->blocks_broken();
  summary.sound = reader->sound();
  return summary;
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

std::string to_text(const RecordingSummary& summary) {
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
    if (facts.blocks_damaged > 0) text += " and what stood in blocks without a head";
    if (facts.missing_bytes > 0) {
      text += fmt::format("; the file is {} bytes shorter than it should be", facts.missing_bytes);
    }
    text += "\n";
  }
  return text;
}

}  // namespace heddle::cli
