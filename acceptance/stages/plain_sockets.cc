// See plain_sockets.h.
#include "acceptance/stages/plain_sockets.h"

#include <fmt/format.h>

#include <algorithm>
#include <string>

#include "acceptance/agent_numbers.h"
#include "acceptance/params.h"
#include "base/quantity.h"

namespace heddle::acceptance {
namespace {

// What a server writes where another one has its port, as strerror(EADDRINUSE).
constexpr const char* kInUse = "Address already in use";

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

class SocketRows {
 public:
  SocketRows(const PairNames& name_of, const std::vector<PairSockets>& pairs)
      : name_of_(name_of), pairs_(pairs) {}

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
    const bool in_use = first->sockets.complaint.find(kInUse) != std::string::npos;
    rows_.push_back({"tcp_bw", name_of_(first->pair), first->sockets.complaint, "a figure",
                     Grade::kWarn,
                     in_use ? "end the program that has port 18702 on the second host: `ss -tulnp` "
                              "there shows it"
                            : fmt::format("open TCP and UDP port 18702 between the hosts; {} of "
                                          "{} pairs have no figures of plain sockets",
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
                                 name_of_(tcp.least().pair), median(gains)),
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
                                 us_text(found.values.back().first), name_of_(found.most().pair),
                                 us_text(median(own))),
                     ""});
  }

  // How much it is of what was offered, which is what the links carry of a pair beside the others.
  static std::string sent_text(const Figures& sent) {
    std::vector<double> shares;
    for (const auto& [value, pair] : sent.values) {
      if (pair->sockets.udp_offered_bits_per_s > 0) {
        shares.push_back(value / pair->sockets.udp_offered_bits_per_s);
      };
    }
    const std::string rate = rate_text(sent.median());
    if (shares.empty()) {
      return fmt::format("{} (median), as much as the hosts can send", rate);
    }
    const double least = *std::min_element(shares.begin(), shares.end());
    if (least >= params::kOffered) {
      return fmt::format("{} (median), as much as the links carry", rate);
    }
    return fmt::format("{} (median), {:.0f}% of what the links carry; least {:.0f}%", rate,
                       median(shares) * 100, least * 100);
  }

  void add_datagrams() {
    const Figures sent = figures_of(pairs_, &SocketResult::udp_sent_bits_per_s);
    if (sent.empty()) return;
    rows_.push_back({"udp_bw sent", count_text(sent), sent_text(sent), ""});
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
                        name_of_(least->pair)),
            ""};
    if (share < params::kUdpCollapse) {
      row.todo =
          "nothing where heddle reaches its rate: UDP retransmits nothing, a flow of it keeps to "
          "one path, and a datagram of 32 KiB is lost with any of its packets";
    }
    rows_.push_back(std::move(row));
  }

  const PairNames& name_of_;
  const std::vector<PairSockets>& pairs_;
  std::vector<Row> rows_;
};

}  // namespace

std::vector<Row> socket_rows(const PairNames& name_of, const std::vector<PairSockets>& pairs) {
  return SocketRows(name_of, pairs).make();
}

}  // namespace heddle::acceptance
