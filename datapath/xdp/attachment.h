// XdpAttachment: the program on the interface and the XDP sockets of its queues, one per engine at
// each queue, in the best mode that works. Everything of it vanishes with the process: a BPF link
// holds the program. The engines share it.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "base/descriptor.h"
#include "base/result.h"
#include "datapath/xdp.h"
#include "datapath/xdp/bpf.h"
#include "datapath/xdp/interface.h"
#include "datapath/xdp/mapping.h"
#include "datapath/xdp/queue.h"
#include "datapath/xdp/socket.h"
#include "transport/address.h"

namespace heddle::datapath {

// What is attached to a NIC.
struct XdpWanted {
  transport::Address local;  // with the receive port; its host may be a wildcard
  uint32_t mtu_bytes = 0;    // of an IP packet; the interface's may be less
  uint8_t engines = 1;
};

class XdpAttachment {
 public:
  // Errors: see open_xdp().
  static Result<std::shared_ptr<XdpAttachment>> open(const XdpOptions& options,
                                                     const XdpWanted& wanted);

  const XdpInterface& interface() const { return interface_; }
  // Of this engine, one per queue.
  std::span<const std::unique_ptr<XdpSocket>> sockets(uint8_t engine) const {
    return std::span(sockets_).subspan(engine * queues_.size(), queues_.size());
  }
  // Those whose queue can send.
  std::span<const std::unique_ptr<XdpSocket>> senders(uint8_t engine) const {
    return sockets(engine).first(senders_);
  }
  // True if a packet may take several frames.
  bool multi_buffer() const { return multi_buffer_; }
  // The largest IP packet that fits.
  uint32_t mtu_bytes() const { return mtu_bytes_; }
  // For the log: "eth0, 4 queues, native, zero copy, busy polling, packets of 1500 bytes".
  std::string text() const;

 private:
  // One combination to try.
  struct Attempt {
    XdpHook hook = XdpHook::kDriver;
    bool zero_copy = false;
    bool multi_buffer = false;
  };
  enum class Outcome : uint8_t { kDone, kTryNext, kFatal };

  XdpAttachment(XdpInterface interface, const XdpWanted& wanted)
      : interface_(std::move(interface)), wanted_(wanted) {}

  static std::vector<Attempt> attempts(XdpMode mode, uint32_t mtu_bytes);
  Result<void> attach_best(const XdpOptions& options);
  Outcome attach(const Attempt& attempt, const XdpOptions& options);
  Outcome attach_program_for(const Attempt& attempt);
  Outcome open_sockets(const Attempt& attempt, const XdpOptions& options);
  Outcome open_queue(XdpSocketOptions options, uint32_t number);
  Outcome judge(const std::string& step, int error);
  Outcome try_next(const XdpFailure& failure);
  void report(const Attempt& attempt, XdpMode mode) const;
  Error in_use(const std::string& step) const;

  const XdpInterface interface_;
  const XdpWanted wanted_;
  Mapping memory_;  // the frames
  std::vector<std::unique_ptr<XdpQueue>> queues_;
  std::vector<std::unique_ptr<XdpSocket>> sockets_;  // by engine, then by queue
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
