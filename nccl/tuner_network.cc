// See tuner_network.h.
#include "nccl/tuner_network.h"

#include <charconv>
#include <string>

namespace heddle::nccl {
namespace {

// The setting times `scale`, as an integer; nothing where it is empty.
Result<std::optional<uint64_t>> scaled(const Config& config, const char* key, double scale) {
  const std::string& text = config.text(key);
  if (text.empty()) return std::optional<uint64_t>();
  constexpr double kMost = 1e18;
  double value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  const bool whole = error == std::errc() && end == text.data() + text.size();
  if (!whole || !(value > 0) || value * scale > kMost) {
    return fail(ErrorCode::kInvalid, "cannot use " + config_variable(key) + "=" + text,
                "it is no positive number", "give a number, as in 0.4 or 100");
  }
  return std::optional<uint64_t>(static_cast<uint64_t>(value * scale + 0.5));
}

}  // namespace

Result<std::optional<MeasuredNetwork>> tuner_network(const Config& config) {
  if (config.text("nccl.tuner") != "on") return std::optional<MeasuredNetwork>();
  MeasuredNetwork network;
  if (const std::string& file = config.text("nccl.network"); !file.empty()) {
    const Result<MeasuredNetwork> read = read_network(file);
    if (!read) return fail(read.error());
    network = *read;
  }
  const auto goodput = scaled(config, "nccl.net_gbps", 1e9);
  if (!goodput) return fail(goodput.error());
  const auto channel = scaled(config, "nccl.channel_gbps", 1e9);
  if (!channel) return fail(channel.error());
  const auto one_way = scaled(config, "nccl.net_us", 1e3);
  if (!one_way) return fail(one_way.error());
  if (*goodput) network.goodput = {**goodput};
  if (*channel) network.connection_goodput = {**channel};
  if (*one_way) network.one_way = {static_cast<int64_t>(**one_way)};
  if (network == MeasuredNetwork{}) {
    return fail(
        ErrorCode::kInvalid, "the tuner has no figures of the network",
        "neither HEDDLE_NCCL_NETWORK nor HEDDLE_NCCL_NET_GBPS and HEDDLE_NCCL_NET_US is set",
        "write a file with `heddle perf HOST --save FILE` and name it in "
        "HEDDLE_NCCL_NETWORK");
  }
  if (const Result<void> valid = validate(network); !valid) return fail(valid.error());
  return std::optional<MeasuredNetwork>(network);
}

}  // namespace heddle::nccl
