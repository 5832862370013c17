// See contents.h.
#include "recordings/contents.h"

#include <algorithm>
#include <filesystem>

#include "base/printable.h"
#include "datapath/resolve.h"

namespace heddle::recordings {
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

}  // namespace heddle::recordings
