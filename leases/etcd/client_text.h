// Texts of etcd's client: what it prints (base64, errors), and words for the commands that it
// reads.
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace heddle::leases {

// RFC 4648, section 4. Nothing where it is none.
std::optional<std::string> from_base64(std::string_view text);

// One word of a transaction's command: in double quotes, with the escapes of Go's strings.
std::string quoted_for_client(std::string_view text);

// The reason in the last line of the client's errors, which may be JSON.
std::string error_of_client(const std::string& line);

}  // namespace heddle::leases
