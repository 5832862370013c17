// What the C++ runtime of Debian 12, linked statically, wants of a glibc newer than 2.31. It stays
// inside the file that it is linked into: a newer glibc keeps its own.
#include <sys/random.h>

#include <cstdint>
#include <cstdlib>

extern "C" {

// False: the runtime counts references with atomic operations always (glibc 2.32).
__attribute__((visibility("hidden"))) char __libc_single_threaded = 0;

// For std::random_device (glibc 2.36).
__attribute__((visibility("hidden"))) uint32_t arc4random() {
  uint32_t drawn = 0;
  if (getentropy(&drawn, sizeof drawn) != 0) abort();
  return drawn;
}

}  // extern "C"
