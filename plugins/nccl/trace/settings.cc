// See settings.h.
#include "plugins/nccl/trace/settings.h"

#include <charconv>
#include <cstdint>
#include <string_view>

#include "base/units.h"
#include "engine/process_recording.h"

namespace heddle::nccl::trace {
namespace {

Unexpected refuse(const char* name, std::string_view value, const char* values) {
  return fail(ErrorCode::kInvalid, "cannot record NCCL's calls",
              std::string(name) + " is '" + std::string(value) + "'",
              std::string("set it to ") + values);
}

std::string_view text_of(Variable variable, const char* name) {
  const char* const text = variable(name);
  return text == nullptr ? "" : text;
}

Result<uint64_t> number_of(Variable variable, const char* name, uint64_t fallback, uint64_t most) {
  const std::string_view text = text_of(variable, name);
  if (text.empty()) return fallback;
  uint64_t number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error == std::errc() && end == text.data() + text.size() && number <= most) return number;
  return refuse(name, text, ("a number up to " + std::to_string(most)).c_str());
}

Result<bool> switch_of(Variable variable, const char* name, bool fallback) {
  const std::string_view text = text_of(variable, name);
  if (text.empty()) return fallback;
  if (text == "true" || text == "1" || text == "on") return true;
  if (text == "false" || text == "0" || text == "off") return false;
  return refuse(name, text, "true or false");
}

}  // namespace

Result<Settings> read_settings(Variable variable) {
  Settings settings;
  settings.recording.directory = text_of(variable, "HEDDLE_RECORD");
  settings.recording.clock = engine::recording_clock;
  if (settings.recording.directory.empty()) return settings;
  const std::string_view level = text_of(variable, "HEDDLE_RECORD_LEVEL");
  settings.recording.level = events::record_level(level);
  const bool known = level.empty() || level == "counters" || level == "bins" ||
                     level == "messages" || level == "segments";
  if (!known) return refuse("HEDDLE_RECORD_LEVEL", level, "counters, bins, messages or segments");
  const auto size = number_of(variable, "HEDDLE_RECORD_MEBIBYTES", 64, 65'536);
  if (!size) return fail(size.error());
  settings.recording.most = mebibytes(*size);
  const auto durable = number_of(variable, "HEDDLE_RECORD_DURABLE_SECONDS", 0, 86'400);
  if (!durable) return fail(durable.error());
  settings.recording.durable = seconds(static_cast<int64_t>(*durable));
  const auto node = switch_of(variable, "HEDDLE_RECORD_NODE", true);
  if (!node) return fail(node.error());
  settings.recording.node = *node;
  const auto copies = switch_of(variable, "HEDDLE_NCCL_TRACE_COPIES", false);
  if (!copies) return fail(copies.error());
  settings.plain_copies = *copies;
  return settings;
}

}  // namespace heddle::nccl::trace
