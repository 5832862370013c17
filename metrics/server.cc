// See server.h. Boost.Beast reads requests and writes answers; one thread runs all connections.
// Sockets are closed on exec, and shut down before they are closed: children of this process that
// were forked meanwhile have copies.
#include "metrics/server.h"

#include <fmt/format.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/beast/core.hpp>
#include <boost/beast/core/detail/base64.hpp>
#include <boost/beast/http.hpp>
#include <cerrno>
#include <charconv>
#include <chrono>
#include <cstring>
#include <deque>
#include <optional>
#include <string_view>
#include <utility>

#include "base/thread.h"
#include "metrics/params.h"

namespace heddle::metrics {
namespace {

namespace asio = boost::asio;
namespace beast = boost::beast;
namespace http = boost::beast::http;
using asio::ip::tcp;

constexpr const char* kUser = "heddle";

std::chrono::nanoseconds chrono_of(Nanos span) { return std::chrono::nanoseconds(span.count); }

Unexpected cannot_listen(const tcp::endpoint& at, int error) {
  const std::string what =
      fmt::format("cannot serve metrics on {} port {}", at.address().to_string(), at.port());
  const std::string why = std::strerror(error);
  switch (error) {
    case EADDRINUSE:
      return fail(ErrorCode::kInUse, what, "another program listens there",
                  "choose another port, or port 0 for one that is free");
    case EACCES:
      return fail(ErrorCode::kPermission, what, why, "choose a port above 1023");
    case EADDRNOTAVAIL:
    case EAFNOSUPPORT:
      return fail(ErrorCode::kInvalid, what, "this machine has no such address",
                  "give one that `ip address` shows, or 0.0.0.0 for all");
    default:
      return fail(ErrorCode::kSystem, what, why, "see `ulimit -n`");
  }
}

Result<int> listening_socket(const tcp::endpoint& at) {
  const int made = socket(at.protocol().family(), SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
  if (made < 0) return cannot_listen(at, errno);
  const int yes = 1;
  if (setsockopt(made, SOL_SOCKET, SO_REUSEADDR, &yes, sizeof(yes)) == 0 &&
      bind(made, at.data(), static_cast<socklen_t>(at.size())) == 0 &&
      listen(made, SOMAXCONN) == 0) {
    return made;
  }
  const int error = errno;
  close(made);
  return cannot_listen(at, error);
}

struct Answer {
  http::status status = http::status::ok;
  std::string type = "text/plain; charset=utf-8";
  std::string text;
};

Answer metrics_page(const Server::Source& source) {
  const Result<std::string> text = exposition_of(source());
  if (text) return {.type = kContentType, .text = *text};
  return {.status = http::status::internal_server_error, .text = text.error().message() + "\n"};
}

struct Site {
  Server::Source metrics;
  std::vector<Page> pages;
  std::string token;        // empty: none is needed
  std::string basic_token;  // user and token, as a browser sends them (RFC 7617)
};

std::string basic_of(const std::string& text) {
  std::string encoded(beast::detail::base64::encoded_size(text.size()), '\0');
  encoded.resize(beast::detail::base64::encode(encoded.data(), text.data(), text.size()));
  return encoded;
}

// In a time that does not depend on where they differ.
bool is_equal(std::string_view given, std::string_view wanted) {
  if (given.size() != wanted.size()) return false;
  unsigned int different = 0;
  for (size_t i = 0; i < given.size(); ++i) {
    different |= static_cast<unsigned char>(given[i]) ^ static_cast<unsigned char>(wanted[i]);
  }
  return different == 0;
}

// Programs send the token as it is; of a browser's question for user and password, it is the
// password.
bool is_allowed(std::string_view authorization, const Site& site) {
  constexpr std::string_view kBearer = "Bearer ";
  constexpr std::string_view kBasic = "Basic ";
  if (site.token.empty()) return true;
  if (authorization.starts_with(kBearer)) {
    return is_equal(authorization.substr(kBearer.size()), site.token);
  }
  if (!authorization.starts_with(kBasic)) return false;
  return is_equal(authorization.substr(kBasic.size()), site.basic_token);
}

Answer answer_to(http::verb method, std::string_view target, const Site& site) {
  if (method != http::verb::get && method != http::verb::head) {
    return {.status = http::status::method_not_allowed, .text = "only GET and HEAD\n"};
  }
  if (target.starts_with("http://")) {  // the absolute form, as proxies are asked
    target.remove_prefix(std::min(target.find('/', 7), target.size()));
  }
  const std::string_view path = target.substr(0, target.find('?'));
  if (path == "/metrics") return metrics_page(site.metrics);
  for (const Page& each : site.pages) {
    if (path == each.path) return {.type = each.type, .text = each.text()};
  }
  if (path == "/") return {.text = "heddle: metrics for Prometheus are at /metrics\n"};
  return {.status = http::status::not_found, .text = "metrics are at /metrics\n"};
}

// One request and its answer.
class Connection : public std::enable_shared_from_this<Connection> {
 public:
  Connection(tcp::socket socket, const Site& site, Nanos time)
      : stream_(std::move(socket)), site_(site), time_(time) {
    parser_.header_limit(params::kMostRequestBytes);
  }
  ~Connection() { close(); }
  Connection(const Connection&) = delete;
  Connection& operator=(const Connection&) = delete;

  void start() {
    stream_.expires_after(chrono_of(time_));
    http::async_read_header(
        stream_, buffer_, parser_,
        [self = shared_from_this()](beast::error_code error, size_t) { self->on_header(error); });
  }

  void close() {
    beast::error_code ignored;
    stream_.socket().shutdown(tcp::socket::shutdown_both, ignored);
    stream_.close();
  }

 private:
  void on_header(beast::error_code error) {
    const bool malformed =
        error && error.category() == beast::error_code(http::error::bad_method).category() &&
        error != http::error::end_of_stream && error != http::error::partial_message;
    if (error && !malformed) return;  // it has gone, or was too slow
    if (malformed) {
      answer({.status = http::status::bad_request, .text = "this is no request\n"}, false);
      return;
    }
    const beast::string_view given = parser_.get()[http::field::authorization];
    if (!is_allowed({given.data(), given.size()}, site_)) {
      answer(
          {.status = http::status::unauthorized,
           .text =
               "this needs the token: as a bearer token, or as the password of the user heddle\n"},
          false);
      return;
    }
    const http::verb method = parser_.get().method();
    const beast::string_view target = parser_.get().target();
    answer(answer_to(method, {target.data(), target.size()}, site_), method == http::verb::head);
  }

  void answer(Answer page, bool head_only) {
    answer_.version(11);
    answer_.result(page.status);
    answer_.keep_alive(false);
    answer_.set(http::field::content_type, page.type);
    answer_.set(http::field::cache_control, "no-store");
    answer_.set("X-Content-Type-Options", "nosniff");
    if (page.status == http::status::method_not_allowed) {
      answer_.set(http::field::allow, "GET, HEAD");
    }
    if (page.status == http::status::unauthorized) {
      answer_.set(http::field::www_authenticate, "Basic realm=\"heddle\"");
    }
    answer_.body() = std::move(page.text);
    answer_.prepare_payload();
    stream_.expires_after(chrono_of(time_));
    const auto then = [self = shared_from_this()](beast::error_code error, size_t /*bytes*/) {
      if (!error) self->finish();
    };
    serializer_.emplace(answer_);
    if (head_only) {
      http::async_write_header(stream_, *serializer_, then);
    } else {
      http::async_write(stream_, *serializer_, then);
    }
  }

  // Reads what the client still sends, a body too: closing before would reset the answer in flight.
  void finish() {
    beast::error_code ignored;
    stream_.socket().shutdown(tcp::socket::shutdown_send, ignored);
    ignore_rest();
  }

  void ignore_rest() {
    stream_.async_read_some(asio::buffer(ignored_bytes_),
                            [self = shared_from_this()](beast::error_code error, size_t bytes) {
                              self->ignored_ += bytes;
                              if (!error && self->ignored_ < params::kMostIgnoredBytes)
                                self->ignore_rest();
                            });
  }

  beast::tcp_stream stream_;
  const Site& site_;
  Nanos time_;
  beast::flat_buffer buffer_{2 * params::kMostRequestBytes};
  http::request_parser<http::empty_body> parser_;
  http::response<http::string_body> answer_;
  std::optional<http::response_serializer<http::string_body>> serializer_;
  std::array<char, 4096> ignored_bytes_{};
  size_t ignored_ = 0;
};

}  // namespace

class Server::Listener {
 public:
  // Takes the socket.
  Listener(const ServerLimits& limits, tcp protocol, int listening)
      : limits_(limits), protocol_(protocol), acceptor_(io_, protocol, listening), pause_(io_) {}
  ~Listener() {
    io_.stop();
    if (thread_.joinable()) thread_.join();
    shutdown(acceptor_.native_handle(), SHUT_RDWR);
    for (const auto& each : connections_) {
      if (const auto connection = each.lock()) connection->close();
    }
  }
  Listener(const Listener&) = delete;
  Listener& operator=(const Listener&) = delete;

