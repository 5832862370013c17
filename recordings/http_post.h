// HTTP by the program curl, which knows proxies, certificates and credentials; what the address
// holds stays off its command line, where others could read it.
#pragma once

#include <string>
#include <utility>

#include "base/result.h"

namespace heddle::recordings {

// Empty: none are sent.
struct Credentials {
  std::string user;
  std::string password;
};

class HttpPost {
 public:
  // A user or password in the address takes precedence over `otherwise`. Errors: kInvalid (no http
  // or https address, or credentials that cannot be sent); their texts do not contain the address.
  static Result<HttpPost> to(const std::string& url, const Credentials& otherwise);

  // Sends the text and returns the answer. Errors: kUnavailable (no server, no curl, or an error
  // answer, which is included).
  Result<std::string> send(const std::string& text) const;

  // For `curl -K`, which then sends what it reads from standard input. They hold the credentials.
  std::string settings() const;

  // The address for messages: without credentials, those of the query included.
  std::string shown() const;

 private:
  HttpPost(std::string url, Credentials credentials)
      : url_(std::move(url)), credentials_(std::move(credentials)) {}

  std::string url_;  // without credentials but in its query
  Credentials credentials_;
};

}  // namespace heddle::recordings
