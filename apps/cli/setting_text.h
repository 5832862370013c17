// Setting text: what people are told of a setting, with the values it may have where these are
// known. Names that the transport keeps in its tables come from there.
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
