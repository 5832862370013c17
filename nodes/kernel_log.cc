// See kernel_log.h.
#include "nodes/kernel_log.h"

#include <fcntl.h>
#include <fmt/core.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <string_view>
#include <utility>

#include "nodes/kernel_messages.h"
#include "nodes/params.h"

namespace heddle::nodes {
namespace {

constexpr size_t kRecordBytes = 8192;  // a shorter buffer may be refused (CONSOLE_EXT_LOG_MAX)

std::string why_not(int error) {
  const bool rights = error == EPERM || error == EACCES;
  return std::string(std::strerror(error)) + (rights ? " (needs root or CAP_SYSLOG)" : "");
}

// Containers have other files there, some of which would be readable for ever.
bool is_kernel_log(int descriptor) {
  constexpr unsigned kMemory = 1;  // Linux, admin-guide/devices.txt
  constexpr unsigned kMessages = 11;
  struct stat about {};
  return fstat(descriptor, &about) == 0 && S_ISCHR(about.st_mode) &&
         about.st_rdev == makedev(kMemory, kMessages);
}

}  // namespace

KernelLog::KernelLog(const std::string& path)
    : path_(path), log_(open(path.c_str(), O_RDONLY | O_NONBLOCK | O_CLOEXEC)) {
  if (!log_.valid()) {
    leave(why_not(errno));
  } else if (!is_kernel_log(log_.number())) {
    leave("it is not the kernel's log (device 1:11)");
  } else if (lseek(log_.number(), 0, SEEK_END) < 0) {  // refused where opening is not
    leave(why_not(errno));
  }
  read_ = [file = log_.number()](std::span<char> record) {
    return read(file, record.data(), record.size());
  };
}

KernelLog::KernelLog(Descriptor log, Read read)
    : path_("the log"), log_(std::move(log)), read_(std::move(read)) {}

void KernelLog::leave(const std::string& why) {
  complaint_ = fmt::format("kernel messages are not recorded: {}: {}", path_, why);
  log_ = Descriptor();
}

// A message is logged before it is read, so the least distance of the two clocks is the best known
// one; it may grow by what they drift.
Nanos KernelLog::time_of(Nanos stamp, Nanos now) {
  const Nanos distance = now - stamp;
  const auto drift = static_cast<double>((now - placed_at_).count) * params::kMostDrift;
  if (!placed_ || distance < ahead_ + Nanos{static_cast<int64_t>(drift)}) {
    placed_ = true;
    ahead_ = distance;
    placed_at_ = now;
  }
  return std::min(now, stamp + ahead_);
}

bool KernelLog::may_take(events::KernelMessageClass what, Nanos now) {
  if (now - second_began_ >= seconds(1)) {
    second_began_ = now;
    in_second_.fill(0);
  }
  return in_second_[static_cast<size_t>(what)]++ < params::kMostMessagesASecond;
}

std::vector<events::KernelMessage> KernelLog::take(Nanos now) {
  std::vector<events::KernelMessage> messages;
  std::array<char, kRecordBytes> bytes{};
  while (log_.valid()) {
    const ssize_t got = read_(bytes);
    if (got < 0 && errno == EINTR) continue;
    if (got < 0 && errno == EPIPE) {
      ++lost_;
      continue;
    }
    if (got < 0 && errno == EAGAIN) break;
    if (got <= 0) {  // it would be readable for ever
      leave(got < 0 ? why_not(errno) : "it has ended");
      break;
    }
    const auto record = parse_kernel_record({bytes.data(), static_cast<size_t>(got)});
    if (!record || record->facility != 0) continue;
    const Nanos time = time_of(record->stamp, now);
    auto message = classify_kernel_message(record->text);
    if (!message) continue;
    if (!may_take(message->what, now)) {
      ++lost_;
      continue;
    }
    message->time = time;
    message->severity = record->severity;
    messages.push_back(*message);
  }
  return messages;
}

uint32_t KernelLog::take_lost() { return std::exchange(lost_, 0); }

}  // namespace heddle::nodes
