// Leases as text: what is written is read again, and other content is refused with the reason.
#include "leases/lease.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

namespace heddle::leases {
namespace {

Lease example() {
  return {.job = "llama-3.a_1",
          .holder = "0123456789abcdef0123456789abcdef",
          .host = "node \"7\"",
          .process = 4711,
          .since_s = 1'700'000'000,
          .ttl = seconds(60),
          .plans = 3,
          .fabric = "00112233445566ff",
          .period = millis(250),
          .bytes = uint64_t{1} << 50,
          .loads = {{0, 7}, {5, uint64_t{1} << 60}},
          .busiest = {{"leaf0 -> spine1 #1", 12.5}}};
}

std::string with(const std::string& key, const nlohmann::json& value) {
  nlohmann::json document = nlohmann::json::parse(text_of(example()));
  document[key] = value;
  return document.dump();
}

TEST(Lease, IsReadAsItWasWritten) {
  const Result<Lease> lease = parse_lease(text_of(example()), "a");
  ASSERT_TRUE(lease.has_value()) << lease.error().message();
  EXPECT_EQ(*lease, example());
}

TEST(Lease, EachPartOfItsTextIsRefused) {
  const std::string text = text_of(example());
  for (size_t size = 0; size + 2 < text.size(); ++size) {
    EXPECT_FALSE(parse_lease(text.substr(0, size), "a").has_value()) << size;
  }
}

TEST(Lease, ValuesOutOfRangeAreRefused) {
  using nlohmann::json;
  const std::vector<std::pair<const char*, json>> wrong = {
      {"job", "../../etc/passwd"},
      {"job", ""},
      {"job", ".hidden"},
      {"job", 5},
      {"holder", "0123"},
      {"holder", "0123456789ABCDEF0123456789abcdef"},
      {"host", std::string(300, 'h')},
      {"ttl_ms", 0},
      {"ttl_ms", 86'400'001},
      {"ttl_ms", -5},
      {"period_ns", UINT64_MAX},
      {"bytes", 1.5},
      {"loads", json::object()},
      {"loads", json::array({json::array({1, 2, 3})})},
      {"loads", json::array({json::array({-1, 2})})},
      {"loads", json::array({json::array({2, 2}), json::array({1, 2})})},
      {"loads", json::array({json::array({UINT64_MAX, 2})})},
      {"busiest", json::array({{{"link", "a"}, {"busy_us", -1}}})},
      {"busiest", json::array({{{"link", "a"}, {"busy_us", 1.1e12}}})},
      {"busiest", json::array({5})},
  };
  for (const auto& [key, value] : wrong) {
    EXPECT_FALSE(parse_lease(with(key, value), "a").has_value()) << key << " " << value;
  }
  EXPECT_TRUE(parse_lease(with("bytes", 1), "a").has_value());
}

TEST(Lease, AnotherVersionIsNamed) {
  const Result<Lease> lease = parse_lease(with("version", kLeaseVersion + 1), "a");
  ASSERT_FALSE(lease.has_value());
  EXPECT_EQ(lease.error().code, ErrorCode::kVersion);
}

// 32 MiB of brackets would take gigabytes.
TEST(Lease, DeepTextIsRefused) {
  const std::string deep = "{\"a\": " + std::string(1'000'000, '[');
  const Result<Lease> lease = parse_lease(deep, "a");
  ASSERT_FALSE(lease.has_value());
  EXPECT_NE(lease.error().why.find("more than 3 times"), std::string::npos);
  EXPECT_TRUE(parse_lease(with("host", "[[[[{{{{\"\\"), "a").has_value());
}

TEST(Lease, HoldersDiffer) {
  EXPECT_NE(new_holder(), new_holder());
  EXPECT_EQ(new_holder().size(), 32U);
}

}  // namespace
}  // namespace heddle::leases
