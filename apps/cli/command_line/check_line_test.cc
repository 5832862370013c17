// Which word of a command line is reported, and what is suggested in its place.
#include "apps/cli/command_line/check_line.h"

#include <gmock/gmock.h>

#include "apps/cli/command_line/shared_options.h"
#include "apps/cli/command_line/value_checks.h"

namespace heddle::cli {
namespace {

using testing::HasSubstr;

// A program with the shapes that commands have: options, flags, arguments, a group, a list, and a
// command that starts another program.
class CheckLine : public testing::Test {
 protected:
  CheckLine() {
    root_.set_help_flag("-h,--help", "print this help");
    root_.require_subcommand(1);
    CLI::App* const perf = root_.add_subcommand("perf", "");
    perf->add_option("host", host_, "")->type_name("HOST")->required();
    perf->add_option("tests", tests_, "")->type_name("bw|lat")->check(one_of({"bw", "lat"}));
    perf->add_option("-s,--size", size_, "")->type_name("SIZE")->check(size_value(1));
    perf->add_option("-p,--port", port_, "")->type_name("PORT")->check(whole_number(1, 65535));
    perf->add_flag("-v,--verbose", verbose_, "");
    CLI::App* const lab = root_.add_subcommand("lab", "");
    lab->require_subcommand(1);
    add_lab_option(*lab->add_subcommand("status", ""), lab_);
    CLI::App* const run = root_.add_subcommand("run", "");
    run->positionals_at_end();
    add_ranks_option(*run, ranks_, "", 8);
    add_program(*run, words_)->required();
  }

  CheckedLine check(std::vector<std::string> words) {
    given_ = std::move(words);
    return check_line(root_, given_);
  }
  std::string why(std::vector<std::string> words) {
    const CheckedLine checked = check(std::move(words));
    return checked.error ? checked.error->why + "; " + checked.error->todo : "";
  }

  CLI::App root_{"", "heddle"};
  std::vector<std::string> given_;
  std::string host_;
  std::vector<std::string> tests_;
  std::string size_;
  uint32_t port_ = 0;
  bool verbose_ = false;
  std::string lab_;
  uint32_t ranks_ = 0;
  std::vector<std::string> words_;
};

TEST_F(CheckLine, AcceptsEverySpellingOfOptionsAndValues) {
  EXPECT_EQ(why({"perf", "node"}), "");
  EXPECT_EQ(why({"perf", "node", "bw", "lat", "-vp7", "--size=4K"}), "");
  EXPECT_EQ(why({"perf", "-p", "7", "node", "-v", "bw"}), "");
  EXPECT_EQ(why({"perf", "--", "node"}), "");
}

TEST_F(CheckLine, ReportsTheFirstWrongWord) {
  EXPECT_THAT(why({"perf", "--bogus", "-p", "0"}), HasSubstr("--bogus"));
  EXPECT_THAT(why({"perf", "-p", "0", "--bogus"}), HasSubstr("--port: '0' is not a whole number"));
  EXPECT_THAT(why({"perf", "node", "rtt", "--size=4Q"}), HasSubstr("'rtt' is not bw or lat"));
}

TEST_F(CheckLine, SuggestsTheWordThatWasMeant) {
  EXPECT_THAT(why({"prf"}), HasSubstr("did you mean 'heddle perf'?"));
  EXPECT_THAT(why({"perf", "--prot", "7"}), HasSubstr("did you mean --port?"));
  EXPECT_THAT(why({"lab", "statsu"}), HasSubstr("did you mean 'heddle lab status'?"));
}

TEST_F(CheckLine, ReportsWhatIsMissingOnlyWhereNothingIsWrong) {
  EXPECT_THAT(why({"perf"}), HasSubstr("HOST is missing; see 'heddle perf --help'"));
  EXPECT_THAT(why({"perf", "node", "--size"}), HasSubstr("--size needs a value: SIZE"));
  EXPECT_THAT(why({"perf", "node", "--size", "--verbose"}), HasSubstr("--size needs a value"));
  EXPECT_THAT(why({"perf", "node", "--verbose=yes"}), HasSubstr("--verbose takes no value"));
}

TEST_F(CheckLine, LeavesTheWordsOfAnotherProgramAlone) {
  EXPECT_EQ(why({"run", "-n", "2", "echo", "--bogus", "-x"}), "");
  EXPECT_EQ(why({"run", "-n", "2", "--", "--bogus"}), "");
  EXPECT_THAT(why({"run", "--bogus", "echo"}), HasSubstr("--bogus"));
}

TEST_F(CheckLine, PutsThePresentOptionInThePlaceOfAnOldSpelling) {
  EXPECT_EQ(why({"lab", "status", "--name", "x"}), "");
  EXPECT_EQ(given_, (std::vector<std::string>{"lab", "status", "--lab", "x"}));
  EXPECT_EQ(why({"lab", "status", "--name=x"}), "");
  EXPECT_EQ(given_.back(), "--lab=x");
}

TEST_F(CheckLine, FindsHelpOnlyInFrontOfTheFirstWrongWord) {
  EXPECT_TRUE(check({"perf", "--help", "--bogus"}).wants_help);
  EXPECT_FALSE(check({"perf", "--bogus", "--help"}).wants_help);
  EXPECT_FALSE(check({"run", "-n", "1", "echo", "--help"}).wants_help);
}

}  // namespace
}  // namespace heddle::cli
