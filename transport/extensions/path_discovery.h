// PathDiscovery: sends the probes of path/discovery.h, checks the ICMP replies of routers, and lets
// payload use some paths of each route. docs/explanation/security.md describes the effect of forged
// replies.
#pragma once

#include <array>
#include <memory>

#include "transport/extensions/extension.h"
#include "transport/path/discovery.h"

namespace heddle::transport {

class PathDiscovery final : public Extension {
 public:
  static constexpr std::array<FrameType, 0> kFrames = {};

  using Extension::Extension;

  // The application asks for the routes: a discovery begins unless one is running, and what it
  // finds is kept for found().
  void request(Nanos now);
  // False: the application did not ask.
  bool found(FabricRoutes& routes) const;

  bool needed() const override { return automatic_; }
  uint32_t hooks() const override {
    return bit(Hook::kTransmit) | bit(Hook::kTimeout) | bit(Hook::kAcked);
  }
  void on_open(Nanos now, const Agreement& agreement) override;
  void on_close() override { run_.reset(); }
  void on_network_error(const NetworkError& error) override;
  bool transmit(Nanos now, TxBatch& batch) override;
  void on_acked(const SentBurst& sent, uint32_t first, uint32_t count, bool was_lost) override;
  Nanos next_timeout() const override;
  size_t bytes_held() const override;

 private:
  // A discovery, running or kept for the application.
  struct Run {
    Run(Nanos now, uint16_t paths) : discovery(now, paths) {}
    Discovery discovery;
    uint64_t mark = 0;  // that its probes carry
    bool kept = false;  // the application asked for what it finds
    bool ended = false;
  };
  bool running() const { return run_ && !run_->ended; }
  void begin(Nanos now);
  void begin_if_due(Nanos now);
  void end(Nanos now);
  void send_probe(Nanos now, TxBatch& batch, const Discovery::Probe& probe);
  void report_routers(Nanos now, const FabricRoutes& routes);

  std::unique_ptr<Run> run_;
  Nanos next_at_ = Nanos::never();            // the next discovery, where the connection repeats it
  uint64_t sent_before_latest_ = UINT64_MAX;  // bytes of payload, when the latest one began
  uint32_t routers_reported_ = 0;             // a hash of the routers that were reported last
  bool automatic_ = false;                    // the connection discovers routes by itself
};

}  // namespace heddle::transport
