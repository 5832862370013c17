// The same pages mapped one after the other: see mirrored_memory.h.
#include "jobs/mirrored_memory.h"

#include <sys/mman.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <utility>

#include "base/descriptor.h"
#include "base/quantity.h"
#include "jobs/params.h"

namespace heddle::jobs {
namespace {

Unexpected no_memory(uint64_t bytes) {
  return fail(ErrorCode::kExhausted, "cannot make room for calls of " + size_text(bytes),
              std::strerror(errno), "make its calls smaller");
}

}  // namespace

Result<MirroredMemory> MirroredMemory::create(uint64_t bytes) {
  MirroredMemory made;
  const uint64_t pieces = bytes / params::kMirroredPiece + 1;
  const Descriptor piece(memfd_create("heddle-mirrored", MFD_CLOEXEC));
  if (!piece.valid() || ftruncate(piece.number(), params::kMirroredPiece) != 0)
    return no_memory(bytes);
  // Address space first, so that nothing else is in it.
  void* const start = mmap(nullptr, pieces * params::kMirroredPiece, PROT_NONE,
                           MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (start == MAP_FAILED) return no_memory(bytes);
  made.start_ = static_cast<std::byte*>(start);
  made.bytes_ = pieces * params::kMirroredPiece;
  for (uint64_t at = 0; at < made.bytes_; at += params::kMirroredPiece) {
    if (mmap(made.start_ + at, params::kMirroredPiece, PROT_READ | PROT_WRITE,
             MAP_SHARED | MAP_FIXED, piece.number(), 0) == MAP_FAILED) {
      return no_memory(bytes);
    }
  }
  return made;
}

MirroredMemory::MirroredMemory(MirroredMemory&& other) noexcept
    : start_(std::exchange(other.start_, nullptr)), bytes_(std::exchange(other.bytes_, 0)) {}

MirroredMemory& MirroredMemory::operator=(MirroredMemory&& other) noexcept {
  std::swap(start_, other.start_);
  std::swap(bytes_, other.bytes_);
  return *this;
}

MirroredMemory::~MirroredMemory() {
  if (start_ != nullptr) munmap(start_, bytes_);
}

}  // namespace heddle::jobs
