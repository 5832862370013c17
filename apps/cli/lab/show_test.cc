// What `heddle lab list` and `status` print.
#include "apps/cli/lab/show.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "topology/generators.h"

namespace heddle::cli {
namespace {

using testing::HasSubstr;
using testing::Not;

class ShowTest : public testing::Test {
 protected:
  ShowTest() {
    lab_.state.name = "small";
    lab_.state.source = "small.toml";
    lab_.layout = std::move(
        *lab::make_layout("small", topology::point_to_point({.rate = megabits_per_s(100)})));
    conditions_ = lab::initial_conditions(lab_.layout.topology);
    before_.links.resize(1);
    now_.links.resize(1);
    now_.at = seconds(2);
    now_.links[0].forward.at = seconds(2);
    now_.links[0].forward.bytes = 12'500'000;
    now_.ticks_before = {40, 100};
  }

  LabPicture picture() const { return {lab_, conditions_, before_, now_}; }

  lab::Lab lab_;
  lab::Conditions conditions_;
  lab::Counts before_;
  lab::Counts now_;
};

TEST_F(ShowTest, StatusShowsUseAndLeavesOutWhatIsEmpty) {
  const std::string text = status_text(picture());
  EXPECT_THAT(text, HasSubstr("h0 > h1  12,500,000  50.0 Mb/s   50%\n"));
  EXPECT_THAT(text, HasSubstr("processors busy: 40%"));
  EXPECT_THAT(text, Not(HasSubstr("dropped")));
  EXPECT_THAT(text, Not(HasSubstr("above 85%")));
}

TEST_F(ShowTest, StatusShowsDropsFaultsAndPauses) {
  now_.links[0].forward.dropped = 7;
  now_.links[0].backward.overrun = 70;
  now_.ticks_before = {90, 100};
  conditions_.links[0].backward.faults.loss_per_million = 15'000;
  conditions_.paused[1] = true;
  const std::string text = status_text(picture());
  EXPECT_THAT(text, HasSubstr("dropped"));
  EXPECT_THAT(text, HasSubstr("1.5% loss\n"));
  EXPECT_THAT(text, HasSubstr("h1 is paused\n"));
  EXPECT_THAT(text, HasSubstr("above 85%"));
  EXPECT_THAT(text, HasSubstr("its processors did not keep up"));
}

TEST_F(ShowTest, JsonHasTheSameWithUnits) {
  conditions_.links[0].down = true;
  const auto json = nlohmann::json::parse(status_json(picture()));
  const auto& forward = json.at("links").at(0).at("forward");
  EXPECT_DOUBLE_EQ(forward.at("bits_per_s").get<double>(), 50e6);
  EXPECT_DOUBLE_EQ(forward.at("utilisation").get<double>(), 0.5);
  EXPECT_EQ(forward.at("condition"), "down");
  EXPECT_EQ(json.at("hosts").at(1).at("nics").at(0).at("ipv4"), "10.0.1.1");
}

TEST_F(ShowTest, ListIsOneLineALab) {
  EXPECT_EQ(list_text({}), "no lab is up\n");
  EXPECT_THAT(list_text({lab_}), HasSubstr("small      2         0      1  up  small.toml\n"));
  EXPECT_EQ(nlohmann::json::parse(list_json({lab_})).at("labs").at(0).at("status"), "up");
}

}  // namespace
}  // namespace heddle::cli
