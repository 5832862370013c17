// Leases as text: see lease.h.
#include "leases/lease.h"

#include <fmt/format.h>
#include <sys/random.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <initializer_list>
#include <nlohmann/json.hpp>
#include <optional>
#include <string_view>

#include "base/check.h"
#include "leases/params.h"

namespace heddle::leases {
namespace {

using nlohmann::json;

constexpr size_t kHolderDigits = 32;

Unexpected bad(const std::string& name, const std::string& why) {
  return fail(ErrorCode::kInvalid, "cannot read the lease " + name, why,
              "remove it if no job of that name runs");
}

std::optional<std::string> text(const json& object, const char* name) {
  const auto found = object.find(name);
  if (found == object.end() || !found->is_string()) return std::nullopt;
  auto value = found->get<std::string>();
  return value.size() <= params::kMostText ? std::optional(std::move(value)) : std::nullopt;
}

std::optional<uint64_t> number(const json& object, const char* name, uint64_t most) {
  const auto found = object.find(name);
  if (found == object.end() || !found->is_number_unsigned()) return std::nullopt;
  const auto value = found->get<uint64_t>();
  return value <= most ? std::optional(value) : std::nullopt;
}

// Whether lists and objects are in each other more than `most` times: each level takes memory of
// its own, so that a short text can need much.
bool is_deeper_than(std::string_view text, int most) {
  int depth = 0;
  bool quoted = false;
  for (size_t i = 0; i < text.size(); ++i) {
    const char each = text[i];
    if (quoted) {
      if (each == '\\') ++i;
      quoted = each != '"';
    } else if (each == '"') {
      quoted = true;
    } else if (each == '{' || each == '[') {
      if (++depth > most) return true;
    } else if (each == '}' || each == ']') {
      --depth;
    }
  }
  return false;
}

// False: it is no list of pairs of numbers, by link.
bool read_loads(const json& document, std::vector<LinkBytes>& loads) {
  const auto list = document.find("loads");
  if (list == document.end() || !list->is_array()) return false;
  loads.reserve(list->size());
  for (const json& each : *list) {
    if (!each.is_array() || each.size() != 2) return false;
    if (!each[0].is_number_unsigned() || !each[1].is_number_unsigned()) return false;
    const auto link = each[0].get<uint64_t>();
    if (link >= UINT32_MAX || (!loads.empty() && link <= loads.back().link)) return false;
    loads.push_back({static_cast<uint32_t>(link), each[1].get<uint64_t>()});
  }
  return true;
}

bool read_busiest(const json& document, std::vector<BusyLink>& busiest) {
  const auto list = document.find("busiest");
  if (list == document.end() || !list->is_array() || list->size() > params::kMostBusy) return false;
  for (const json& each : *list) {
    if (!each.is_object()) return false;
    const auto name = text(each, "link");
    const auto busy = each.find("busy_us");
    if (!name || busy == each.end() || !busy->is_number()) return false;
    busiest.push_back({*name, busy->get<double>()});
    if (!(busiest.back().busy_us >= 0 && busiest.back().busy_us <= params::kMostBusyUs))
      return false;
  }
  return true;
}

}  // namespace

Result<void> check_job_name(const std::string& name) {
  const auto fits = [](char each) {
    return (each >= 'a' && each <= 'z') || (each >= 'A' && each <= 'Z') ||
           (each >= '0' && each <= '9') || each == '.' || each == '_' || each == '-';
  };
  if (!name.empty() && name.size() <= params::kMostName && name.front() != '.' &&
      std::all_of(name.begin(), name.end(), fits)) {
    return {};
  }
  return fail(ErrorCode::kInvalid,
              "cannot use the name '" + name.substr(0, params::kMostName) + "'",
              "names of jobs have 1 to 64 letters, digits, '.', '_' and '-', and begin with no '.'",
              "choose another with --job");
}

std::string new_holder() {
  std::array<unsigned char, kHolderDigits / 2> bytes{};
  CHECK(getrandom(bytes.data(), bytes.size(), 0) == static_cast<ssize_t>(bytes.size()));
  std::string holder;
  for (const unsigned char each : bytes) holder += fmt::format("{:02x}", each);
  return holder;
}

bool is_holder(const std::string& text) {
  return text.size() == kHolderDigits &&
         text.find_first_not_of("0123456789abcdef") == std::string::npos;
}

std::string own_host_name() {
  std::array<char, params::kMostText> name{};
  return gethostname(name.data(), name.size() - 1) == 0 ? name.data() : "?";
}

std::string text_of(const Lease& lease) {
  json loads = json::array();
  for (const LinkBytes& each : lease.loads) loads.push_back({each.link, each.bytes});
  json busiest = json::array();
  for (const BusyLink& each : lease.busiest) {
    busiest.push_back(
        {{"link", each.name}, {"busy_us", std::clamp(each.busy_us, 0.0, params::kMostBusyUs)}});
  }
  const json document = {{"version", kLeaseVersion},
                         {"job", lease.job},
                         {"holder", lease.holder},
                         {"host", lease.host},
                         {"process", lease.process},
                         {"since_s", static_cast<uint64_t>(std::max<int64_t>(lease.since_s, 0))},
                         {"ttl_ms", static_cast<uint64_t>(lease.ttl / millis(1))},
                         {"plans", lease.plans},
                         {"fabric", lease.fabric},
                         {"period_ns", static_cast<uint64_t>(lease.period.count)},
                         {"bytes", lease.bytes},
                         {"loads", std::move(loads)},
                         {"busiest", std::move(busiest)}};
  return document.dump(-1, ' ', false, json::error_handler_t::replace) + "\n";
}

Result<Lease> parse_lease(const std::string& source, const std::string& name) {
  if (is_deeper_than(source, params::kMostDepth)) {
    return bad(name, "lists or objects are in each other more than 3 times");
  }
  const json document = json::parse(source, nullptr, false);
  if (!document.is_object()) return bad(name, "it is no JSON object, or is cut off");
  const auto version = number(document, "version", UINT64_MAX);
  if (!version) return bad(name, "it has no version");
  if (*version != kLeaseVersion) {
    return fail(ErrorCode::kVersion, "cannot read the lease " + name,
                fmt::format("its version is {}, not {}", *version, kLeaseVersion),
                "use one build of heddle for all jobs of a store");
  }
  const auto job = text(document, "job");
  const auto holder = text(document, "holder");
  const auto host = text(document, "host");
  const auto fabric = text(document, "fabric");
  if (!job || !check_job_name(*job)) return bad(name, "'job' is no name of a job");
  if (!holder || !is_holder(*holder)) return bad(name, "'holder' has no 32 digits");
  if (!host || !fabric) return bad(name, "'host' or 'fabric' is no short text");
  Lease lease{.job = *job, .holder = *holder, .host = *host, .fabric = *fabric};
  const auto process = number(document, "process", UINT32_MAX);
  const auto since = number(document, "since_s", UINT32_MAX);
  const auto ttl = number(document, "ttl_ms", static_cast<uint64_t>(params::kMostTtl / millis(1)));
  const auto plans = number(document, "plans", UINT32_MAX);
  const auto period = number(document, "period_ns", INT64_MAX);
  const auto bytes = number(document, "bytes", UINT64_MAX);
  if (!process || !since || !ttl || *ttl == 0 || !plans || !period || !bytes) {
    return bad(name,
               "one of 'process', 'since_s', 'ttl_ms', 'plans', 'period_ns' and 'bytes' is "
               "missing or out of range");
  }
  lease.process = *process;
  lease.since_s = static_cast<int64_t>(*since);
  lease.ttl = millis(static_cast<int64_t>(*ttl));
  lease.plans = *plans;
  lease.period = nanos(static_cast<int64_t>(*period));
  lease.bytes = *bytes;
  if (!read_loads(document, lease.loads)) return bad(name, "'loads' are no bytes by link");
  if (!read_busiest(document, lease.busiest)) return bad(name, "'busiest' are no links");
  return lease;
}

}  // namespace heddle::leases