  void require_token(std::string token) {
    site_.basic_token = token.empty() ? "" : basic_of(kUser + (":" + token));
    site_.token = std::move(token);
  }

  Result<void> serve(Server::Source metrics, std::vector<Page> pages) {
    site_.metrics = std::move(metrics);
    site_.pages = std::move(pages);
    wait_for_connections();
    Result<Thread> thread = start_thread("metrics", [this] { io_.run(); });
    if (!thread) return fail(std::move(thread).error());
    thread_ = std::move(*thread);
    return {};
  }

  tcp::endpoint endpoint() const { return acceptor_.local_endpoint(); }

 private:
  void wait_for_connections() {
    acceptor_.async_wait(tcp::acceptor::wait_read, [this](beast::error_code error) {
      if (error) return;
      while (accept_one()) continue;
      if (errno == EAGAIN || errno == EWOULDBLOCK) {
        wait_for_connections();
        return;
      }
      pause_.expires_after(params::kNoDescriptorPause);  // no descriptors, or no memory
      pause_.async_wait([this](beast::error_code) { wait_for_connections(); });
    });
  }

  // Whether there may be one more; else errno says why not.
  bool accept_one() {
    const int accepted =
        accept4(acceptor_.native_handle(), nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK);
    if (accepted < 0) return errno == ECONNABORTED || errno == EINTR;
    tcp::socket socket(io_);
    beast::error_code error;
    socket.assign(protocol_, accepted, error);
    if (error) {
      close(accepted);
      return true;
    }
    keep(std::make_shared<Connection>(std::move(socket), site_, limits_.time));
    return true;
  }

