// Report of a drive: see drive_report.h.
#include "apps/cli/nccl/drive_report.h"

#include <fmt/format.h>

#include "base/quantity.h"
#include "base/version.h"

namespace heddle::cli {

DriveJson drive_rank_json(int rank, const nccl::DriveResult& result) {
  const LatencyHistogram& latency = result.send_latency;
  return {{"rank", rank},
          {"plugin", result.plugin},
          {"version", result.version},
          {"device", result.device},
          {"iterations", result.iterations},
          {"seconds", to_seconds(result.elapsed)},
          {"gbytes_per_s", result.gbytes_per_s()},
          {"bytes_sent", result.bytes_sent},
          {"bytes_received", result.bytes_received},
          {"messages_sent", result.messages_sent},
          {"messages_received", result.messages_received},
          {"empty_messages_sent", result.empty_messages_sent},
          {"grouped_receives", result.grouped_receives},
          {"null_requests", result.null_requests},
          {"unreported_sizes", result.unreported_sizes},
          {"connect_polls", result.connect_polls},
          {"send_latency_us_min", to_micros(latency.min())},
          {"send_latency_us_p50", to_micros(latency.percentile(500))},
          {"send_latency_us_p90", to_micros(latency.percentile(900))},
          {"send_latency_us_p99", to_micros(latency.percentile(990))},
          {"send_latency_us_p999", to_micros(latency.percentile(999))},
          {"send_latency_us_max", to_micros(latency.max())},
          {"cpu_seconds", to_seconds(result.cpu)},
          {"cpu_seconds_per_gb", result.cpu_seconds_per_gb()}};
}

namespace {

uint64_t message_bytes(const nccl::DriveOptions& options) {
  return options.message_bytes == 0 ? nccl::most_message_bytes(options) : options.message_bytes;
}

}  // namespace

DriveJson drive_document(const nccl::DriveOptions& options, const DriveJson& ranks) {
  return {{"heddle", std::string(kVersion)},
          {"pattern", nccl::name_of(options.pattern)},
          {"protocol", nccl::name_of(options.protocol)},
          {"size", options.size},
          {"channels", options.channels},
          {"bytes", options.bytes},
          {"message_bytes", message_bytes(options)},
          {"in_flight", nccl::messages_in_flight(options)},
          {"checked", options.check},
          {"ranks", ranks}};
}

std::string drive_text(const nccl::DriveOptions& options, const DriveJson& ranks) {
  const DriveJson& first = ranks.at(0);
  std::string text = fmt::format(
      "plugin {} (v{}), device {}: {} with {}, {}, {} an iteration in messages of {} at most\n",
      first.at("plugin").get<std::string>(), first.at("version").get<int>(),
      first.at("device").get<std::string>(), nccl::name_of(options.pattern),
      nccl::name_of(options.protocol),
      counted_text(static_cast<uint64_t>(options.channels), "channel"), size_text(options.bytes),
      size_text(message_bytes(options)));
  text += fmt::format("{:>6}  {:>10}  {:>8}  {:>10}  {:>10}  {:>10}  {:>9}  {:>12}\n", "rank",
                      "iterations", "GB/s", "p50", "p99", "max", "CPU s/GB", "no request");
  const auto micros_text = [](const DriveJson& value) {
    return duration_text(nanos(static_cast<int64_t>(value.get<double>() * 1e3)));
  };
  for (const DriveJson& each : ranks) {
    text += fmt::format(
        "{:>6}  {:>10}  {:>8.3f}  {:>10}  {:>10}  {:>10}  {:>9.3f}  {:>12}\n",
        each.at("rank").get<int>(), each.at("iterations").get<uint64_t>(),
        each.at("gbytes_per_s").get<double>(), micros_text(each.at("send_latency_us_p50")),
        micros_text(each.at("send_latency_us_p99")), micros_text(each.at("send_latency_us_max")),
        each.at("cpu_seconds_per_gb").get<double>(), each.at("null_requests").get<uint64_t>());
  }
  if (options.check) text += "every byte received was compared with what was sent\n";
  return text;
}

}  // namespace heddle::cli
