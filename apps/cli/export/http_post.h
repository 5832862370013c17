// HTTP by the program curl, which knows proxies, certificates and credentials; what the address
// holds stays off its command line, where others could read it.
#pragma once

#include <string>
#include <utility>

#include "base/result.h"

namespace heddle::cli {

// Empty: none are sent.
struct Credentials {
  std::string user;
  std::string password;
};

class HttpPost {
 public:
  // A user or password that the address holds goes before that of `otherwise`. Errors: kInvalid (no
  // address of http or https, or credentials that cannot be sent), told without the address.
  static Result<HttpPost> to(const std::string& url, const Credentials& otherwise);

  // Sends the text and returns the answer. Errors: kUnavailable (nobody there, no curl, or it
  // answered with an error, which is told).
  Result<std::string> send(const std::string& text) const;

  // Without credentials, those of a query among them: what messages may tell.
  std::string shown() const;

 private:
  HttpPost(std::string url, Credentials credentials)
      : url_(std::move(url)), credentials_(std::move(credentials)) {}
  std::string settings() const;

  std::string url_;  // without credentials but in its query
  Credentials credentials_;
};

}  // namespace heddle::cli
