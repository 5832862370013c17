// Errors for failed writes: see write_error.h.
#include "base/write_error.h"

#include <cerrno>
#include <cstring>
#include <utility>

namespace heddle {

Unexpected cannot_write(std::string what, int error, std::string when_full) {
  std::string why = std::strerror(error);
  switch (error) {
    case EACCES:
    case EPERM:
    case EROFS:
      return fail(ErrorCode::kPermission, std::move(what), std::move(why),
                  "choose a folder that you may write");
    case ENOSPC:
    case EDQUOT:
      return fail(ErrorCode::kExhausted, std::move(what), std::move(why), std::move(when_full));
    default:
      return fail(ErrorCode::kSystem, std::move(what), std::move(why), "choose another folder");
  }
}

}  // namespace heddle
