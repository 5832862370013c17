// Bearer token: the secret that a server of metrics may ask its readers for, in a file.
#pragma once

#include <string>

#include "base/result.h"
#include "metrics/server.h"

namespace heddle::metrics {

// The first line of the file. Errors: kUnavailable, kPermission (other users may read it),
// kInvalid (no token, a long one, or bytes that a header cannot have).
Result<std::string> read_token(const std::string& file);

// Whether only programs of this machine reach the address.
bool is_loopback(const ListenAddress& at);

// Listens, and asks for the token in `token_file`; empty: none. Without one at an address that
// other machines reach: kInvalid. Errors: those of read_token() and Server::listen() too.
Result<std::unique_ptr<Server>> listen_with_token(const ListenAddress& at,
                                                  const std::string& token_file);

}  // namespace heddle::metrics
