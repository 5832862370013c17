// Destinations: where a relay may forward sessions to. Names are resolved once, when the relay
// starts, so that a request makes it neither wait for a resolver nor reach anything else.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "transport/address.h"

namespace heddle::relaying {

class Destinations {
 public:
  // Each is "HOST[:PORT]"; without a port, any port of that host. Errors: kInvalid,
  // kUnavailable (unknown name).
  static Result<Destinations> make(const std::vector<std::string>& allowed);

  // The address of a hop, "HOST:PORT"; nothing: it is not allowed. A hop is allowed by the name
  // given to make(), or by the address in digits of a host given there.
  std::optional<transport::Address> find(const std::string& hop) const;

  std::string text() const;  // "site-b:18700, 10.0.0.7"

 private:
  struct Allowed {
    std::string text;
    std::string host;
    transport::Address address;  // port 0: any
  };
  std::vector<Allowed> allowed_;
};

}  // namespace heddle::relaying
