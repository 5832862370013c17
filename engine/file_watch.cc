// See file_watch.h.
#include "engine/file_watch.h"

#include <sys/inotify.h>
#include <unistd.h>

#include <array>
#include <cstddef>
#include <cstring>
#include <utility>

namespace heddle::engine {
namespace {

constexpr size_t kEventsBytes = 4096;

}  // namespace

FileWatch::FileWatch(const std::string& file) {
  const size_t slash = file.rfind('/');
  const std::string folder = slash == std::string::npos ? "." : file.substr(0, slash + 1);
  name_ = slash == std::string::npos ? file : file.substr(slash + 1);
  Descriptor opened(inotify_init1(IN_NONBLOCK | IN_CLOEXEC));
  if (!opened.valid()) return;
  if (inotify_add_watch(opened.number(), folder.c_str(), IN_CLOSE_WRITE | IN_MOVED_TO) >= 0) {
    opened_ = std::move(opened);
  }
}

bool FileWatch::take_change() {
  if (!opened_.valid()) return false;
  bool changed = false;
  alignas(inotify_event) std::array<char, kEventsBytes> events;
  for (;;) {
    const ssize_t bytes = ::read(opened_.number(), events.data(), events.size());
    if (bytes <= 0) return changed;
    for (size_t at = 0; at < static_cast<size_t>(bytes);) {
      inotify_event event{};
      std::memcpy(&event, events.data() + at, sizeof(event));
      // Where events were lost, this file's may be among them.
      changed |= (event.mask & IN_Q_OVERFLOW) != 0 ||
                 (event.len > 0 && name_ == events.data() + at + sizeof(event));
      at += sizeof(event) + event.len;
    }
  }
}

}  // namespace heddle::engine
