// Key files: cluster keys as text, one a line as 64 hexadecimal digits, with blank lines and
// comments (# to the end of the line). The first key is used to connect, all are accepted. A file
// that others could read is refused. Where a process reads its keys from; see
// docs/explanation/security.md.
#pragma once

#include <string>
#include <vector>

#include "base/result.h"
#include "transport/cluster_key.h"

namespace heddle::engine {

// At most so many keys stand in a file.
inline constexpr size_t kMostKeys = 16;

// The keys of a file, in their order; at least one. Errors: kUnavailable (no such file),
// kPermission (not a regular file of this user or root, or others have any right to it), kInvalid
// (what is in it). No error tells a key.
Result<std::vector<transport::ClusterKey>> read_key_file(const std::string& path);

// A new key from the system's generator. Errors: kSystem.
Result<transport::ClusterKey> generate_key();

// What a key file with this key holds.
std::string key_file_text(const transport::ClusterKey& key);

// Makes a file with one new key from the system's generator, for this user only (0600). Errors:
// kInUse (there is something of this name), kPermission, kUnavailable, kSystem.
Result<transport::ClusterKey> generate_key_file(const std::string& path);

// What a handshake calls a key, as 16 hexadecimal digits: tells keys apart, and gives none away.
std::string id_text(const transport::ClusterKey& key);

}  // namespace heddle::engine
