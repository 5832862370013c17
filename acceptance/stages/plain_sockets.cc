// See plain_sockets.h.
#include "acceptance/stages/plain_sockets.h"

#include <fmt/format.h>

#include <algorithm>
#include <string>

#include "acceptance/params.h"
#include "base/quantity.h"

namespace heddle::acceptance {
namespace {

// Pairs that have a figure, the lowest first.
struct Figures {
  std::vector<std::pair<double, const PairSockets*>> values;

  bool empty() const { return values.empty(); }
  double median() const { return values[values.size() / 2].first; }
  const PairSockets& least() const { return *values.front().second; }
  const PairSockets& most() const { return *values.back().second; }
};

Figures figures_of(const std::vector<PairSockets>& pairs, double SocketResult::*figure) {
  Figures figures;
  for (const PairSockets& each : pairs) {
    const double value = each.sockets.*figure;
    if (value > 0) figures.values.emplace_back(value, &each);
  }
  std::sort(figures.values.begin(), figures.values.end());
  return figures;
}

double median(std::vector<double> values) {
  if (values.empty()) return 0;
  std::sort(values.begin(), values.end());
  return values[values.size() / 2];
}

std::string us_text(double us) { return duration_text(nanos(static_cast<int64_t>(us * 1e3))); }

class SocketRows {
 public:
  SocketRows(const Session& session, const std::vector<PairSockets>& pairs)
      : session_(session), pairs_(pairs) {}

  std::vector<Row> make() {
    add_complaint();
    add_tcp_bandwidth();
    add_latency("tcp_lat", &SocketResult::tcp_us);
    add_datagrams();
    add_latency("udp_lat", &SocketResult::udp_us);
    return std::move(rows_);
  }

 private:
  std::string count_text(const Figures& figures) const {
    return fmt::format("{} of {} pairs", figures.values.size(), pairs_.size());
  }

  // One row, whatever the number of pairs: a firewall refuses all of them.
  void add_complaint() {
    size_t without = 0;
    const PairSockets* first = nullptr;
    for (const PairSockets& each : pairs_) {
      if (each.sockets.complaint.empty()) continue;
      if (without++ == 0) first = &each;
    }
    if (first == nullptr) return;
    rows_.push_back({"tcp_bw", session_.pair_name(first->pair), first->sockets.complaint,
                     "a figure", Grade::kWarn,
                     fmt::format("open TCP and UDP port 18702 between the hosts; {} of {} pairs "
                                 "have no figures of plain sockets",
                                 without, pairs_.size())});
  }

  void add_tcp_bandwidth() {
    const Figures tcp = figures_of(pairs_, &SocketResult::tcp_bits_per_s);
    if (tcp.empty()) return;
    std::vector<double> gains;
    for (const auto& [value, pair] : tcp.values) {
      if (pair->heddle_bits_per_s > 0) gains.push_back(pair->heddle_bits_per_s / value);
    }
    rows_.push_back({"tcp_bw", count_text(tcp),
                     fmt::format("{} (median), least {} ({}); heddle {:.2f}x",
                                 rate_text(tcp.median()), rate_text(tcp.values.front().first),
                                 session_.pair_name(tcp.least().pair), median(gains)),
                     ""});
  }

  void add_latency(const char* name, double SocketResult::*figure) {
    const Figures found = figures_of(pairs_, figure);
    if (found.empty()) return;
    std::vector<double> own;
    for (const auto& [value, pair] : found.values) {
      if (pair->heddle_us > 0) own.push_back(pair->heddle_us);
    }
    rows_.push_back({name, count_text(found),
                     fmt::format("{} (median), most {} ({}); heddle {}", us_text(found.median()),
                                 us_text(found.values.back().first),
                                 session_.pair_name(found.most().pair), us_text(median(own))),
                     ""});
  }

  void add_datagrams() {
    const Figures sent = figures_of(pairs_, &SocketResult::udp_sent_bits_per_s);
    if (sent.empty()) return;
    rows_.push_back(
        {"udp_bw sent", count_text(sent),
         fmt::format("{} (median), as much as the links carry", rate_text(sent.median())), ""});
    std::vector<double> shares;
    std::vector<double> rates;
    const PairSockets* least = nullptr;
    for (const auto& [value, pair] : sent.values) {
      const double received = pair->sockets.udp_received_bits_per_s;
      shares.push_back(received / value);
      rates.push_back(received);
      const bool lower = least == nullptr || received < least->sockets.udp_received_bits_per_s;
      if (lower) least = pair;
    }
    const double share = median(shares);
    Row row{"udp_bw received", count_text(sent),
            fmt::format("{} (median), {:.0f}% of it; least {} ({})", rate_text(median(rates)),
                        share * 100, rate_text(least->sockets.udp_received_bits_per_s),
                        session_.pair_name(least->pair)),
            ""};
    if (share < params::kUdpCollapse) {
      row.todo =
          "nothing where heddle reaches its rate: UDP retransmits nothing, a flow of it keeps to "
          "one path, and a datagram of 32 KiB is lost with any of its packets";
    }
    rows_.push_back(std::move(row));
  }

  const Session& session_;
  const std::vector<PairSockets>& pairs_;
  std::vector<Row> rows_;
};

}  // namespace

std::vector<Row> socket_rows(const Session& session, const std::vector<PairSockets>& pairs) {
  return SocketRows(session, pairs).make();
}

}  // namespace heddle::acceptance
