// What is accepted as a value of an option, and why the rest is not.
#include "apps/cli/command_line/value_checks.h"

#include <gmock/gmock.h>

namespace heddle::cli {
namespace {

using testing::HasSubstr;

std::string refusal(const CLI::Validator& check, std::string text) { return check(text); }

TEST(SizeValue, AcceptsSizesFromTheLeastOn) {
  EXPECT_EQ(refusal(size_value(), "0"), "");
  EXPECT_EQ(refusal(size_value(1024), "1K"), "");
  EXPECT_THAT(refusal(size_value(1024), "1023"), HasSubstr("give at least 1 KiB"));
  EXPECT_THAT(refusal(size_value(), "4Q"), HasSubstr("'4Q' is not a size: its unit is not known"));
  EXPECT_EQ(refusal(message_size_value("all"), "all"), "");
  EXPECT_THAT(refusal(message_size_value(), "2G"), HasSubstr("at most 1 GiB"));
}

TEST(DurationValue, AcceptsDurationsFromTheLeastOn) {
  EXPECT_EQ(refusal(duration_value(), "0.5"), "");
  EXPECT_THAT(refusal(duration_value(), "0"), HasSubstr("above zero"));
  EXPECT_EQ(refusal(duration_value(Nanos{}), "0"), "");
  EXPECT_THAT(refusal(duration_value(millis(1)), "5us"), HasSubstr("give at least 1.00 ms"));
  EXPECT_EQ(refusal(duration_value(millis(1), "auto"), "auto"), "");
  EXPECT_THAT(refusal(duration_value(), "soon"), HasSubstr("'soon' is not a duration"));
}

TEST(OneOf, NamesTheChoicesAndTheOneThatWasMeant) {
  const CLI::Validator check = one_of({"cubic", "swift", "dctcp"});
  EXPECT_EQ(refusal(check, "swift"), "");
  EXPECT_EQ(refusal(check, "swfit"), "'swfit' is not cubic, swift or dctcp; did you mean 'swift'?");
  EXPECT_EQ(refusal(check, "bbr"), "'bbr' is not cubic, swift or dctcp");
}

}  // namespace
}  // namespace heddle::cli
