// Setting text: the description of a setting for users, with its allowed values if there is a list.
// Names of congestion controllers and selectors come from the transport's registries.
#pragma once

#include <string>
#include <vector>

#include "base/config.h"

namespace heddle::cli {

// The values of a setting; none where any text or number will do.
std::vector<std::string> setting_values(const ConfigKey& key);
// What the setting is for; its values too, where no declaration of the setting has them.
std::string setting_doc(const ConfigKey& key);

}  // namespace heddle::cli
