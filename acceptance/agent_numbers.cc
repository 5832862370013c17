// See agent_numbers.h.
#include "acceptance/agent_numbers.h"

#include "base/nanos.h"
#include "base/quantity.h"

namespace heddle::acceptance {

uint64_t count_of(double number, uint64_t most) {
  if (!(number > 0)) return 0;
  return number >= static_cast<double>(most) ? most : static_cast<uint64_t>(number);
}

std::string us_text(double us) {
  return duration_text(nanos(static_cast<int64_t>(count_of(us * 1e3, INT64_MAX))));
}

}  // namespace heddle::acceptance
