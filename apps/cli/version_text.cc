// The text of `heddle --version`: see version_text.h.
#include "apps/cli/version_text.h"

#include <fmt/format.h>
#include <gnu/libc-version.h>
#include <openssl/crypto.h>
#include <openssl/opensslv.h>

#include "base/libraries.h"
#include "base/revision.h"
#include "base/version.h"

namespace heddle::cli {

std::string version_text() {
  return fmt::format(
      "heddle {} ({}, {})\n"
      "built with {}, {}, OpenSSL {}, glibc {}.{}\n"
      "runs with OpenSSL {}, glibc {}\n",
      kVersion, git_revision(), build_type(), compiler_version(), library_versions(),
      OPENSSL_VERSION_STR, __GLIBC__, __GLIBC_MINOR__, OpenSSL_version(OPENSSL_VERSION_STRING),
      gnu_get_libc_version());
}

}  // namespace heddle::cli
