// Key files: cluster keys as text, one per line as 64 hexadecimal digits, with blank lines and
// comments (# to the end of the line). The first key is used to connect, all are accepted. A file
// that other users could read is rejected. See docs/explanation/security.md.
#pragma once

#include <string>
#include <vector>

#include "base/result.h"
#include "engine/params.h"
#include "transport/cluster_key.h"

namespace heddle::engine {

// Maximum number of keys in a file.
using params::kMostKeys;

// The keys of a file in file order; at least one. Errors: kUnavailable (no such file), kPermission
// (not a regular file, not owned by this user or root, or accessible by others), kInvalid
// (malformed content). No error message contains a key.
Result<std::vector<transport::ClusterKey>> read_key_file(const std::string& path);

// A new key from the system's generator. Errors: kSystem.
Result<transport::ClusterKey> generate_key();

// The content of a key file with this one key.
std::string key_file_text(const transport::ClusterKey& key);

// Creates a file with one new key from the system's generator, with mode 0600. Errors: kInUse (the
// name exists), kPermission, kUnavailable, kSystem.
Result<transport::ClusterKey> generate_key_file(const std::string& path);

// The key's id in handshakes, as 16 hexadecimal digits; it identifies the key and does not reveal
// it.
std::string id_text(const transport::ClusterKey& key);

}  // namespace heddle::engine
