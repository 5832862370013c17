// User and password of a database: `heddle record export` and `heddle monitor --clickhouse` read
// them.
#pragma once

#include "recordings/http_post.h"

namespace heddle::cli {

// HEDDLE_CLICKHOUSE_USER and HEDDLE_CLICKHOUSE_PASSWORD: no settings, which `heddle config show`
// prints.
recordings::Credentials credentials_of_environment();

}  // namespace heddle::cli
