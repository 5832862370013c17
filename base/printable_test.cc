// Tests of text that a terminal must not obey.
#include "base/printable.h"

#include <gtest/gtest.h>

#include "base/result.h"

namespace heddle {
namespace {

TEST(Printable, ControlCharactersBecomeQuestionMarks) {
  EXPECT_EQ(printable("a\x1b[2Jb\x7f\n"), "a?[2Jb??");
  EXPECT_EQ(printable("\xc2\x9b"
                      "2J"),
            "??2J")
      << "U+009B is a terminal's escape sequence too";
  EXPECT_EQ(printable("R\xc3\x9csch \xe2\x86\x92"), "R\xc3\x9csch \xe2\x86\x92");
}

// A client's request once went to the terminal of `heddle perf --listen` as it was.
TEST(Printable, AnErrorsTextsArePrintableWhoeverChoseThem) {
  const Unexpected made = fail(ErrorCode::kInvalid, "no '\x1b]0;x\x07'", "\x1b", "do");
  EXPECT_EQ(made.error.message(), "no '?]0;x?': ? (do)");
}

}  // namespace
}  // namespace heddle
