// KernelLog: the messages of this machine's kernel as they are logged, from /dev/kmsg. Lines that
// programs write there are left out: the kernel marks them by their facility.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <vector>

#include "base/descriptor.h"
#include "base/nanos.h"
#include "events/events.h"

namespace heddle::nodes {

class KernelLog {
 public:
  // One record, as read(2) gives it; negative: errno is why.
  using Read = std::function<ssize_t(std::span<char> record)>;

  // Begins behind what is logged already, which the clock of messages could not place. Where it
  // cannot be read, or is not the kernel's log, complaint() is why, and nothing comes.
  explicit KernelLog(const std::string& path = "/dev/kmsg");
  // Of records that `read` gives, for tests.
  KernelLog(Descriptor log, Read read);

  // Readable when a message has come; -1: it cannot be read.
  int descriptor() const { return log_.number(); }
  // One sentence; empty: it is read.
  const std::string& complaint() const { return complaint_; }

  // Classified messages since the last call, with times of the clock of which `now` is one.
  std::vector<events::KernelMessage> take(Nanos now);
  // Messages that were overwritten, or too many of a class in a second, since the last call.
  uint32_t take_lost();

 private:
  void leave(const std::string& why);
  Nanos time_of(Nanos stamp, Nanos now);
  bool may_take(events::KernelMessageClass what, Nanos now);

  std::string path_;
  Descriptor log_;
  Read read_;
  std::string complaint_;
  bool placed_ = false;
  Nanos ahead_;      // of the clock over that of messages, at most
  Nanos placed_at_;  // when that was known
  Nanos second_began_;
  std::array<uint32_t, events::kKernelMessageClassCount> in_second_{};
  uint32_t lost_ = 0;
};

}  // namespace heddle::nodes
