// XdpAttachment: the program on the interface and the XDP sockets of its queues, in the best mode
// that works. Everything of it vanishes with the process: a BPF link holds the program.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "base/descriptor.h"
#include "base/result.h"
#include "datapath/xdp.h"
#include "datapath/xdp/bpf.h"
#include "datapath/xdp/interface.h"
#include "datapath/xdp/mapping.h"
#include "datapath/xdp/socket.h"

namespace heddle::datapath {

class XdpAttachment {
 public:
  // Attaches for datagrams to `port`; `mtu_bytes` is the largest IP packet. Errors: see open_xdp().
  static Result<std::unique_ptr<XdpAttachment>> open(const XdpInterface& interface,
                                                     const XdpOptions& options, uint16_t port,
                                                     uint32_t mtu_bytes);

  std::span<const std::unique_ptr<XdpSocket>> sockets() const { return sockets_; }
  // Those whose queue can send.
  std::span<const std::unique_ptr<XdpSocket>> senders() const {
    return std::span(sockets_).first(senders_);
  }
  // True if a packet may take several frames.
  bool multi_buffer() const { return multi_buffer_; }
  // The largest IP packet that fits.
  uint32_t mtu_bytes() const { return mtu_bytes_; }
  // For the log: "eth0, 4 queues, zero copy".
  std::string text() const;

 private:
  // One combination to try.
  struct Attempt {
    XdpHook hook = XdpHook::kDriver;
    bool zero_copy = false;
    bool multi_buffer = false;
  };
  enum class Outcome : uint8_t { kDone, kTryNext, kFatal };

  explicit XdpAttachment(const XdpInterface& interface) : interface_(interface) {}

  static std::vector<Attempt> attempts(XdpMode mode, uint32_t mtu_bytes);
  Outcome attach(const Attempt& attempt, const XdpOptions& options, uint16_t port);
  Outcome open_sockets(const Attempt& attempt, const XdpOptions& options);
  Outcome judge(const std::string& step, int error);
  Error in_use(const std::string& step) const;

  XdpInterface interface_;
  Mapping memory_;  // the frames
  std::vector<std::unique_ptr<XdpSocket>> sockets_;
  Descriptor map_;
  Descriptor program_;
  Descriptor link_;
  size_t senders_ = 0;
  uint32_t mtu_bytes_ = 0;
  bool multi_buffer_ = false;
  XdpHook hook_ = XdpHook::kDriver;
  std::string reasons_;  // why earlier attempts failed
  Error error_;          // after kFatal
};

}  // namespace heddle::datapath
