// See file_watch.h.
#include "engine/file_watch.h"

#include <sys/inotify.h>
#include <unistd.h>

#include <array>
#include <cstddef>
#include <cstring>
#include <utility>

#include "engine/params.h"

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
  if (inotify_add_watch(opened.number(), folder.c_str(),
                        IN_CLOSE_WRITE | IN_MOVED_TO | IN_MOVE_SELF) >= 0) {
    opened_ = std::move(opened);
  }
}

bool FileWatch::take_change() {
  if (!opened_.valid()) return false;
  bool changed = false;
  bool lost = false;
  alignas(inotify_event) std::array<char, kEventsBytes> events;
  for (int reads = 0; reads < params::kMostWatchReads; ++reads) {
    const ssize_t bytes = ::read(opened_.number(), events.data(), events.size());
    if (bytes <= 0) break;
    for (size_t at = 0; at < static_cast<size_t>(bytes);) {
      inotify_event event{};
      std::memcpy(&event, events.data() + at, sizeof(event));
      lost |= (event.mask & (IN_IGNORED | IN_MOVE_SELF)) != 0;
      // Where events were lost, this file's may be among them.
      changed |= (event.mask & IN_Q_OVERFLOW) != 0 ||
                 (event.len > 0 && name_ == events.data() + at + sizeof(event));
      at += sizeof(event) + event.len;
    }
  }
  if (lost) opened_ = Descriptor();
  return changed || lost;
}

}  // namespace heddle::engine
