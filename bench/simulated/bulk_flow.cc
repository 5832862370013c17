// The two ends of a BulkFlow: each keeps a number of operations posted on the same virtual memory.
#include "bench/simulated/bulk_flow.h"

#include "simulator/transport_process.h"

namespace heddle::bench {
namespace {

simulator::TransportProcessOptions process_options(const BulkFlowOptions& options, bool sends) {
  simulator::TransportProcessOptions process;
  process.process.datapath.nic = sends ? options.from : options.to;
  process.process.datapath.port = options.port;
  process.process.datapath.max_paths = 256;
  process.process.datapath.receive_capacity = options.receive_capacity;
  process.transport.accept = !sends;
  process.transport.max_paths = 256;
  process.transport.congestion = options.congestion;
  process.transport.selector = options.selector;
  return process;
}

}  // namespace

class BulkFlow::End : public simulator::TransportProgram {
 public:
  End(simulator::World& world, const BulkFlowOptions& options, const transport::Address* peer)
      : options_(options), process_(world.add(process_options(options, peer != nullptr))) {
    process_.set_program(this);
    region_ =
        process_.register_virtual(peer == nullptr ? 2 : 1, options.message_bytes * options.ahead);
    if (peer != nullptr) {
      sends_ = true;
      transport::ConnectionOptions connection;
      connection.paths = options.paths;
      connection.discovery =
          options.discovery ? transport::DiscoveryMode::kAuto : transport::DiscoveryMode::kNever;
      connection_ = *process_.endpoint().post_connect(process_.now(), *peer, connection);
    }
    process_.poke();
  }

  bool handle_turn(simulator::TransportProcess& process) override {
    transport::Notice notice;
    while (process.endpoint().poll_notice(notice)) {
      if (notice.kind == transport::NoticeKind::kAccepted) connection_ = notice.connection;
      if (notice.kind == transport::NoticeKind::kClosed) closed_ = true;
    }
    transport::Completion completion;
    while (process.endpoint().poll_completion(completion)) {
      ++ended_;
      failed_ += completion.ok ? 0 : 1;
    }
    bool posted = false;
    while (connection_ != 0 && !closed_ && posted_ - ended_ < options_.ahead && post()) {
      posted = true;
    }
    return posted;
  }

  simulator::TransportProcess& process() { return process_; }
  const transport::ConnectionStatistics* statistics() {
    return process_.endpoint().statistics(connection_);
  }
  bool closed() const { return closed_; }
  uint64_t ended() const { return ended_; }
  uint64_t failed() const { return failed_; }

 private:
  bool post() {
    const uint64_t slot = posted_ % options_.ahead;
    const transport::Payload payload{region_, slot * options_.message_bytes,
                                     options_.message_bytes};
    transport::Endpoint& endpoint = process_.endpoint();
    const bool ok =
        sends_
            ? endpoint.post_send(process_.now(), {connection_, 0}, payload, posted_).has_value()
            : endpoint.post_receive(process_.now(), {connection_, 0}, payload, posted_).has_value();
    posted_ += ok ? 1 : 0;
    return ok;
  }

  BulkFlowOptions options_;
  simulator::TransportProcess& process_;
  transport::RegionId region_ = transport::kNoRegion;
  transport::ConnectionId connection_ = 0;
  bool sends_ = false;
  bool closed_ = false;
  uint64_t posted_ = 0;
  uint64_t ended_ = 0;
  uint64_t failed_ = 0;
};

BulkFlow::BulkFlow(simulator::World& world, const BulkFlowOptions& options)
    : receiver_(std::make_unique<End>(world, options, nullptr)) {
  const transport::Address address = receiver_->process().address();
  sender_ = std::make_unique<End>(world, options, &address);
}

BulkFlow::~BulkFlow() = default;

uint64_t BulkFlow::messages_received() const { return receiver_->ended(); }
uint64_t BulkFlow::payload_bytes_received() const {
  const transport::ConnectionStatistics* statistics = receiver_->statistics();
  return statistics == nullptr ? 0 : statistics->payload_bytes_received;
}
bool BulkFlow::closed() const { return sender_->closed() || receiver_->closed(); }
uint64_t BulkFlow::messages_failed() const { return sender_->failed() + receiver_->failed(); }
const transport::ConnectionStatistics* BulkFlow::sender() const { return sender_->statistics(); }

}  // namespace heddle::bench
