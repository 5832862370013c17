// See database_access.h.
#include "apps/cli/monitor/database_access.h"

#include <cstdlib>

namespace heddle::cli {

recordings::Credentials credentials_of_environment() {
  const char* const user = std::getenv("HEDDLE_CLICKHOUSE_USER");
  const char* const password = std::getenv("HEDDLE_CLICKHOUSE_PASSWORD");
  recordings::Credentials made{user == nullptr ? "" : user, password == nullptr ? "" : password};
  if (made.user.empty() && !made.password.empty()) made.user = "default";  // the server's
  return made;
}

}  // namespace heddle::cli
