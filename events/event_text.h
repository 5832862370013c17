// Converts any event to one line of JSON. The generated to_text functions instantiate event_text;
// logs and memory sinks call those.
#pragma once

#include <string>
#include <string_view>
#include <type_traits>

#include "base/nanos.h"
#include "events/events.h"

namespace heddle::events {

// Names that programs set may contain any bytes; bytes that are not printable ASCII become '?'.
inline void append_escaped(std::string& text, std::string_view name) {
  for (const char each : name) {
    if (each == '"' || each == '\\') text += '\\';
    text += each >= ' ' && each <= '~' ? each : '?';
  }
}

// `{"event":"burst_sent","time_ns":1,...}`; enums by name, no spaces. Allocates.
template <typename Event>
std::string event_text(const Event& event) {
  std::string text = "{\"event\":\"";
  text += name_of(Event::kKind);
  text += '"';
  visit_fields(event, [&text](std::string_view name, const auto& value) {
    using Value = std::decay_t<decltype(value)>;
    text += ",\"";
    text += name;
    text += "\":";
    if constexpr (std::is_same_v<Value, Nanos>) {
      text += std::to_string(value.count);
    } else if constexpr (std::is_same_v<Value, bool>) {
      text += value ? "true" : "false";
    } else if constexpr (std::is_enum_v<Value>) {
      text += '"';
      text += name_of(value);
      text += '"';
    } else if constexpr (std::is_same_v<Value, Text>) {
      text += '"';
      append_escaped(text, value.view());
      text += '"';
    } else {
      text += std::to_string(value);
    }
  });
  text += '}';
  return text;
}

}  // namespace heddle::events
