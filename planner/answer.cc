// See answer.h.
#include "planner/answer.h"

#include "base/check.h"

namespace heddle::planner {

const Figure& Answer::figure(const std::string& name) const {
  const Figure* found = nullptr;
  for (const Figure& each : figures) {
    if (each.name == name) found = &each;
  }
  CHECK(found != nullptr);
  return *found;
}

}  // namespace heddle::planner
