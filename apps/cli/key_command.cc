// `heddle key`: see key_command.h.
#include "apps/cli/key_command.h"

#include <fmt/core.h>

#include <memory>
#include <string>

#include "apps/cli/command_line/exit_statuses.h"
#include "apps/cli/command_line/shared_options.h"
#include "apps/cli/json.h"
#include "apps/cli/terminal.h"
#include "engine/key_file.h"

namespace heddle::cli {
namespace {

constexpr const char* kGenerateExample = R"(Example:
  heddle key generate /etc/heddle/keys      then copy it to every host, and set key_file

Only the file's owner can read it, and a file that exists is not overwritten.)";

constexpr const char* kShowExample = R"(Example:
  heddle key show /etc/heddle/keys

Equal ids mean equal keys; an id reveals nothing about the key.)";

constexpr const char* kKeyExample = R"(Example:
  heddle key generate /etc/heddle/keys
  heddle key show /etc/heddle/keys)";

struct KeyOptions {
  std::string file;
  bool json = false;
};

int generate(const KeyOptions& options) {
  const auto key = engine::generate_key_file(options.file);
  if (!key) {
    print_error(key.error());
    return kCouldNotRun;
  }
  const std::string id = engine::id_text(*key);
  const Json document = {{"id", id}, {"file", options.file}};
  print(options.json ? document.dump(2) + "\n" : fmt::format("{}  {}\n", id, options.file));
  return kDone;
}

int show(const KeyOptions& options) {
  const auto keys = engine::read_key_file(options.file);
  if (!keys) {
    print_error(keys.error());
    return kCouldNotRun;
  }
  Json rows = Json::array();
  std::string text;
  for (const transport::ClusterKey& key : *keys) {
    const bool first = rows.empty();
    rows.push_back({{"id", engine::id_text(key)}, {"connects", first}});
    text += fmt::format("{}  {}\n", engine::id_text(key),
                        first ? "connects and is accepted" : "is accepted");
  }
  const Json document = {{"file", options.file}, {"keys", rows}};
  print(options.json ? document.dump(2) + "\n" : text);
  return kDone;
}

void add_options(CLI::App& command, int (*run)(const KeyOptions&), Invocation& invocation) {
  const auto options = std::make_shared<KeyOptions>();
  command.add_option("file", options->file, "the key file")->required()->type_name("FILE");
  add_json_option(command, options->json);
  command.callback(
      [options, run, &invocation] { invocation.run = [options, run] { return run(*options); }; });
}

}  // namespace

void add_key_command(CLI::App& root, Invocation& invocation) {
  CLI::App* const key = root.add_subcommand("key", "make cluster keys, and show their ids");
  key->require_subcommand(1);
  key->footer(kKeyExample);
  CLI::App* const make = key->add_subcommand("generate", "make a file with a new cluster key");
  make->footer(kGenerateExample + exit_status_help("", "could not run"));
  add_options(*make, generate, invocation);
  CLI::App* const ids = key->add_subcommand("show", "print the ids of the keys in a file");
  ids->footer(kShowExample + exit_status_help("", "could not run"));
  add_options(*ids, show, invocation);
}

}  // namespace heddle::cli