  void keep(const std::shared_ptr<Connection>& connection) {
    std::erase_if(connections_, [](const auto& each) { return each.expired(); });
    while (connections_.size() >= limits_.connections) {
      if (const auto oldest = connections_.front().lock()) oldest->close();
      connections_.pop_front();
    }
    connections_.push_back(connection);
    connection->start();
  }

  ServerLimits limits_;
  Site site_;
  std::deque<std::weak_ptr<Connection>> connections_;  // in the order in which they came
  asio::io_context io_{1};
  tcp protocol_;
  tcp::acceptor acceptor_;
  asio::steady_timer pause_;
  Thread thread_;
};

Result<ListenAddress> parse_listen_address(const std::string& text) {
  const auto refused = [&] {
    return fail(ErrorCode::kInvalid, fmt::format("'{}' is no address to serve on", text), "",
                "write a port, or an address in digits and a port: 9000, 0.0.0.0:9000, [::]:9000");
  };
  ListenAddress made;
  const size_t colon = text.rfind(':');
  std::string_view port = text;
  if (colon != std::string::npos) {
    made.address = text.substr(0, colon);
    port.remove_prefix(colon + 1);
    const bool brackets =
        made.address.size() > 1 && made.address.front() == '[' && made.address.back() == ']';
    if (brackets) made.address = made.address.substr(1, made.address.size() - 2);
    beast::error_code error;
    const asio::ip::address address = asio::ip::make_address(made.address, error);
    if (error || address.is_v6() != brackets) return refused();
  }
  const char* const end = port.data() + port.size();
  const auto [read, failed] = std::from_chars(port.data(), end, made.port);
  if (failed != std::errc() || read != end) return refused();
  return made;
}

Result<std::unique_ptr<Server>> Server::listen(const ListenAddress& at,
                                               const ServerLimits& limits) {
  beast::error_code error;
  const tcp::endpoint endpoint(asio::ip::make_address(at.address, error), at.port);
  if (error) {
    return fail(ErrorCode::kInvalid, fmt::format("cannot serve metrics on '{}'", at.address),
                "it is no address in digits", "give one such as 127.0.0.1");
  }
  const Result<int> listening = listening_socket(endpoint);
  if (!listening) return fail(listening.error());
  return std::unique_ptr<Server>(
      new Server(std::make_unique<Listener>(limits, endpoint.protocol(), *listening)));
}

Server::Server(std::unique_ptr<Listener> listener) : listener_(std::move(listener)) {}
Server::~Server() = default;

Result<void> Server::serve(Source source, std::vector<Page> pages) {
  return listener_->serve(std::move(source), std::move(pages));
}

void Server::require_token(std::string token) { listener_->require_token(std::move(token)); }

uint16_t Server::port() const { return listener_->endpoint().port(); }

std::string Server::root_url() const {
  const tcp::endpoint at = listener_->endpoint();
  const std::string host = at.address().to_string();
  return fmt::format("http://{}:{}/", at.address().is_v6() ? "[" + host + "]" : host, at.port());
}

std::string Server::url() const { return root_url() + "metrics"; }

}  // namespace heddle::metrics
