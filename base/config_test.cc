// Tests of the configuration's layers, messages, and declared keys.

#include "base/config.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <array>
#include <cctype>
#include <filesystem>
#include <fstream>
#include <set>
#include <string>

namespace heddle {
namespace {

using testing::HasSubstr;

constexpr std::array kTestKeys = {
    ConfigKey{.name = "port", .type = ConfigType::kInteger, .fallback = "5", .min = 1, .max = 9},
    ConfigKey{.name = "mode", .fallback = "slow", .choices = "slow|fast"},
    ConfigKey{.name = "udp.gso", .type = ConfigType::kBoolean, .fallback = "true"},
    ConfigKey{.name = "label", .fallback = ""},
};

class ConfigTest : public testing::Test {
 protected:
  void SetUp() override {
    const auto* info = testing::UnitTest::GetInstance()->current_test_info();
    folder_ = std::filesystem::temp_directory_path() /
              ("heddle_config_" + std::string(info->name()) + std::to_string(getpid()));
    std::filesystem::create_directories(folder_);
  }
  void TearDown() override { std::filesystem::remove_all(folder_); }

  std::string write(const std::string& text, const std::string& name = "heddle.toml") {
    const std::string path = folder_ / name;
    std::ofstream(path) << text;
    return path;
  }

  Result<Config> load() { return Config::load(kTestKeys, sources_); }

  std::string error_of_load() {
    const auto config = load();
    return config ? "no error" : config.error().message();
  }

  std::string origin(const Config& config, std::string_view name) {
    for (const ConfigEntry& entry : config.entries()) {
      if (entry.key->name == name) return entry.origin;
    }
    return "?";
  }

