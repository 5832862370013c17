// Text: a short name that is stored inside an event.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <string_view>

namespace heddle::events {

struct Text {
  static constexpr size_t kMost = 32;
  std::array<char, kMost> bytes{};  // padded with zeros

  Text() = default;
  // Truncates to kMost bytes.
  explicit Text(std::string_view text) {
    std::copy_n(text.begin(), std::min(text.size(), kMost), bytes.begin());
  }
  std::string_view view() const {
    const auto end = std::find(bytes.begin(), bytes.end(), '\0');
    return {bytes.data(), static_cast<size_t>(end - bytes.begin())};
  }
  bool operator==(const Text&) const = default;
};

}  // namespace heddle::events
