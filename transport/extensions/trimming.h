// Trimming: packets that a switch without queue space cut to their headers (packet trimming, as in
// NDP: Handley et al., SIGCOMM 2017). The receiver reports each at once, so that the sender need
// not wait for a gap or a timeout. With cluster keys a header alone proves nothing and is not
// believed.
#pragma once

#include <array>
#include <vector>

#include "transport/extensions/extension.h"
#include "transport/extensions/params.h"

namespace heddle::transport {

class Trimming final : public Extension {
 public:
  static constexpr std::array kFrames = {FrameType::kTrimmed};

  using Extension::Extension;

  uint32_t hooks() const override { return bit(Hook::kFrames); }
  void propose(const HandshakeParameters* offered, HandshakeParameters& own,
               std::string& congestion) override;
  void on_open(Nanos now, const Agreement& agreement) override;
  FrameResult on_frame(Nanos now, FrameType type, Reader& reader, const FrameOrigin& from) override;
  void on_truncated_packet(const ConnectionHeader& header) override;
  void write_frames(Nanos now, Writer& writer) override;
  void release_memory(Nanos now) override;
  size_t bytes_held() const override;

 private:
  static constexpr size_t kMostReports = params::trimming::kMostReports;

  std::vector<TrimFrame> reports_;
  bool peer_reads_reports_ = false;
};

}  // namespace heddle::transport
