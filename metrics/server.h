// Server: shows metrics to Prometheus, and other pages, over HTTP/1.1, from a thread of its own, to
// all that can reach its port. `heddle verify --metrics` and `heddle monitor --serve` have one.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "base/nanos.h"
#include "base/result.h"
#include "metrics/exposition.h"

namespace heddle::metrics {

struct ListenAddress {
  std::string address = "127.0.0.1";  // IPv4 or IPv6, in digits
  uint16_t port = 0;                  // 0: the system chooses
};

// "9000", "0.0.0.0:9000", "[::1]:9000". Errors: kInvalid.
Result<ListenAddress> parse_listen_address(const std::string& text);

// What clients may take. Ranges: 1 to 1,000 connections; 1 to 60 s.
struct ServerLimits {
  // Open at once; one more takes the place of the oldest, so that silent ones keep out none. Each
  // may hold one page.
  size_t connections = 16;
  // For a request to arrive, and then for its answer to be taken.
  Nanos time = seconds(5);
};

// What is there beside the metrics.
struct Page {
  std::string path;                   // "/": in place of a line that says where the metrics are
  std::string type;                   // "application/json"
  std::function<std::string()> text;  // called by the server's thread
};

class Server {
 public:
  // Requests need this token then, as a bearer token (RFC 6750) or as the password of the user
  // "heddle" (RFC 7617); empty: none does. Before serve().
  void require_token(std::string token);

  // Called by the server's thread for each page.
  using Source = std::function<std::vector<Family>()>;

  // Listens; connections wait until serve(). Errors: kInUse, kPermission, kInvalid (no address of
  // this machine), kSystem.
  static Result<std::unique_ptr<Server>> listen(const ListenAddress& at,
                                                const ServerLimits& limits = {});
  // Ends at once, whatever clients do.
  ~Server();
  Server(const Server&) = delete;
  Server& operator=(const Server&) = delete;

  // To be called once. Until then the process has no further thread, so it may still move into
  // another user namespace. Errors: kExhausted.
  Result<void> serve(Source source, std::vector<Page> pages = {});

  uint16_t port() const;
  std::string url() const;       // "http://127.0.0.1:9000/metrics"
  std::string root_url() const;  // "http://127.0.0.1:9000/"

 private:
  class Listener;
  explicit Server(std::unique_ptr<Listener> listener);

  std::unique_ptr<Listener> listener_;
};

}  // namespace heddle::metrics