  std::filesystem::path folder_;
  ConfigSources sources_;
};

TEST(ConfigKeys, ZeroBelowTheMinimumIsAcceptedWhereItMeansAutomatic) {
  static constexpr std::array kKeys = {
      ConfigKey{.name = "mtu",
                .type = ConfigType::kInteger,
                .fallback = "0",
                .min = 5,
                .max = 9,
                .or_zero = true},
  };
  const auto fits = [](const std::string& value) {
    return Config::load(kKeys, {.command_line = {{"mtu", value}}}).has_value();
  };
  for (const char* value : {"0", "5", "9"}) EXPECT_TRUE(fits(value)) << value;
  for (const char* value : {"1", "4", "10", "-1"}) EXPECT_FALSE(fits(value)) << value;
}

TEST_F(ConfigTest, DefaultsApplyWithoutSettings) {
  const auto config = load();
  ASSERT_TRUE(config);
  EXPECT_EQ(config->integer("port"), 5);
  EXPECT_EQ(config->text("mode"), "slow");
  EXPECT_TRUE(config->boolean("udp.gso"));
  EXPECT_EQ(origin(*config, "port"), "default");
  EXPECT_EQ(config->file(), "");
}

TEST_F(ConfigTest, EachLayerOverridesTheOnesBelow) {
  sources_.file = write("port = 6\nmode = 'fast'\n[udp]\ngso = false\n");
  sources_.environment = {"HEDDLE_PORT=7", "HEDDLE_UDP_GSO=on", "PATH=/bin"};
  sources_.command_line = {{"port", "8"}};
  const auto config = load();
  ASSERT_TRUE(config) << config.error().message();
  EXPECT_EQ(config->integer("port"), 8);
  EXPECT_EQ(origin(*config, "port"), "the command line");
  EXPECT_TRUE(config->boolean("udp.gso"));
  EXPECT_EQ(origin(*config, "udp.gso"), "HEDDLE_UDP_GSO");
  EXPECT_EQ(config->text("mode"), "fast");
  EXPECT_EQ(origin(*config, "mode"), sources_.file + ":2");
  EXPECT_EQ(origin(*config, "label"), "default");
  EXPECT_TRUE(config->warnings().empty());
}

TEST_F(ConfigTest, AnEmptyFileSetsNothing) {
  sources_.file = write("");
  EXPECT_EQ(load()->integer("port"), 5);
}

TEST_F(ConfigTest, TheFirstDefaultFileThatExistsIsRead) {
  const std::string second = write("port = 2\n", "second.toml");
  const std::string third = write("port = 3\n", "third.toml");
  sources_.default_files = {folder_ / "first.toml", second, third};
  const auto config = load();
  ASSERT_TRUE(config);
  EXPECT_EQ(config->file(), second);
  EXPECT_EQ(config->integer("port"), 2);
}

TEST_F(ConfigTest, TheFileOfTheCommandLineOverridesTheVariable) {
  sources_.environment = {"HEDDLE_CONFIG=" + write("port = 2\n", "variable.toml")};
  EXPECT_EQ(load()->integer("port"), 2);
  sources_.file = write("port = 3\n", "option.toml");
  EXPECT_EQ(load()->integer("port"), 3);
}

TEST_F(ConfigTest, UnknownKeyInTheFileIsAnErrorWithItsLine) {
  sources_.file = write("port = 6\n\n[udp]\ngro = true\n");
  EXPECT_THAT(error_of_load(), HasSubstr("unknown setting 'udp.gro'"));
  EXPECT_THAT(error_of_load(), HasSubstr(sources_.file + ":4"));
}

TEST_F(ConfigTest, UnknownKeyOnTheCommandLineIsAnError) {
  sources_.command_line = {{"prot", "6"}};
  EXPECT_THAT(error_of_load(), HasSubstr("unknown setting 'prot'"));
  EXPECT_THAT(error_of_load(), HasSubstr("it is set by the command line"));
}

TEST_F(ConfigTest, UnknownVariableIsAWarning) {
  sources_.environment = {"HEDDLE_PROT=6", "HEDDLE_CLICKHOUSE_PASSWORD=hunter2",
                          "HEDDLE_NATS_TOKEN=hunter2"};
  const auto config = load();
  ASSERT_TRUE(config);
  ASSERT_EQ(config->warnings().size(), 1U);
  EXPECT_THAT(config->warnings()[0], HasSubstr("HEDDLE_PROT"));
}

TEST_F(ConfigTest, InvalidValuesAreReportedWithSourceAndValidRange) {
  sources_.environment = {"HEDDLE_PORT=10"};
  EXPECT_THAT(error_of_load(), HasSubstr("cannot set port to '10'"));
  EXPECT_THAT(error_of_load(), HasSubstr("HEDDLE_PORT"));
  EXPECT_THAT(error_of_load(), HasSubstr("a whole number from 1 to 9"));
  sources_.environment = {"HEDDLE_PORT=6x"};
  EXPECT_THAT(error_of_load(), HasSubstr("'6x'"));
  sources_.environment = {"HEDDLE_MODE=medium"};
  EXPECT_THAT(error_of_load(), HasSubstr("one of slow, fast"));
  sources_.environment = {"HEDDLE_UDP_GSO=maybe"};
  EXPECT_THAT(error_of_load(), HasSubstr("true or false"));
}

TEST_F(ConfigTest, WrongTypesInTheFileAreErrors) {
  sources_.file = write("port = '6'\n");
  EXPECT_THAT(error_of_load(), HasSubstr("'port' must be a whole number"));
  EXPECT_THAT(error_of_load(), HasSubstr(sources_.file + ":1"));
  write("\nport = [1, 2]\n");
  EXPECT_THAT(error_of_load(), HasSubstr(sources_.file + ":2"));
}

TEST_F(ConfigTest, AFileThatIsNotTomlIsAnErrorWithItsLine) {
  sources_.file = write("port = 6\nmode = \n");
  EXPECT_THAT(error_of_load(), HasSubstr(sources_.file + ":2"));
}

TEST_F(ConfigTest, ARequestedFileMustExist) {
  sources_.file = folder_ / "missing.toml";
  EXPECT_THAT(error_of_load(), HasSubstr("missing.toml"));
  EXPECT_THAT(error_of_load(), HasSubstr("No such file"));
  sources_.file = folder_;  // a directory
  EXPECT_THAT(error_of_load(), HasSubstr("cannot read the configuration file"));
}

TEST(ConfigKeys, AreWellDeclared) {
  std::set<std::string_view> names;
  for (const ConfigKey& key : config_keys()) {
    EXPECT_TRUE(names.insert(key.name).second) << key.name << " is there twice";
    EXPECT_FALSE(key.doc.empty()) << key.name;
    for (const char c : key.name) {
      const auto letter = static_cast<unsigned char>(c);
      EXPECT_TRUE(std::islower(letter) || std::isdigit(letter) || c == '_' || c == '.') << key.name;
    }
    if (!key.unit.empty()) {
      EXPECT_TRUE(key.name.ends_with("_" + std::string(key.unit)))
          << key.name << " must end in its unit";
    }
  }
  // load() CHECKs that every default fits.
  EXPECT_TRUE(Config::load(config_keys(), {}));
}

TEST(ConfigVariable, IsTheNameInCapitals) {
  EXPECT_EQ(config_variable("udp.gso"), "HEDDLE_UDP_GSO");
}

}  // namespace
}  // namespace heddle
