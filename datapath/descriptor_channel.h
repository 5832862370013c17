// DescriptorChannel: a listener at which a process receives file descriptors from another process
// of the same host and user, over a Unix socket without a file. The random name authorizes senders:
// the two ranks exchange it only over their connection.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "base/descriptor.h"
#include "base/result.h"

namespace heddle::datapath {

using DescriptorChannelName = std::array<std::byte, 16>;

// A message that says what the descriptors are for.
struct DescriptorMessage {
  uint64_t group = 0;    // both numbers are the callers';
  uint64_t member = 0;   // `member` is the sender's in `group`
  uint64_t address = 0;  // of `proof` in the sender's memory
  uint64_t proof = 0;    // random; reading it there proves access to that memory
};

struct ReceivedDescriptors {
  DescriptorMessage message;
  std::vector<Descriptor> descriptors;
  int32_t process = 0;  // the sender's pid in this pid namespace; 0: not visible here
};

class DescriptorChannel {
 public:
  DescriptorChannel() = default;

  // Errors: kExhausted (descriptors), kUnavailable.
  static Result<DescriptorChannel> open();

  bool is_open() const { return listener_.valid(); }
  const DescriptorChannelName& name() const { return name_; }
  // Accepts the next connection of the same user, without waiting; invalid if there is none.
  Descriptor accept();

 private:
  DescriptorChannelName name_{};
  Descriptor listener_;
};

// Connects to another process's listener. Errors: kUnavailable (it does not exist), kPermission
// (another user's).
Result<Descriptor> connect_descriptor_channel(const DescriptorChannelName& name);
// True if receive_descriptors() would not block: data arrived or the peer has closed.
bool has_descriptors(const Descriptor& socket);
// Send and receive without waiting. Errors: kUnavailable, with the system's reason.
Result<void> send_descriptors(const Descriptor& socket, const DescriptorMessage& message,
                              const std::vector<int>& descriptors);
Result<ReceivedDescriptors> receive_descriptors(const Descriptor& socket);

}  // namespace heddle::datapath
