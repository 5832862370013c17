// Segment: see segment.h.
#include "collectives/shared_memory/segment.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>

#include <cerrno>
#include <cstring>
#include <new>

namespace heddle::collectives {
namespace {

constexpr const char* kWhat = "cannot share memory between ranks";
// `F_SEAL_SHRINK` keeps a peer from shrinking the file, which would end this process by SIGBUS.
constexpr int kSeals = F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL;

Unexpected system_failure(const char* call) {
  const bool limit = errno == EMFILE || errno == ENFILE || errno == ENOMEM;
  return fail(limit ? ErrorCode::kExhausted : ErrorCode::kUnavailable, kWhat,
              std::string(call) + ": " + std::strerror(errno),
              limit ? "raise the limit (`ulimit -n`, `ulimit -v`)" : "");
}

void* map_shared(const Descriptor& descriptor) {
  return mmap(nullptr, sizeof(SegmentLayout), PROT_READ | PROT_WRITE, MAP_SHARED,
              descriptor.number(), 0);
}

}  // namespace

Segment::~Segment() {
  if (shared_ != nullptr && mapped_) munmap(shared_, sizeof(SegmentLayout));
}

Result<Segment> Segment::create(Descriptor& descriptor) {
  // Beyond this limit the system would send SIGXFSZ.
  rlimit largest{};
  if (getrlimit(RLIMIT_FSIZE, &largest) == 0 && largest.rlim_cur < sizeof(SegmentLayout)) {
    return fail(ErrorCode::kExhausted, kWhat, "files may not be as large",
                "raise the limit (`ulimit -f`)");
  }
  Descriptor made(memfd_create("heddle", MFD_CLOEXEC | MFD_ALLOW_SEALING));
  if (!made.valid()) return system_failure("memfd_create");
  if (ftruncate(made.number(), sizeof(SegmentLayout)) != 0) return system_failure("ftruncate");
  if (fcntl(made.number(), F_ADD_SEALS, kSeals) != 0) return system_failure("F_ADD_SEALS");
  void* const start = map_shared(made);
  if (start == MAP_FAILED) return system_failure("mmap");
  descriptor = std::move(made);
  return Segment(std::launder(static_cast<SegmentLayout*>(start)), true);
}

Result<Segment> Segment::map(const Descriptor& descriptor) {
  struct stat found {};
  const int seals = fcntl(descriptor.number(), F_GET_SEALS);
  if (seals < 0 || (seals & F_SEAL_SHRINK) == 0 || fstat(descriptor.number(), &found) != 0 ||
      found.st_size != static_cast<off_t>(sizeof(SegmentLayout))) {
    return fail(ErrorCode::kInvalid, kWhat, "the other rank offers memory of another kind",
                "run the same version on all ranks");
  }
  void* const start = map_shared(descriptor);
  if (start == MAP_FAILED) return system_failure("mmap");
  return Segment(std::launder(static_cast<SegmentLayout*>(start)), true);
}

}  // namespace heddle::collectives
