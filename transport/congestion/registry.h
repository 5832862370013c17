// The table of congestion controllers, by name.
#pragma once

#include <memory>
#include <span>
#include <string_view>

#include "transport/congestion/controller.h"

namespace heddle::transport {

// Null for a name that is not in the table.
std::unique_ptr<Controller> make_controller(std::string_view name,
                                            const ControllerOptions& options);

// The names in the table, in its order.
std::span<const std::string_view> controller_names();

}  // namespace heddle::transport
