// DescriptorChannel: receives file descriptors from another process of the same host and user, by a
// Unix socket in the abstract namespace. Its name is random; a rank sends it to its peer over their
// connection, so no other process can guess it.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "base/descriptor.h"
#include "base/result.h"

namespace heddle::datapath {

using DescriptorChannelName = std::array<std::byte, 16>;

// What the descriptors are for.
struct DescriptorMessage {
  uint64_t group = 0;    // the communicator
  uint64_t member = 0;   // the sender's rank in it
  uint64_t address = 0;  // of `proof` in the sender's memory
  uint64_t proof = 0;    // random: a process that reads it at `address` can read that memory
};

struct ReceivedDescriptors {
  DescriptorMessage message;
  std::vector<Descriptor> descriptors;
  int32_t process = 0;  // the sender, as this process names it; 0: it cannot
};

class DescriptorChannel {
 public:
  DescriptorChannel() = default;

  // Errors: kExhausted (descriptors), kUnavailable.
  static Result<DescriptorChannel> open();

  bool is_open() const { return listener_.valid(); }
  const DescriptorChannelName& name() const { return name_; }
  // The next connection from the same user, without waiting; invalid where there is none.
  Descriptor accept();

 private:
  DescriptorChannelName name_{};
  Descriptor listener_;
};

// Connects to another process's channel. Errors: kUnavailable (there is none), kPermission (it is
// another user's).
Result<Descriptor> connect_descriptor_channel(const DescriptorChannelName& name);
// Whether receive_descriptors() returns at once: a message has arrived, or the peer has closed.
bool has_descriptors(const Descriptor& socket);
// Both without waiting. Errors: kUnavailable, with the system's reason.
Result<void> send_descriptors(const Descriptor& socket, const DescriptorMessage& message,
                              const std::vector<int>& descriptors);
Result<ReceivedDescriptors> receive_descriptors(const Descriptor& socket);

}  // namespace heddle::datapath
