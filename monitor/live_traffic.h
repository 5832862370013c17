// LiveTraffic: the communication matrix of the last interval of a watched job, and the short peaks
// of its NICs that averages hide. Of bounded memory; jobs of many processes are left out.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "events/events.h"
#include "insight/load.h"
#include "insight/party.h"

namespace heddle::monitor {

// One direction of a NIC in an interval.
struct NicWay {
  uint64_t bytes = 0;  // on the wire
  double peak_bits_per_s = 0;
  uint64_t bursts = 0;
  std::vector<double> peaks_bits_per_s;  // of equal parts of the interval
};

struct NicTraffic {
  std::string host;
  std::string name;          // empty: not known
  uint64_t bits_per_s = 0;   // of its link; 0: not known
  std::array<NicWay, 2> of;  // by events::Direction
};

struct TrafficInterval {
  int64_t from_ns = 0;  // since the job's beginning
  int64_t until_ns = 0;
  std::string left_out;  // why there is no matrix and no NIC; empty: they are there
  bool by_host = false;  // parties are hosts, else ranks
  // Payload as it arrived, else bytes on the wire, where messages are not recorded.
  bool delivered = false;
  std::vector<insight::Party> parties;
  std::vector<std::vector<uint64_t>> bytes;  // by sender and receiver
  uint64_t unplaced_bytes = 0;               // to or from what was not recorded
  int64_t bin_ns = 0;                        // peaks are of such a span; 0: none were recorded
  std::vector<NicTraffic> nics;
  uint64_t nics_in_all = 0;
  std::vector<insight::Microburst> bursts;  // the largest first; their `nic` is one of `nics`
  uint64_t bursts_in_all = 0;
};

class LiveTraffic {
 public:
  LiveTraffic();

  void add_process(const insight::Identity& identity);
  // `writer`: the endpoint of the process; `at_ns`: since the job's beginning.
  void add(size_t process, const events::AnyEvent& event, uint32_t writer, int64_t at_ns);
  // After a look: ends the interval where it is long enough. What was before the first call is in
  // none. `closed`: whether a process has ended.
  void cut(int64_t now_ns, const std::function<bool(size_t process)>& closed);

  // The last interval; null: there is none yet.
  std::shared_ptr<const TrafficInterval> latest() const { return latest_; }

 private:
  struct Connection {
    uint32_t peer_id = 0;
    bool opened = false;
    bool closed = false;        // it is kept until the interval ends
    uint64_t communicator = 0;  // 0: none
    uint64_t received = 0;      // in this interval, as are the next two
    uint64_t sent = 0;
    uint64_t wire = 0;  // sent
  };
  struct Process {
    insight::Party party;
    std::unordered_map<uint32_t, Connection> connections;
    bool has_messages = false;  // it records them
    bool has_proxy = false;     // of NCCL: its messages over heddle are not counted once more
  };
  using Member = std::pair<uint64_t, uint32_t>;  // communicator, rank
  struct Proxied {
    Member from;
    Member to;
    events::Direction direction = events::Direction::kSent;
    auto operator<=>(const Proxied&) const = default;
  };
  class Cut;

  Connection* connection(size_t process, uint32_t id);
  void forget_end(uint32_t id, const Connection& connection);
  void add_load(size_t process, const events::AnyEvent& event, uint32_t writer, int64_t at_ns);
  void delivered(size_t process);
  void count(size_t process, uint32_t id, uint64_t bytes, uint64_t Connection::*to);
  template <typename Event>
  void on(size_t /*process*/, const Event& /*event*/) {}
  void on(size_t process, const events::ConnectionOpened& event);
  void on(size_t process, const events::ConnectionClosed& event);
  void on(size_t process, const events::CommunicatorMade& event);
  void on(size_t process, const events::CommunicatorLinked& event);
  void on(size_t process, const events::MessageCompleted& event);
  void on(size_t process, const events::SharedMessageCompleted& event);
  void on(size_t process, const events::ProxyOp& event);
  void on(size_t process, const events::WireBin& event);
  void begin(int64_t now_ns);
  void leave_out(int64_t now_ns);

  std::vector<Process> processes_;
  std::map<std::pair<uint32_t, uint32_t>, size_t> ends_;  // own id and the peer's, to the process
  std::map<Member, size_t> members_;
  std::map<Proxied, uint64_t> proxied_;  // in this interval
  bool delivered_ = false;               // messages are recorded
  uint64_t unplaced_ = 0;
  insight::LoadBuilder load_;
  size_t opened_nics_ = 0;
  std::optional<int64_t> from_ns_;
  bool too_many_ = false;
  std::shared_ptr<const TrafficInterval> latest_;
};

}  // namespace heddle::monitor
