// CountingSink: counts events per kind, and occurrences of each enum value. Reports and tests read
// it. It allocates nothing and has no lock, so only one thread may use it.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <type_traits>

#include "base/check.h"
#include "events/events.h"

namespace heddle::events {

class CountingSink : public EachSink<CountingSink> {
 public:
  // Number of events of this kind.
  uint64_t count(EventKind kind) const { return kinds_[static_cast<size_t>(kind)]; }

  // Number of events that carried this value, e.g. count(DropReason::kChecksum).
  template <typename Enum>
  uint64_t count(Enum value) const {
    return values_[place(value)];
  }

  template <typename Event>
  void on_any(const Event& event) {
    ++kinds_[static_cast<size_t>(Event::kKind)];
    visit_fields(event, [this](auto, const auto& value) {
      if constexpr (std::is_enum_v<std::decay_t<decltype(value)>>) ++values_[place(value)];
    });
  }

  void reset() { *this = CountingSink(); }

 private:
  template <typename Enum>
  static size_t place(Enum value) {
    const size_t at = kFirstPlace<Enum> + static_cast<size_t>(value);
    CHECK(at < kPlaceCount);
    return at;
  }

  std::array<uint64_t, kEventKindCount> kinds_{};
  std::array<uint64_t, kPlaceCount> values_{};
};

}  // namespace heddle::events
