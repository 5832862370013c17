// See live_page.h.
#include "apps/cli/monitor/live_page.h"

#include <utility>

#include "apps/cli/json.h"
#include "apps/cli/pages/pages.h"
#include "apps/cli/terminal.h"
#include "metrics/bearer_token.h"

namespace heddle::cli {
namespace {

// A page without a token is for all that reach the address, which the caller has chosen.
Result<std::unique_ptr<metrics::Server>> listen(const metrics::ListenAddress& address,
                                                const std::string& token_file) {
  if (!token_file.empty()) return metrics::listen_with_token(address, token_file);
  if (!metrics::is_loopback(address)) {
    print_warning("all that reach " + address.address +
                  " can read the page: no token is asked for; --token-file FILE gives one");
  }
  return metrics::Server::listen(address);
}

}  // namespace

Result<std::unique_ptr<metrics::Server>> serve(const LivePage& page) {
  if (page.address.empty()) return std::unique_ptr<metrics::Server>();
  const Result<metrics::ListenAddress> address = metrics::parse_listen_address(page.address);
  if (!address) return fail(address.error());
  Result<std::unique_ptr<metrics::Server>> server = listen(*address, page.token_file);
  if (!server) return fail(std::move(server).error());
  const std::string text = fill_page(page.page, page.title + " - heddle monitor", Json());
  const Result<void> served =
      (*server)->serve(page.families, {{"/", "text/html; charset=utf-8", [text] { return text; }},
                                       {"/state.json", "application/json", page.state}});
  if (!served) return fail(served.error());
  print_progress("the page is at " + (*server)->root_url());
  return server;
}

}  // namespace heddle::cli
