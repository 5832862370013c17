// Rows for a database: its address, and what happens to them without a server.
#include "monitor/store.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <string>

#include "monitor/params.h"

namespace heddle::monitor {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

TEST(StoreAddress, IsThatOfTheHttpInterface) {
  const auto plain = parse_store_address("clickhouse://ch.example/site_1");
  ASSERT_TRUE(plain) << plain.error().message();
  EXPECT_THAT(plain->url, HasSubstr("http://ch.example:8123/"));
  EXPECT_EQ(plain->database, "site_1");
  const auto tls = parse_store_address("clickhouses://[fd00::1]");
  ASSERT_TRUE(tls);
  EXPECT_THAT(tls->url, HasSubstr("https://[fd00::1]:8443/"));
  EXPECT_EQ(tls->database, "heddle");
  EXPECT_THAT(parse_store_address("clickhouse://h:9/d")->url, HasSubstr("http://h:9/"));
}

TEST(StoreAddress, ThatOfAnExportIsTakenWithItsOwnPort) {
  const auto plain = parse_store_address("http://ch.example:8123/site_1");
  ASSERT_TRUE(plain) << plain.error().message();
  EXPECT_THAT(plain->url, HasSubstr("http://ch.example:8123/?"));
  EXPECT_EQ(plain->database, "site_1");
  EXPECT_THAT(parse_store_address("http://h/")->url, HasSubstr("http://h/?"));
  EXPECT_EQ(parse_store_address("http://h/")->database, "heddle");
  const auto tls = parse_store_address("https://[fd00::1]");
  ASSERT_TRUE(tls) << tls.error().message();
  EXPECT_THAT(tls->url, HasSubstr("https://[fd00::1]/?"));
}

TEST(StoreAddress, OthersAreRefused) {
  for (const char* const text : {"", "nats://h/d", "clickhouse://h/a b", "http://h/a;b"}) {
    EXPECT_FALSE(parse_store_address(text)) << text;
  }
  for (const char* const text : {"clickhouse://me:hunter2@h/d", "https://me:hunter2@h/d"}) {
    const auto secret = parse_store_address(text);
    ASSERT_FALSE(secret);
    EXPECT_THAT(secret.error().message(), Not(HasSubstr("hunter2")));
  }
}

WatchDocument document_of(size_t processes) {
  WatchDocument made{.job = "job", .state = {}, .hosts = {}};
  made.state.began_realtime_ns = 1;
  for (size_t i = 0; i < processes; ++i) {
    made.state.processes.push_back(
        {.name = std::to_string(i), .host = "host", .rank = static_cast<int64_t>(i)});
  }
  return made;
}

Store store_at(const std::string& url) {
  return {*recordings::HttpPost::to(url, {}), "site", {.name = "a", .host = "h", .folder = "/a"}};
}

TEST(StoreTest, WithoutAServerRowsWaitUpToABoundAndChangesStayLongest) {
  Store store = store_at("http://127.0.0.1:1/");
  const WatchDocument document = document_of(5'000);
  SeriesInterval interval{.from_ns = 0, .until_ns = 1};
  interval.processes.resize(5'000);
  AlarmChange change;
  change.alarm.number = 7;
  store.add(change, document.state);
  store.add(document);
  Nanos now = seconds(1);
  for (int i = 0; i < 30; ++i) {
    store.add(document, interval);
    now = now + params::kStoreEvery;
    store.poll(now);
  }
  const StoreState state = store.state();
  EXPECT_GT(state.dropped, 0U);
  EXPECT_EQ(state.waiting_changes, 1U);
  EXPECT_EQ(state.dropped + state.waiting, 30 * 5'000U + 2);
  EXPECT_LT(state.waiting * 300, params::kMostStoredBytes * 3 / 2);
}

TEST(StoreTest, AServerThatIsNotThereIsNamedAndAskedAgain) {
  Store store = store_at("http://127.0.0.1:1/?password=hunter2");
  store.add(document_of(1));
  Nanos now = seconds(1);
  for (int i = 0; i < 6'000 && store.state().complaint.empty(); ++i) {
    store.poll(now);
    usleep(10'000);
  }
  EXPECT_THAT(store.state().complaint, HasSubstr("cannot store rows at http://127.0.0.1:1/: "));
  EXPECT_THAT(store.state().complaint, Not(HasSubstr("hunter2")));
  EXPECT_EQ(store.state().waiting, 1U);
  EXPECT_TRUE(store.busy());
}

}  // namespace
}  // namespace heddle::monitor
