// RunKey: see run_key.h. The key is the content of a memfd that nothing can be written to any more.
#include "launch/ranks/run_key.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <utility>

#include "engine/key_file.h"

namespace heddle::launch {

Result<RunKey> RunKey::make() {
  const Result<transport::ClusterKey> key = engine::generate_key();
  if (!key) return fail(key.error());
  RunKey made(memfd_create("heddle run key", MFD_CLOEXEC | MFD_ALLOW_SEALING));
  std::string text = engine::key_file_text(*key);
  const int descriptor = made.descriptor_;
  const bool done =
      descriptor >= 0 &&
      write(descriptor, text.data(), text.size()) == static_cast<ssize_t>(text.size()) &&
      fchmod(descriptor, S_IRUSR) == 0 &&
      fcntl(descriptor, F_ADD_SEALS, F_SEAL_WRITE | F_SEAL_GROW | F_SEAL_SHRINK | F_SEAL_SEAL) == 0;
  const int error = errno;
  explicit_bzero(text.data(), text.size());
  if (done) return made;
  return fail(ErrorCode::kSystem, "cannot keep a key for the run", std::strerror(error),
              "make one with 'heddle key generate FILE', and set HEDDLE_KEY_FILE");
}

RunKey::RunKey(RunKey&& other) noexcept : descriptor_(std::exchange(other.descriptor_, -1)) {}

RunKey::~RunKey() {
  if (descriptor_ >= 0) close(descriptor_);
}

std::string RunKey::path() const { return fmt::format("/proc/{}/fd/{}", getpid(), descriptor_); }

}  // namespace heddle::launch
