// See signature_command.h; what is signed and how is in acceptance/signature.h.
#include "apps/cli/verify/signature_command.h"

#include <fmt/format.h>

#include <memory>
#include <string>
#include <vector>

#include "acceptance/signature.h"
#include "apps/cli/command_line/exit_statuses.h"
#include "apps/cli/command_line/shared_options.h"
#include "apps/cli/json.h"
#include "apps/cli/terminal.h"
#include "base/printable.h"

namespace heddle::cli {
namespace {

constexpr const char* kExample = R"(Example:
  openssl genpkey -algorithm ed25519 -out signer.key
  openssl pkey -in signer.key -pubout -out signer.pub
  heddle verify --report rack7 --sign signer.key
  heddle verify check-signature rack7 --key signer.pub

Give the public key that its owner gave you, not the copy in the folder. Links, and files with odd
names, are listed as added. The same without heddle, with OpenSSL 3, in the folder:
  openssl pkeyutl -verify -pubin -inkey ../signer.pub -rawin -in SHA256SUMS -sigfile SHA256SUMS.sig
  sha256sum -c SHA256SUMS)";

struct CheckOptions {
  std::string folder;
  std::string key;
  bool json = false;
};

Json json_of(const CheckOptions& options, const std::string& id,
             const acceptance::SignatureCheck& check) {
  return {{"folder", options.folder},
          {"key", id},
          {"good", check.good()},
          {"signed_by_key", check.signed_by_key},
          {"other_signer", check.other_signer.empty() ? Json() : Json(check.other_signer)},
          {"changed", check.diff.changed},
          {"missing", check.diff.missing},
          {"added", check.diff.added}};
}

std::string text_of(const CheckOptions& options, const std::string& id,
                    const acceptance::SignatureCheck& check) {
  const std::string folder = printable(options.folder);
  if (check.good()) {
    return fmt::format("{}: signed by the key {}, and every file is as it was signed\n", folder,
                       id);
  }
  if (!check.other_signer.empty()) {
    return fmt::format("{}: not signed by the key {}, but by another one: {}\n", folder, id,
                       check.other_signer);
  }
  if (!check.signed_by_key) {
    return fmt::format(
        "{}: no signature by the key {}: another key signed it, or SHA256SUMS or its signature was "
        "changed\n",
        folder, id);
  }
  std::string text =
      fmt::format("{}: signed by the key {}, but it is not as it was signed\n", folder, id);
  const auto add = [&text](const char* what, const std::vector<std::string>& names) {
    for (const std::string& name : names) {
      text += fmt::format("  {:<7}  {}\n", what, printable(name));
    }
  };
  add("changed", check.diff.changed);
  add("missing", check.diff.missing);
  add("added", check.diff.added);
  return text;
}

int run_check(const CheckOptions& options) {
  const Result<acceptance::PublicKey> key = acceptance::PublicKey::read(options.key);
  if (!key) {
    print_error(key.error());
    return kCouldNotRun;
  }
  const Result<acceptance::SignatureCheck> check =
      acceptance::check_signature(options.folder, *key);
  if (!check) {
    print_error(check.error());
    return kCouldNotRun;
  }
  print(options.json ? json_of(options, key->id(), *check)
                               .dump(2, ' ', false, Json::error_handler_t::replace) +
                           "\n"
                     : text_of(options, key->id(), *check));
  return check->good() ? kDone : kFoundWrong;
}

}  // namespace

void add_signature_command(CLI::App& verify, Invocation& invocation) {
  CLI::App* const command = verify.add_subcommand(
      "check-signature", "check whether a report is as it was signed by --sign");
  command->footer(kExample + exit_status_help("not signed by this key, or not as it was signed",
                                              "no signature, or no such key"));
  const auto options = std::make_shared<CheckOptions>();
  command->add_option("folder", options->folder, "the folder of --report")
      ->type_name("FOLDER")
      ->required();
  command->add_option("--key", options->key, "the signer's public key, a PEM file of Ed25519")
      ->type_name("FILE")
      ->required();
  add_json_option(*command, options->json);
  command->callback(
      [options, &invocation] { invocation.run = [options] { return run_check(*options); }; });
}

}  // namespace heddle::cli
