// Tables of TOML files: values in their range, and errors with their line.
#include "base/table.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

namespace heddle {
namespace {

using testing::HasSubstr;

// The error after `read` took its keys and the table was finished; empty: none.
template <typename Read>
std::string error_of(const std::string& text, Read read) {
  const Result<DocumentValue> document = parse_document(text, "t.toml");
  if (!document) return document.error().message();
  FileErrors errors("t.toml");
  TableReader table(*document, errors);
  read(table);
  table.finish();
  return errors.any() ? errors.first().message() : "";
}

TEST(TableTest, FractionsAreNumbersInTheRange) {
  double read = 0;
  const auto share = [&read](TableReader& table) { read = table.fraction("share", 0.5, 0, 1); };
  EXPECT_EQ(error_of("", share), "");
  EXPECT_EQ(read, 0.5);
  EXPECT_EQ(error_of("share = 0.25", share), "");
  EXPECT_EQ(read, 0.25);
  EXPECT_EQ(error_of("share = 1", share), "");
  EXPECT_EQ(read, 1);
  EXPECT_THAT(error_of("\nshare = 1.5", share), HasSubstr("t.toml:2: 'share' is 1.5 (give a number "
                                                          "from 0 to 1"));
  EXPECT_THAT(error_of("share = nan", share), HasSubstr("'share' is nan"));
  EXPECT_THAT(error_of("share = \"0.5\"", share), HasSubstr("another type"));
}

TEST(TableTest, DurationsAreTextsInTheRange) {
  Nanos read;
  const auto pause = [&read](TableReader& table) {
    read = table.duration("pause", seconds(5), seconds(1), seconds(60));
  };
  EXPECT_EQ(error_of("", pause), "");
  EXPECT_EQ(read, seconds(5));
  EXPECT_EQ(error_of("pause = \"1m\"", pause), "");
  EXPECT_EQ(read, seconds(60));
  EXPECT_THAT(error_of("pause = \"2m\"", pause), HasSubstr("\"2m\", which is out of range"));
  EXPECT_THAT(error_of("pause = \"soon\"", pause), HasSubstr("no time"));
  EXPECT_THAT(error_of("pause = 5", pause), HasSubstr("another type"));
}

TEST(TableTest, AKeyThatWasNotTakenIsAnErrorWithTheKnownOnes) {
  EXPECT_THAT(error_of("b = 1\nc = 2", [](TableReader& table) { table.text("a", ""); }),
              HasSubstr("t.toml:1: the key 'b' is not known (known here: a)"));
}

}  // namespace
}  // namespace heddle
