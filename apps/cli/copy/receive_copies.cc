// See receive_copies.h.
#include "apps/cli/copy/receive_copies.h"

#include <fmt/core.h>
#include <unistd.h>

#include <algorithm>
#include <memory>
#include <optional>
#include <vector>

#include "apps/cli/attachment.h"
#include "apps/cli/terminal.h"
#include "base/interrupt.h"
#include "base/quantity.h"
#include "base/version.h"
#include "copying/params.h"
#include "copying/receiver.h"
#include "copying/safe_folder.h"
#include "datapath/resolve.h"
#include "engine/message_link.h"
#include "relaying/acceptor.h"

namespace heddle::cli {
namespace {

using Receivers = std::vector<std::unique_ptr<copying::Receiver>>;

Result<void> check_keys(const Config& config, const ReceiveOptions& options) {
  if (options.without_keys || !config.text("key_file").empty()) return {};
  return fail(
      ErrorCode::kPermission, "cannot listen for copies",
      "no key_file is set, and anyone who reaches this port could write files here",
      "make a key with 'heddle key generate FILE' and set HEDDLE_KEY_FILE on both sides, or "
      "accept files from anyone with --without-keys");
}

void report(const copying::Receiver& receiver, bool quiet) {
  const copying::Store& store = receiver.store();
  if (!receiver.whole()) {
    const Error& error = receiver.error();
    print_error({error.code, fmt::format("the copy from {} is incomplete", receiver.peer()),
                 error.why.empty() ? error.what : error.message(),
                 "run it again there: it goes on with what is missing"});
  } else if (!quiet) {
    print(fmt::format("{:<22} {}, {}\n", receiver.peer(), counted_text(store.files(), "file"),
                      size_text(store.bytes())));
  }
}

// Takes the senders that have come, directly or through relays.
class CopyAcceptor {
 public:
  CopyAcceptor(engine::Endpoint& endpoint, const ReceiveOptions& options)
      : endpoint_(endpoint), options_(options) {
    if (options.relayed) relayed_.emplace(endpoint, copying::params::kMostSessions);
  }

  void accept(Receivers& receivers) {
    if (relayed_) return accept_relayed(receivers);
    while (const auto connection = endpoint_.accept(Nanos{})) {
      if (receivers.size() >= copying::params::kMostSessions) {
        endpoint_.abort(*connection);
        warn_of_full();
        continue;
      }
      receive(std::make_unique<engine::DirectLink>(endpoint_, *connection), receivers);
    }
  }

 private:
  // Connections that replace broken ones come here as well.
  void accept_relayed(Receivers& receivers) {
    const uint64_t before = relayed_->turned_away();
    while (auto link = relayed_->accept()) receive(std::move(link), receivers);
    const bool full = receivers.size() >= copying::params::kMostSessions;
    if (full && relayed_->turned_away() > before) warn_of_full();
  }
  void receive(std::unique_ptr<engine::MessageLink> link, Receivers& receivers) {
    auto receiver = copying::Receiver::make(std::move(link), {options_.folder, options_.started});
    if (receiver) {
      receivers.push_back(std::move(*receiver));
    } else {
      print_error(receiver.error());
    }
  }
  static void warn_of_full() {
    print_warning(fmt::format("a sender was turned away: {} copies run already",
                              copying::params::kMostSessions));
  }

  engine::Endpoint& endpoint_;
  const ReceiveOptions& options_;
  std::optional<relaying::Acceptor> relayed_;
};

// A receiver that a sender started ends with it.
bool was_left(const ReceiveOptions& options, pid_t parent) {
  return options.started && getppid() != parent;
}

int serve(engine::Endpoint& endpoint, const ReceiveOptions& options) {
  CopyAcceptor acceptor(endpoint, options);
  Receivers receivers;
  bool all_whole = true;
  bool served = false;
  const pid_t parent = getppid();
  while (interrupted() == 0 && !was_left(options, parent)) {
    endpoint.progress(copying::params::kSlice);
    const auto is_over = [&](const std::unique_ptr<copying::Receiver>& receiver) {
      if (receiver->step()) return false;
      report(*receiver, options.started);
      all_whole = all_whole && receiver->whole();
      return true;
    };
    std::erase_if(receivers, is_over);
    acceptor.accept(receivers);
    served = served || !receivers.empty();
    if (options.once && served && receivers.empty()) break;
  }
  if (interrupted() != 0) return interrupted_exit_status();
  return all_whole ? kDone : kCouldNotRun;
}

Result<int> open_and_serve(const Config& config, const ReceiveOptions& options) {
  if (Result<void> keyed = check_keys(config, options); !keyed) return fail(keyed.error());
  // One that a sender started makes the folder where there is none, unless it is for a dry run.
  const auto folder = copying::SafeFolder::open(options.folder, false);
  const bool missing = !folder && folder.error().code == ErrorCode::kUnavailable;
  if (!folder && !(options.started && missing)) return fail(folder.error());
  if (folder && access(options.folder.c_str(), W_OK | X_OK) != 0) {
    return fail(ErrorCode::kPermission,
                fmt::format("cannot write in the folder {}", copying::quoted_path(options.folder)),
                "its permissions do not allow it", "name a folder that you may write");
  }
  catch_interrupts();
  auto endpoint = options.started ? attach_server(config, 0) : attach_server(config);
  if (!endpoint) return fail(endpoint.error());
  print(fmt::format("heddle {} receives on {}\n", kVersion,
                    datapath::to_text((*endpoint)->local_address())));
  return serve(**endpoint, options);
}

}  // namespace

int receive_copies(const Config& config, const ReceiveOptions& options) {
  const Result<int> status = open_and_serve(config, options);
  if (status) return *status;
  print_error(status.error());
  return kCouldNotRun;
}

}  // namespace heddle::cli
