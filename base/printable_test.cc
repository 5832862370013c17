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

// A file named so that a terminal shows "reportfdp.exe" once looked like a PDF in a list of files.
TEST(Printable, CharactersThatTurnTheDirectionOfTextBecomeQuestionMarks) {
  EXPECT_EQ(printable("report\xe2\x80\xae"
                      "fdp.exe"),
            "report???fdp.exe");
  for (const char* const each : {"\xe2\x80\x8e", "\xe2\x81\xa9", "\xe2\x80\xaa"}) {
    EXPECT_EQ(printable(each), "???");
  }
  EXPECT_EQ(printable("\xd8\x9c"), "??");
  EXPECT_EQ(printable("1\xe2\x80\x93"
                      "2\xe2\x80"),
            "1\xe2\x80\x93"
            "2\xe2\x80")
      << "a dash stays, and what ends too early";
}

// A client's request once went to the terminal of `heddle perf --listen` as it was.
TEST(Printable, AnErrorsTextsArePrintableWhoeverChoseThem) {
  const Unexpected made = fail(ErrorCode::kInvalid, "no '\x1b]0;x\x07'", "\x1b", "do");
  EXPECT_EQ(made.error.message(), "no '?]0;x?': ? (do)");
}

}  // namespace
}  // namespace heddle
