// HTTP by the program curl, which knows proxies, certificates and credentials; what the address
// holds stays off its command line, where others could read it.
#pragma once

#include <string>

#include "base/result.h"

namespace heddle::cli {

class HttpPost {
 public:
  // Errors: kInvalid (no address of http or https).
  static Result<HttpPost> to(const std::string& url);

  // Sends the text and returns the answer. Errors: kUnavailable (nobody there, no curl, or it
  // answered with an error, which is told).
  Result<std::string> send(const std::string& text) const;

  // Without the credentials in it.
  std::string shown() const;

 private:
  explicit HttpPost(std::string url) : url_(std::move(url)) {}
  std::string url_;
};

}  // namespace heddle::cli
