// Where a NATS server is, under which subject, and what proves to it who is asking. Publisher and
// Subscription connect by these.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace heddle::messaging {

struct NatsServer {
  std::string host;
  std::string port;
  std::string text() const;  // "host:port", for people and for addresses
};

struct NatsAddress {
  std::vector<NatsServer> servers;  // of one cluster: each is tried in turn
  std::string subject;              // all that is published begins with it
  bool tls = false;
  // For messages; it holds no secret.
  std::string text() const;
};

// "nats://HOST:PORT/SUBJECT", "tls://…"; the port is 4222 and the subject "heddle" where there is
// none; hosts of a cluster are separated by commas. Errors: kInvalid, also for credentials, which
// other users could read on a command line.
Result<NatsAddress> parse_nats_address(const std::string& text);
bool is_nats_address(std::string_view text);

// Whether a word may be a part of a subject between dots.
bool is_subject_token(std::string_view word);
// Any text as such a word: what may not be there becomes %XX.
std::string subject_token(std::string_view text);

// Empty: none.
struct NatsAccess {
  std::string user;
  std::string password;
  std::string token;
  std::string ca;           // a file: certificates that are trusted; empty: the system's
  std::string certificate;  // files: of this program, where the server asks for one
  std::string key;
};

// Of the file, TOML with keys of the names above, or, where `path` is empty, of the variables
// HEDDLE_NATS_USER, HEDDLE_NATS_PASSWORD and HEDDLE_NATS_TOKEN. Errors: kUnavailable (it cannot be
// read), kPermission (others may read it), kInvalid.
Result<NatsAccess> read_nats_access(const std::string& path);

}  // namespace heddle::messaging
