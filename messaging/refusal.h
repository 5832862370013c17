// Which subject a server of NATS has refused, by its words.
#pragma once

#include <string_view>

namespace heddle::messaging {

// Whether `why`, "Permissions Violation for Publish to "SUBJECT"", means this one. libnats keeps
// the first 255 bytes of it, which may end within the subject.
bool refuses(std::string_view why, std::string_view subject);

}  // namespace heddle::messaging
