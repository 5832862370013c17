// Report: see report.h.
#include "apps/cli/perf/report.h"

#include <fmt/core.h>

#include <algorithm>
#include <map>
#include <numeric>
#include <utility>

#include "apps/cli/params.h"
#include "base/quantity.h"
#include "base/revision.h"
#include "base/version.h"

namespace heddle::cli {
namespace {

double per_gbyte(double cpu_seconds, uint64_t payload_bytes) {
  return payload_bytes == 0 ? 0 : cpu_seconds / (static_cast<double>(payload_bytes) * 1e-9);
}

double server_cpu_seconds(const measure::Measurement& measurement) {
  return measurement.server.is_object() ? measurement.server.value("cpu_seconds", 0.0) : 0.0;
}

bool heard_server(const measure::Measurement& measurement) {
  return measurement.server.is_object();
}

double percent(uint64_t part, uint64_t whole) {
  return whole == 0 ? 0 : 100 * static_cast<double>(part) / static_cast<double>(whole);
}

std::string row(std::string_view name, const std::string& value) {
  return fmt::format("    {:<16} = {}\n", name, value);
}

// "36.2 Gb/s   4.53 GB/s"
std::string goodput_text(double bits_per_s) {
  return fmt::format("{}   {}", rate_text(bits_per_s), byte_rate_text(bits_per_s));
}

std::string retransmitted_percent(const measure::Measurement& m) {
  if (!m.counted) return "unknown";
  return fmt::format("{:.3f} %", percent(m.segments_retransmitted, m.segments_sent));
}

std::string repeats_text(const measure::Measurement& m) {
  std::string text = retransmitted_percent(m);
  if (!m.counted || m.segments_retransmitted == 0) return text;
  return text + fmt::format("   {} of {} segments, {} of them needless",
                            count_text(m.segments_retransmitted), count_text(m.segments_sent),
                            count_text(m.segments_retransmitted_spuriously));
}

std::string shares_text(const measure::Measurement& m) {
  if (!m.counted) return "unknown";
  uint64_t total = 0;
  for (const measure::PathShare& share : m.path_shares) total += share.payload_bytes;
  if (total == 0) return "-";
  const auto by_bytes = [](const measure::PathShare& a, const measure::PathShare& b) {
    return a.payload_bytes < b.payload_bytes;
  };
  if (m.path_shares.size() > params::perf::kMostPathsShown) {
    const auto [least, most] =
        std::minmax_element(m.path_shares.begin(), m.path_shares.end(), by_bytes);
    return fmt::format("{}: {:.1f} to {:.1f} % each", m.path_shares.size(),
                       percent(least->payload_bytes, total), percent(most->payload_bytes, total));
  }
  std::string text = fmt::format("{}:", m.path_shares.size());
  for (const measure::PathShare& share : m.path_shares) {
    text += fmt::format(" {:.1f}", percent(share.payload_bytes, total));
  }
  return text + " %";
}

// Payload by the pairs of NICs that paths go between now.
std::map<std::pair<uint8_t, uint8_t>, uint64_t> pair_bytes(const measure::Measurement& m) {
  std::map<std::pair<uint8_t, uint8_t>, uint64_t> bytes;
  for (const measure::PathShare& share : m.path_shares) {
    bytes[{share.nic, share.peer_nic}] += share.payload_bytes;
  }
  return bytes;
}

std::string nics_text(const measure::Measurement& m) {
  uint64_t total = 0;
  for (const measure::PathShare& share : m.path_shares) total += share.payload_bytes;
  std::string text;
  for (const auto& [nics, bytes] : pair_bytes(m)) {
    if (!text.empty()) text += "   ";
    text += fmt::format("{} to {}: {:.1f} %", nics.first, nics.second,
                        total == 0 ? 0.0 : percent(bytes, total));
  }
  return text;
}

Json nics_json(const measure::Measurement& m, uint64_t total) {
  Json nics = Json::array();
  for (const auto& [pair, bytes] : pair_bytes(m)) {
    nics.push_back({{"nic", pair.first},
                    {"peer_nic", pair.second},
                    {"payload_bytes", bytes},
                    {"share", total == 0 ? 0.0 : percent(bytes, total) / 100}});
  }
  return nics;
}

std::string cpu_text(const measure::Measurement& m) {
  std::string text =
      fmt::format("{:.3f} s/GB here", per_gbyte(to_seconds(m.cpu), m.payload_bytes()));
  if (!heard_server(m)) return text;
  return text +
         fmt::format("   {:.3f} s/GB there", per_gbyte(server_cpu_seconds(m), m.payload_bytes()));
}

std::string mtu_text(const measure::Measurement& m) {
  return fmt::format(
      "packets of {} bytes pass, of {} are lost: both hosts' interfaces take {}, so "
      "something between them has a smaller MTU",
      count_text(m.packet_bytes), count_text(m.refused_packet_bytes),
      count_text(m.offered_packet_bytes));
}

std::string segments_text(const measure::Measurement& m) {
  if (!m.counted) return "unknown";
  return fmt::format("{} bytes, round trip {}", count_text(m.segment_bytes),
                     duration_text(m.smoothed_rtt));
}

// The longest time in which no message was complete at the server.
std::string gap_text(const measure::Measurement& m) {
  const Json& received = m.server["received"];
  const double gap_us = received.value("longest_gap_us", 0.0);
  return fmt::format("{} without a message, {:.2f} s after the first",
                     duration_text(Nanos{static_cast<int64_t>(gap_us * 1000)}),
                     received.value("longest_gap_after_s", 0.0));
}

std::string bandwidth_text(const measure::Measurement& m) {
  std::string text = "bw:\n";
  if (m.reverse) {
    text += row("goodput out", goodput_text(m.sent.bits_per_s()));
    text += row("goodput in", goodput_text(m.reverse->bits_per_s()));
  } else {
    text += row("goodput", goodput_text(m.sent.bits_per_s()));
  }
  text +=
      row("messages", fmt::format("{} of {} in {}, {} in flight", count_text(m.sent.messages),
                                  size_text(m.options.message_bytes),
                                  duration_text(m.sent.ended - m.sent.began), m.options.window));
  if (heard_server(m) && m.server.contains("received")) text += row("longest gap", gap_text(m));
  text += row("retransmitted", repeats_text(m));
  text += row("paths", shares_text(m));
  if (pair_bytes(m).size() > 1) text += row("nics", nics_text(m));
  text += row("segments", segments_text(m));
  if (m.refused_packet_bytes != 0) text += row("mtu", mtu_text(m));
  return text + row("cpu", cpu_text(m));
}

std::string latency_text(const measure::Measurement& m) {
  const LatencyHistogram& times = m.round_trips;
  std::string text = "lat:\n";
  const auto half = [&times](uint32_t per_mille) {
    return duration_text(times.percentile(per_mille) / 2);
  };
  text += row("one-way (RTT/2)",
              fmt::format("{} p50   {} p99   {} p99.9", half(500), half(990), half(999)));
  text += row("least, most", fmt::format("{}   {}", duration_text(times.min() / 2),
                                         duration_text(times.max() / 2)));
  text += row("rounds", fmt::format("{} of {}", count_text(times.count()),
                                    size_text(m.options.message_bytes)));
  return text + row("retransmitted", repeats_text(m));
}

Json stream_json(const measure::StreamResult& result) {
  return {{"messages", result.messages},
          {"payload_bytes", result.payload_bytes},
          {"seconds", to_seconds(result.ended - result.began)},
          {"goodput_gbits_per_s", result.bits_per_s() * 1e-9},
          {"goodput_gbytes_per_s", result.bits_per_s() / 8e9}};
}

void add_bandwidth(const measure::Measurement& m, Json& json) {
  json.update(stream_json(m.sent));
  json["window"] = m.options.window;
  json["bidirectional"] = m.options.bidirectional;
  if (m.reverse) json["reverse"] = stream_json(*m.reverse);
  json["checked"] = m.options.check;
  if (m.options.check) json["wrong_messages"] = m.wrong_messages();
  json["cpu_seconds_per_gbyte"] = per_gbyte(to_seconds(m.cpu), m.payload_bytes());
  json["server_cpu_seconds_per_gbyte"] =
      heard_server(m) ? Json(per_gbyte(server_cpu_seconds(m), m.payload_bytes())) : Json();
  Json shares = Json::array();
  uint64_t total = 0;
  for (const measure::PathShare& share : m.path_shares) total += share.payload_bytes;
  for (const measure::PathShare& share : m.path_shares) {
    shares.push_back({{"path", share.path},
                      {"nic", share.nic},
                      {"peer_nic", share.peer_nic},
                      {"payload_bytes", share.payload_bytes},
                      {"share", percent(share.payload_bytes, total) / 100},
                      {"segments_lost", share.segments_lost},
                      {"smoothed_rtt_us", to_micros(share.smoothed_rtt)}});
  }
  json["paths"] = m.counted ? std::move(shares) : Json();
  json["nics"] = m.counted ? nics_json(m, total) : Json();
}

void add_latency(const measure::Measurement& m, Json& json) {
  const LatencyHistogram& times = m.round_trips;
  const auto half = [](Nanos span) { return to_micros(span) / 2; };
  json["rounds"] = times.count();
  json["half_round_trip_us_min"] = half(times.min());
  json["half_round_trip_us_mean"] = half(times.mean());
  json["half_round_trip_us_p50"] = half(times.percentile(500));
  json["half_round_trip_us_p99"] = half(times.percentile(990));
  json["half_round_trip_us_p999"] = half(times.percentile(999));
  json["half_round_trip_us_max"] = half(times.max());
}

}  // namespace

const char* protection_text(const PerfSetting& setting) {
  if (!setting.protection) return "";
  return *setting.protection == transport::Protection::kFull ? ", encrypted"
                                                             : ", headers protected";
}

std::string setting_text(const PerfSetting& setting) {
  const std::string fewer =
      setting.paths_asked > setting.paths
          ? fmt::format(" (of {} asked: no more are allowed there)", setting.paths_asked)
          : "";
  return fmt::format("{}, {} path{}{}, {}{}\n", setting.peer, setting.paths,
                     setting.paths == 1 ? "" : "s", fewer, setting.congestion,
                     protection_text(setting));
}

std::string measurement_text(const measure::Measurement& measurement) {
  return measurement.options.test == "bw" ? bandwidth_text(measurement) : latency_text(measurement);
}

std::string sweep_head(const std::string& test) {
  if (test == "bw") {
    return fmt::format("bw:\n{:>10}  {:>10}  {:>10}  {:>12}  {:>9}  {:>14}\n", "size", "goodput",
                       "", "messages/s", "retransm.", "cpu here/there");
  }
  return fmt::format("lat: (one-way, RTT/2)\n{:>10}  {:>10}  {:>10}  {:>10}  {:>10}\n", "size",
                     "p50 us", "p99 us", "p99.9 us", "rounds");
}

std::string sweep_row(const measure::Measurement& m) {
  const std::string size = size_text(m.options.message_bytes);
  if (m.options.test == "lat") {
    const auto half = [&m](uint32_t per_mille) {
      return digits_text(to_micros(m.round_trips.percentile(per_mille)) / 2);
    };
    return fmt::format("{:>10}  {:>10}  {:>10}  {:>10}  {:>10}\n", size, half(500), half(990),
                       half(999), count_text(m.round_trips.count()));
  }
  const double span = std::max(1e-9, to_seconds(m.sent.ended - m.sent.began));
  const double bits_per_s = m.sent.bits_per_s() + (m.reverse ? m.reverse->bits_per_s() : 0);
  const std::string cpu = fmt::format(
      "{}/{} s/GB", digits_text(per_gbyte(to_seconds(m.cpu), m.payload_bytes())),
      heard_server(m) ? digits_text(per_gbyte(server_cpu_seconds(m), m.payload_bytes())) : "-");
  return fmt::format("{:>10}  {:>10}  {:>10}  {:>12}  {:>9}  {:>14}\n", size, rate_text(bits_per_s),
                     byte_rate_text(bits_per_s),
                     count_text(static_cast<uint64_t>(static_cast<double>(m.sent.messages) / span)),
                     retransmitted_percent(m), cpu);
}

std::string wrong_text(const measure::Measurement& m) {
  if (m.wrong_messages() == 0) return {};
  std::string where = m.reverse ? m.reverse->first_difference : std::string();
  if (where.empty() && heard_server(m) && m.server.contains("received")) {
    where = m.server["received"].value("first_difference", std::string("not reported"));
  }
  return fmt::format("{} messages of {} arrived changed, the first at {}",
                     count_text(m.wrong_messages()), size_text(m.options.message_bytes), where);
}

Json measurement_json(const measure::Measurement& m) {
  Json json = {
      {"test", m.options.test}, {"size_bytes", m.options.message_bytes}, {"complete", m.complete}};
  if (m.options.test == "bw") {
    add_bandwidth(m, json);
  } else {
    add_latency(m, json);
  }
  const auto counted = [&m](auto value) { return m.counted ? Json(value) : Json(); };
  json["segments_sent"] = counted(m.segments_sent);
  json["segments_retransmitted"] = counted(m.segments_retransmitted);
  json["segments_retransmitted_spuriously"] = counted(m.segments_retransmitted_spuriously);
  json["segments_marked"] = counted(m.segments_marked);
  json["segment_bytes"] = counted(m.segment_bytes);
  json["packet_bytes"] = counted(m.packet_bytes);
  json["offered_packet_bytes"] = counted(m.offered_packet_bytes);
  json["refused_packet_bytes"] = counted(m.refused_packet_bytes);
  json["smoothed_rtt_us"] = counted(to_micros(m.smoothed_rtt));
  json["server"] = m.server;
  return json;
}

Json perf_document(const PerfSetting& setting, std::span<const measure::Measurement> measurements,
                   bool stopped, const Error* error) {
  Json document = {{"heddle", std::string(kVersion)},
                   {"revision", std::string(git_revision())},
                   {"peer", setting.peer},
                   {"paths", setting.paths},
                   {"congestion", setting.congestion},
                   {"sealed", setting.protection == transport::Protection::kFull},
                   {"protection", setting.protection ? name_of(*setting.protection) : "none"},
                   {"interrupted", stopped}};
  if (error != nullptr) document.update(measure::to_json(*error));
  document["tests"] = Json::array();
  for (const measure::Measurement& each : measurements)
    document["tests"].push_back(measurement_json(each));
  return document;
}

}  // namespace heddle::cli
