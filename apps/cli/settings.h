// Settings: options of the command line that stand for keys of the configuration, and the
// configuration that results from all its layers.
#pragma once

#include <CLI/App.hpp>
#include <deque>
#include <string>
#include <vector>

#include "base/config.h"
#include "base/result.h"

namespace heddle::cli {

class Settings {
 public:
  // Adds --config and --set to the command.
  explicit Settings(CLI::App& command);
  Settings(const Settings&) = delete;
  Settings& operator=(const Settings&) = delete;

  // Adds an option ("-p,--port") that sets a key; its help comes from the key's declaration, and a
  // key's list of values replaces `type_name`.
  void offer(const std::string& option, const std::string& key, const std::string& type_name);

  // Reads all layers, sets the log level and prints the layers' warnings. Errors: those of
  // Config::load.
  Result<Config> load() const;

 private:
  struct Offered {
    std::string key;
    std::string value;
    CLI::Option* option = nullptr;
  };

  CLI::App& command_;
  std::string file_;
  std::vector<std::string> assignments_;
  std::deque<Offered> offered_;  // their addresses are in use
};

}  // namespace heddle::cli
