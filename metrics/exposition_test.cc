// What Prometheus reads, and what it would refuse.
#include "metrics/exposition.h"

#include <gtest/gtest.h>

#include <limits>

namespace heddle::metrics {
namespace {

std::string text_of(const std::vector<Family>& families) {
  const Result<std::string> text = exposition_of(families);
  return text ? *text : "error: " + text.error().message();
}

std::string value_of(const std::string& label) {
  const std::string text = text_of({{"a", "b", Type::kGauge, {{{{"l", label}}, 1}}}});
  const std::string before = "# HELP a b\n# TYPE a gauge\na{l=\"";
  const std::string behind = "\"} 1\n";
  EXPECT_EQ(text.substr(0, before.size()), before);
  EXPECT_EQ(text.substr(text.size() - behind.size()), behind);
  return text.substr(before.size(), text.size() - before.size() - behind.size());
}

TEST(Exposition, HasHelpAndTypeOncePerFamily) {
  const Family bytes{"x_bytes_total",
                     "Bytes.",
                     Type::kCounter,
                     {{{{"to", "b"}, {"from", "a"}}, 5e9}, {{{"from", "b"}, {"to", "a"}}, 0}}};
  const Family up{"x_up", "Up.", Type::kGauge, {{{}, 0.25}}};
  EXPECT_EQ(text_of({bytes, up}),
            "# HELP x_bytes_total Bytes.\n# TYPE x_bytes_total counter\n"
            "x_bytes_total{from=\"a\",to=\"b\"} 5000000000\n"
            "x_bytes_total{from=\"b\",to=\"a\"} 0\n"
            "# HELP x_up Up.\n# TYPE x_up gauge\nx_up 0.25\n");
}

TEST(Exposition, LeavesOutFamiliesWithoutSamples) {
  EXPECT_EQ(text_of({}), "");
  EXPECT_EQ(text_of({{"x_up", "Up.", Type::kGauge, {}}}), "");
}

TEST(Exposition, WritesSpecialValuesAsGoReadsThem) {
  const auto value = [](double each) { return text_of({{"a", "b", Type::kGauge, {{{}, each}}}}); };
  const std::string head = "# HELP a b\n# TYPE a gauge\na ";
  EXPECT_EQ(value(std::numeric_limits<double>::quiet_NaN()), head + "NaN\n");
  EXPECT_EQ(value(-std::numeric_limits<double>::quiet_NaN()), head + "NaN\n");
  EXPECT_EQ(value(std::numeric_limits<double>::infinity()), head + "+Inf\n");
  EXPECT_EQ(value(-std::numeric_limits<double>::infinity()), head + "-Inf\n");
  EXPECT_EQ(value(-1.5e-300), head + "-1.5e-300\n");
  EXPECT_EQ(value(0.1), head + "0.1\n");
}

TEST(Exposition, EscapesWhatEndsALabel) {
  EXPECT_EQ(value_of("leaf0 - spine1"), "leaf0 - spine1");
  EXPECT_EQ(value_of("a\"} 7\nb{l=\""), "a\\\"} 7\\nb{l=\\\"");
  EXPECT_EQ(value_of("\\n"), "\\\\n");
  EXPECT_EQ(value_of("a\\"), "a\\\\");
  EXPECT_EQ(value_of(""), "");
}

TEST(Exposition, ReplacesWhatIsNoText) {
  const std::string replaced = "\xef\xbf\xbd";
  EXPECT_EQ(value_of("Köln 東京 \xf0\x9f\x98\x80"), "Köln 東京 \xf0\x9f\x98\x80");
  EXPECT_EQ(value_of("a\xff"
                     "b"),
            "a" + replaced + "b");
  EXPECT_EQ(value_of("\xe6\x9d"), replaced + replaced);                 // cut off
  EXPECT_EQ(value_of("\xc0\xaf"), replaced + replaced);                 // overlong
  EXPECT_EQ(value_of("\xed\xa0\x80"), replaced + replaced + replaced);  // a surrogate
  EXPECT_EQ(value_of("\xf4\x90\x80\x80"), replaced + replaced + replaced + replaced);
  EXPECT_EQ(value_of(std::string("a\0b\r\x7f", 5)), "a" + replaced + "b" + replaced + replaced);
}

TEST(Exposition, EscapesHelpButNotItsQuotes) {
  EXPECT_EQ(text_of({{"a", "one\ntwo \\ \"three\"", Type::kGauge, {{{}, 1}}}}),
            "# HELP a one\\ntwo \\\\ \"three\"\n# TYPE a gauge\na 1\n");
}

TEST(Exposition, RefusesWhatPrometheusWouldNotRead) {
  const auto refused = [](const Family& family) {
    const Result<std::string> text = exposition_of({family});
    return text ? "" : text.error().why;
  };
  const auto named = [&](const char* name) { return refused({name, "", Type::kGauge, {{{}, 1}}}); };
  for (const char* const name : {"", "1a", "a-b", "a b", "a\n", "ä"}) EXPECT_NE(named(name), "");
  for (const char* const name : {"a", "_", "a:b_1"}) EXPECT_EQ(named(name), "");
  const auto labelled = [&](std::vector<Label> labels) {
    return refused({"a", "", Type::kGauge, {{std::move(labels), 1}}});
  };
  for (const char* const name : {"", "1", "a:b", "__name__", "a b"}) {
    EXPECT_NE(labelled({{name, "x"}}), "") << name;
  }
  EXPECT_EQ(labelled({{"_a1", "x"}}), "");
  EXPECT_EQ(labelled({{"l", "x"}, {"k", ""}, {"l", "y"}}), "it has the label 'l' twice");
  EXPECT_NE(
      refused({"a", "", Type::kGauge, {{{{"k", ""}, {"l", ""}}, 1}, {{{"l", ""}, {"k", ""}}, 2}}}),
      "");
  EXPECT_NE(refused({"a", "", Type::kCounter, {{{}, -1}}}), "");
  EXPECT_NE(refused({"a", "", Type::kCounter, {{{}, std::numeric_limits<double>::quiet_NaN()}}}),
            "");
  EXPECT_FALSE(exposition_of({{"a", "", Type::kGauge, {}}, {"a", "", Type::kGauge, {}}}));
}

}  // namespace
}  // namespace heddle::metrics
