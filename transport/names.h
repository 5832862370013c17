// The names that options may use, in the order of their tables; the first of each is the default.
#pragma once

#include <span>
#include <string_view>

namespace heddle::transport {

// For EndpointOptions::congestion and ConnectionOptions::congestion.
std::span<const std::string_view> controller_names();
// For EndpointOptions::selector and ConnectionOptions::selector.
std::span<const std::string_view> selector_names();

}  // namespace heddle::transport
