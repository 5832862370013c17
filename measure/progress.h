// Progress: what a measurement is doing, for a line that its caller shows.
#pragma once

#include <functional>
#include <string>

namespace heddle::measure {

// Called at intervals while a measurement runs.
using Progress = std::function<void(const std::string& text)>;

}  // namespace heddle::measure
