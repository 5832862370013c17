// See next_function.h.
#include "plugins/nccl/trace/next_function.h"

#include <dlfcn.h>
#include <link.h>

#include <string>
#include <vector>

namespace heddle::nccl::trace {
namespace {

// By their SONAMEs, which a loaded library has wherever its file is.
constexpr const char* kUsualLibraries[] = {"libnccl.so.2",      "librccl.so.1",
                                           "libcudart.so.13",   "libcudart.so.12",
                                           "libcudart.so.11.0", "libcuda.so.1"};

#ifdef __x86_64__
constexpr const char* kFirstVersion = "GLIBC_2.2.5";
#else
constexpr const char* kFirstVersion = "GLIBC_2.17";
#endif

int note_name(dl_phdr_info* library, size_t /*bytes*/, void* names) {
  const char* const name = library->dlpi_name;
  // Without a name: the program, whose scope begins with this library.
  if (name != nullptr && *name != '\0') {
    static_cast<std::vector<std::string>*>(names)->emplace_back(name);
  }
  return 0;
}

void* find_in(const char* library, const char* name, const void* own) {
  void* const handle = dlopen(library, RTLD_NOLOAD | RTLD_LAZY);
  if (handle == nullptr) return nullptr;
  void* const found = real_dlsym()(handle, name);
  if (found != nullptr && found != own) return found;
  dlclose(handle);
  return nullptr;
}

// The file of this library, whose scope holds what it links, and itself.
bool is_own(const std::string& library) {
  Dl_info info{};
  return dladdr(reinterpret_cast<const void*>(&note_name), &info) != 0 && library == info.dli_fname;
}

void* find_elsewhere(const char* name, const void* own) {
  for (const char* library : kUsualLibraries) {
    if (void* const found = find_in(library, name, own)) return found;
  }
  // Names first: iterating holds a lock that dlopen() takes too.
  std::vector<std::string> libraries;
  dl_iterate_phdr(note_name, &libraries);
  for (const std::string& library : libraries) {
    if (is_own(library)) continue;
    if (void* const found = find_in(library.c_str(), name, own)) return found;
  }
  return nullptr;
}

}  // namespace

Dlsym real_dlsym() noexcept {
  static constinit std::atomic<void*> known{nullptr};
  void* found = known.load(std::memory_order_acquire);
  if (found != nullptr) return reinterpret_cast<Dlsym>(found);
  // By the first version of glibc for the architecture, which every later one has: a lookup that
  // fails would allocate, and an allocator that is being loaded may have asked.
  found = dlvsym(RTLD_NEXT, "dlsym", kFirstVersion);
  known.store(found, std::memory_order_release);
  return reinterpret_cast<Dlsym>(found);
}

void* find_next_function(const char* name, const void* own) {
  void* const next = real_dlsym()(RTLD_NEXT, name);
  if (next != nullptr && next != own) return next;
  void* const found = find_elsewhere(name, own);
  dlerror();  // what failed here is no failure of the program's own lookup
  return found;
}

}  // namespace heddle::nccl::trace
