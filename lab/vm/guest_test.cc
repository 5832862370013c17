// Tests of the texts that the machine's scripts read.
#include "lab/vm/guest.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace heddle::lab::vm {
namespace {

using testing::HasSubstr;
using testing::Not;

TEST(Guest, QuotedWordsAreOneWordForAShell) {
  EXPECT_EQ(quoted(""), "''");
  EXPECT_EQ(quoted("a b$c"), "'a b$c'");
  EXPECT_EQ(quoted("it's"), "'it'\\''s'");
}

TEST(Guest, NetemHasOnlyWhatIsAskedFor) {
  VmLink link;
  EXPECT_EQ(netem_text(link), "");
  link.loss_per_million = 100;
  EXPECT_EQ(netem_text(link), "limit 100000 loss 0.01%");
  link.delay = nanos(200'001);
  link.reorder_per_million = 10'000;
  link.duplicate_per_million = 1;
  link.rate = megabits_per_s(200);
  EXPECT_EQ(netem_text(link),
            "limit 100000 delay 201us loss 0.01% duplicate 0.0001% reorder 1% rate 200000000bit");
}

TEST(Guest, CommandHasTheCallersFolderAndEnvironment) {
  VmOptions options;
  options.words = {"echo", "it's"};
  options.out = "/tmp/o";
  const Caller caller{"/srv/a b", {"X=1 2", "BASH_FUNC_f%%=() {", "HEDDLE_LAB=one"}, 0, 0};
  const std::string text = command_text(options, caller);
  EXPECT_THAT(text, HasSubstr("export X='1 2'\n"));
  EXPECT_THAT(text, HasSubstr("export OUT='/tmp/o'\n"));
  EXPECT_THAT(text, HasSubstr("cd '/srv/a b' || exit 125\nexec 'echo' 'it'\\''s'\n"));
  EXPECT_THAT(text, Not(HasSubstr("BASH_FUNC")));
  EXPECT_LT(text.find("HEDDLE_LAB='one'"), text.find("unset OUT HEDDLE_LAB"));
}

TEST(Guest, SettingsHaveOneBitAProcessor) {
  VmOptions options;
  for (const auto& [cpus, mask] : {std::pair{1u, "1"}, {2u, "3"}, {8u, "ff"}, {32u, "ffffffff"}}) {
    options.cpus = cpus;
    EXPECT_THAT(settings_text(options, {}, {}), HasSubstr(std::string("cpu_mask=") + mask + "\n"));
  }
}

}  // namespace
}  // namespace heddle::lab::vm
