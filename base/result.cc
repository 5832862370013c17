// Errors from text of any origin: see result.h.
#include "base/result.h"

#include "base/printable.h"

namespace heddle {

Unexpected fail(ErrorCode code, std::string what, std::string why, std::string todo) {
  return {
      {code, printable(std::move(what)), printable(std::move(why)), printable(std::move(todo))}};
}

}  // namespace heddle
