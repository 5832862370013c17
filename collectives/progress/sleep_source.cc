// KernelSleepSource: see sleep_source.h.
#include "collectives/progress/sleep_source.h"

#include <fcntl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <string>
#include <string_view>

namespace heddle::collectives {
namespace {

constexpr uintptr_t kWord = sizeof(uintptr_t);
constexpr uintptr_t kPage = 4096;  // at least: memory is there or not by whole pages

Descriptor open_to_read(const std::string& path) {
  return Descriptor(open(path.c_str(), O_RDONLY | O_CLOEXEC));
}

// Of "NUMBER 0xARGUMENT 0x...", which a thread has that sleeps in a system call.
uintptr_t futex_in(std::string_view line) {
  const std::string_view begin = line.substr(0, line.find('\n'));
  long number = -1;
  const auto [after, wrong] = std::from_chars(begin.data(), begin.data() + begin.size(), number);
  if (wrong != std::errc() || number != SYS_futex) return 0;
  std::string_view rest = begin.substr(static_cast<size_t>(after - begin.data()));
  if (!rest.starts_with(" 0x")) return 0;
  rest.remove_prefix(3);
  uintptr_t address = 0;
  std::from_chars(rest.data(), rest.data() + rest.size(), address, 16);
  return address;
}

}  // namespace

ThreadId calling_thread() { return static_cast<ThreadId>(gettid()); }

bool KernelSleepSource::sleeps_on(ThreadId thread, const AwaitedObject& object) {
  const uintptr_t futex = futex_of(thread);
  std::array<uintptr_t, AwaitedObject::kMostBytes / kWord> words{};
  if (futex == 0 || object.bytes == 0 || object.bytes > AwaitedObject::kMostBytes) return false;
  // The places where an object may begin that the word is in.
  const uintptr_t last = futex / kWord * kWord;
  const size_t count = std::min(object.bytes / kWord, last / kWord);
  const uintptr_t first = last - (count - 1) * kWord;
  const uintptr_t page = std::max(first, last / kPage * kPage);
  std::span<uintptr_t> begins(words.data(), count);
  if (!read_words(first, begins)) {
    // An object may be the first of its page, with no memory before.
    begins = begins.first((last - page) / kWord + 1);
    if (!read_words(page, begins)) return false;
  }
  return std::any_of(begins.begin(), begins.end(), [&object](uintptr_t word) {
    return word != 0 && std::find(object.first_words.begin(), object.first_words.end(), word) !=
                            object.first_words.end();
  });
}

uintptr_t KernelSleepSource::futex_of(ThreadId thread) {
  auto found = threads_.find(thread);
  if (found == threads_.end()) {
    const std::string path = "/proc/self/task/" + std::to_string(thread) + "/syscall";
    found = threads_.emplace(thread, open_to_read(path)).first;
  }
  std::array<char, 256> line{};
  const ssize_t got = pread(found->second.number(), line.data(), line.size(), 0);
  return got <= 0 ? 0 : futex_in({line.data(), static_cast<size_t>(got)});
}

bool KernelSleepSource::read_words(uintptr_t address, std::span<uintptr_t> words) {
  if (!memory_.valid()) memory_ = open_to_read("/proc/self/mem");
  const ssize_t got =
      pread(memory_.number(), words.data(), words.size_bytes(), static_cast<off_t>(address));
  return got == static_cast<ssize_t>(words.size_bytes());
}

}  // namespace heddle::collectives
