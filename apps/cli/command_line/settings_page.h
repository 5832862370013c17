// SettingsPage: every setting with its key in the file, its variable, default and range, taken from
// the declarations in base/config_keys.cc.
#pragma once

#include <string>

#include "base/config.h"

namespace heddle::cli {

// "1 to 65535", "0 or 1280 to 65535 bytes", "auto, never or always"; "any text" where all is right.
std::string setting_range(const ConfigKey& key);

// `heddle help settings`.
std::string settings_text();
// docs/reference/settings.md.
std::string settings_markdown();
// heddle-settings(7).
std::string settings_man();

}  // namespace heddle::cli
