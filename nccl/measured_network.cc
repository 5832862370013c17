// See measured_network.h. The file has one table:
//   [network]
//   goodput_kbits_per_s = 38214000
//   connection_goodput_kbits_per_s = 38214000   # may be absent
//   one_way_ns = 21500
//   source = "heddle perf node2"                # may be absent
#include "nccl/measured_network.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <optional>

#include "base/document.h"

namespace heddle::nccl {
namespace {

constexpr const char* kTodo = "write it with `heddle perf HOST --save FILE`";
constexpr uint64_t kBitsPerKbit = 1'000;
constexpr std::array kKeys = {"goodput_kbits_per_s", "connection_goodput_kbits_per_s", "one_way_ns",
                              "source"};

Unexpected wrong(const std::string& name, int line, const std::string& why) {
  return fail(ErrorCode::kInvalid, fmt::format("cannot use {}:{}", name, line), why, kTodo);
}

// A positive integer of the table, or nothing if the key is absent.
Result<std::optional<int64_t>> figure(const DocumentValue& table, const char* key,
                                      const std::string& name) {
  const DocumentValue* const value = table.find(key);
  if (value == nullptr) return std::optional<int64_t>();
  if (value->kind != DocumentKind::kInteger || value->integer <= 0) {
    return wrong(name, value->line, fmt::format("'{}' is no positive whole number", key));
  }
  return std::optional<int64_t>(value->integer);
}

BitsPerSec rate_of_kbits(int64_t kbits) {
  const auto most = kMostGoodput.count / kBitsPerKbit;
  // One more than what any network has stays more than that.
  return {std::min(static_cast<uint64_t>(kbits), most + 1) * kBitsPerKbit};
}

}  // namespace

Result<void> validate(const MeasuredNetwork& network) {
  const auto refuse = [](const std::string& why) {
    return fail(ErrorCode::kInvalid, "cannot use the figures of a network", why, kTodo);
  };
  if (network.goodput < kLeastGoodput || network.goodput > kMostGoodput) {
    return refuse("the goodput of a node is not between 100 kb/s and 100 Tb/s");
  }
  if (network.connection_goodput.count > 0 && network.connection_goodput < kLeastGoodput) {
    return refuse("the goodput of a connection is below 100 kb/s");
  }
  if (network.connection_goodput > network.goodput) {
    return refuse("the goodput of a connection is above that of its node");
  }
  if (network.one_way < kLeastOneWay || network.one_way > kMostOneWay) {
    return refuse("the one-way latency is not between 100 ns and 1 s");
  }
  return {};
}

std::string network_text(const MeasuredNetwork& network, const std::string& source) {
  std::string quoted;
  for (const char each : source) {
    // TOML's basic strings have no control characters and escape these two.
    if (static_cast<unsigned char>(each) < ' ' || each == '\x7f') continue;
    if (each == '"' || each == '\\') quoted += '\\';
    quoted += each;
  }
  std::string text =
      "# A network as heddle measured it, for nccl.network (HEDDLE_NCCL_NETWORK).\n"
      "# Give every rank of a job the same file.\n[network]\n";
  text += fmt::format("goodput_kbits_per_s = {}\n", network.goodput.count / kBitsPerKbit);
  if (network.connection_goodput.count > 0) {
    text += fmt::format("connection_goodput_kbits_per_s = {}\n",
                        network.connection_goodput.count / kBitsPerKbit);
  }
  return text + fmt::format("one_way_ns = {}\nsource = \"{}\"\n", network.one_way.count, quoted);
}

Result<MeasuredNetwork> parse_network(std::string_view text, const std::string& name) {
  Result<DocumentValue> document = parse_document(text, name);
  if (!document) return fail(document.error());
  const DocumentValue* const table = document->find("network");
  if (table == nullptr || table->kind != DocumentKind::kTable) {
    return wrong(name, 1, "it has no table [network]");
  }
  for (const DocumentValue& item : table->items) {
    if (std::find(kKeys.begin(), kKeys.end(), item.key) == kKeys.end()) {
      return wrong(name, item.line, fmt::format("'{}' is no key of [network]", item.key));
    }
  }
  std::array<int64_t, 3> values = {};
  for (size_t i = 0; i < values.size(); ++i) {
    const auto value = figure(*table, kKeys[i], name);
    if (!value) return fail(value.error());
    values[i] = value->value_or(0);
  }
  const MeasuredNetwork network = {.goodput = rate_of_kbits(values[0]),
                                   .connection_goodput = rate_of_kbits(values[1]),
                                   .one_way = {values[2]}};
  if (const Result<void> valid = validate(network); !valid) {
    return wrong(name, table->line, valid.error().why);
  }
  return network;
}

Result<MeasuredNetwork> read_network(const std::string& path) {
  const Result<std::string> text = read_text_file(path, kTodo);
  if (!text) return fail(text.error());
  return parse_network(*text, path);
}

}  // namespace heddle::nccl
