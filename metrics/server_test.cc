// The server over real sockets of loopback: pages, refusals, and clients that are slow, silent,
// many or gone.
#include "metrics/server.h"

#include <arpa/inet.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <signal.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <chrono>
#include <cstring>
#include <thread>

#include "base/descriptor.h"
#include "base/testing/no_more_threads.h"

namespace heddle::metrics {
namespace {

using std::chrono::steady_clock;

// A client that does what it is made to do.
class Client {
 public:
  explicit Client(uint16_t port) : socket_(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
    sockaddr_in at{};
    at.sin_family = AF_INET;
    at.sin_port = htons(port);
    inet_pton(AF_INET, "127.0.0.1", &at.sin_addr);
    const timeval most{.tv_sec = 30, .tv_usec = 0};  // far above what anything takes that works
    setsockopt(socket_.number(), SOL_SOCKET, SO_RCVTIMEO, &most, sizeof(most));
    connected_ = connect(socket_.number(), reinterpret_cast<sockaddr*>(&at), sizeof(at)) == 0;
  }
  bool connected() const { return connected_; }
  bool send(const std::string& text) const {
    return ::send(socket_.number(), text.data(), text.size(), MSG_NOSIGNAL) ==
           static_cast<ssize_t>(text.size());
  }
  // Until the server closes.
  std::string read() const {
    std::string text;
    std::array<char, 4096> some{};
    for (;;) {
      const ssize_t got = recv(socket_.number(), some.data(), some.size(), 0);
      if (got <= 0) return got < 0 ? text + "<" + std::strerror(errno) + ">" : text;
      text.append(some.data(), static_cast<size_t>(got));
    }
  }

 private:
  Descriptor socket_;
  bool connected_ = false;
};

std::string ask(uint16_t port, const std::string& request) {
  const Client client(port);
  return client.connected() && client.send(request) ? client.read() : "no connection";
}

std::string get(uint16_t port, const std::string& path = "/metrics") {
  return ask(port, "GET " + path + " HTTP/1.1\r\nHost: x\r\n\r\n");
}

bool begins(const std::string& text, const std::string& with) { return text.rfind(with, 0) == 0; }

std::vector<Family> one_family() { return {{"x_up", "Up.", Type::kGauge, {{{{"l", "v"}}, 1}}}}; }

std::unique_ptr<Server> serving(const ServerLimits& limits = {},
                                Server::Source source = one_family) {
  Result<std::unique_ptr<Server>> server = Server::listen({}, limits);
  EXPECT_TRUE(server);
  EXPECT_TRUE((*server)->serve(std::move(source)));
  return std::move(*server);
}

TEST(Server, ServesMetrics) {
  const auto server = serving();
  const std::string answer = get(server->port());
  EXPECT_TRUE(begins(answer, "HTTP/1.1 200 OK\r\n")) << answer;
  EXPECT_NE(answer.find("\r\nContent-Type: text/plain; version=0.0.4; charset=utf-8\r\n"),
            std::string::npos);
  EXPECT_EQ(answer.substr(answer.find("\r\n\r\n") + 4),
            "# HELP x_up Up.\n# TYPE x_up gauge\nx_up{l=\"v\"} 1\n");
  EXPECT_NE(answer.find("\r\nContent-Length: 48\r\n"), std::string::npos) << answer;
  EXPECT_EQ(get(server->port(), "/metrics?a=b").substr(9, 3), "200");
  EXPECT_EQ(server->url(), "http://127.0.0.1:" + std::to_string(server->port()) + "/metrics");
}

TEST(Server, AnswersHeadWithoutBody) {
  const auto server = serving();
  const std::string answer = ask(server->port(), "HEAD /metrics HTTP/1.1\r\nHost: x\r\n\r\n");
  EXPECT_TRUE(begins(answer, "HTTP/1.1 200 OK\r\n")) << answer;
  EXPECT_NE(answer.find("\r\nContent-Length: 48\r\n"), std::string::npos);
  EXPECT_EQ(answer.substr(answer.size() - 4), "\r\n\r\n");
}

TEST(Server, TakesTheAbsoluteFormOfItsPath) {
  const auto server = serving();
  EXPECT_TRUE(begins(get(server->port(), "http://node1:18704/metrics"), "HTTP/1.1 200 OK"));
  EXPECT_TRUE(begins(get(server->port(), "http://node1"), "HTTP/1.1 404"));
}

TEST(Server, RefusesOtherPathsMethodsAndWhatIsNoRequest) {
  const auto server = serving();
  const auto status = [&](const std::string& request) {
    return ask(server->port(), request).substr(9, 3);
  };
  EXPECT_NE(get(server->port(), "/").find("are at /metrics\n"), std::string::npos);
  EXPECT_EQ(status("GET /metrics/ HTTP/1.1\r\n\r\n"), "404");
  EXPECT_EQ(status("GET /../etc/passwd HTTP/1.1\r\n\r\n"), "404");
  EXPECT_EQ(status("DELETE /metrics HTTP/1.1\r\n\r\n"), "405");
  const std::string post =
      ask(server->port(),
          "POST /metrics HTTP/1.1\r\nContent-Length: 20000\r\n\r\n" + std::string(20000, 'x'));
  EXPECT_TRUE(begins(post, "HTTP/1.1 405 ")) << post;
  EXPECT_NE(post.find("\r\nAllow: GET, HEAD\r\n"), std::string::npos);
  EXPECT_EQ(status("\x16\x03\x01 hello\r\n\r\n"), "400");
  EXPECT_EQ(status("GET /metrics\r\n\r\n"), "400");
  EXPECT_EQ(status("GET /metrics HTTP/9.9\r\n\r\n"), "400");
  EXPECT_EQ(status("GET /metrics HTTP/1.1\r\nno field\r\n\r\n"), "400");
}

TEST(Server, RefusesARequestThatIsTooLong) {
  const auto server = serving();
  const std::string field = "X-Long: " + std::string(40'000, 'x') + "\r\n";
  const std::string answer = ask(server->port(), "GET /metrics HTTP/1.1\r\n" + field + "\r\n");
  EXPECT_TRUE(begins(answer, "HTTP/1.1 400 ")) << answer;
  EXPECT_EQ(get(server->port(), "/" + std::string(40'000, 'x')).substr(9, 3), "400");
  EXPECT_EQ(get(server->port()).substr(9, 3), "200");
}

TEST(Server, AnswersWhatComesByteByByte) {
  const auto server = serving();
  const Client client(server->port());
  for (const char each : std::string("GET /metrics HTTP/1.1\r\nHost: x\r\n\r\n")) {
    ASSERT_TRUE(client.send({&each, 1}));
  }
  EXPECT_TRUE(begins(client.read(), "HTTP/1.1 200 OK\r\n"));
}

TEST(Server, ClosesSilentAndSlowClientsInTime) {
  const auto server = serving({.connections = 16, .time = seconds(1)});
  const Client silent(server->port());
  const Client slow(server->port());
  ASSERT_TRUE(slow.send("GET /metr"));
  EXPECT_EQ(silent.read(), "");
  EXPECT_EQ(slow.read(), "");
}

TEST(Server, SilentClientsKeepOutNone) {
  const auto server = serving({.connections = 4, .time = seconds(600)});
  std::vector<std::unique_ptr<Client>> silent;
  for (int i = 0; i < 40; ++i) silent.push_back(std::make_unique<Client>(server->port()));
  EXPECT_TRUE(begins(get(server->port()), "HTTP/1.1 200 OK\r\n"));
  EXPECT_EQ(silent.front()->read(), "");  // the oldest was closed
}

TEST(Server, ServesManyClientsAtOnce) {
  std::atomic<int> pages{0};
  const auto server = serving({}, [&] {
    ++pages;
    return one_family();
  });
  std::vector<std::thread> clients;
  std::atomic<int> answered{0};
  for (int i = 0; i < 8; ++i) {
    clients.emplace_back([&] {
      for (int each = 0; each < 50; ++each) {
        if (begins(get(server->port()), "HTTP/1.1 200 OK\r\n")) ++answered;
      }
    });
  }
  for (std::thread& each : clients) each.join();
  EXPECT_EQ(answered, 400);
  EXPECT_EQ(pages, 400);
}

TEST(Server, EndsAtOnceWhateverClientsDo) {
  std::vector<Family> large = one_family();
  large.front().help = std::string(20'000'000, 'x');  // more than sockets hold
  auto server = serving({.connections = 16, .time = seconds(600)}, [&] { return large; });
  const Client silent(server->port());
  const Client takes_nothing(server->port());
  ASSERT_TRUE(takes_nothing.send("GET /metrics HTTP/1.1\r\n\r\n"));
  EXPECT_TRUE(begins(get(server->port(), "/"), "HTTP/1.1 200 OK\r\n"));
  const uint16_t port = server->port();
  const auto start = steady_clock::now();
  server.reset();
  EXPECT_LT(steady_clock::now() - start, std::chrono::seconds(300));
  EXPECT_EQ(silent.read(), "");
  EXPECT_FALSE(Client(port).connected());
}

TEST(Server, AClientThatLeavesEndsNothing) {
  std::vector<Family> large = one_family();
  large.front().help = std::string(10'000'000, 'x');
  const auto server = serving({}, [&] { return large; });
  for (int i = 0; i < 10; ++i) {
    const Client client(server->port());
    ASSERT_TRUE(client.send("GET /metrics HTTP/1.1\r\n\r\n"));
  }  // writing to one that has gone would be SIGPIPE
  EXPECT_TRUE(begins(get(server->port(), "/"), "HTTP/1.1 200 OK\r\n"));
}

TEST(Server, ReportsADefectAsAnError) {
  const auto server = serving({}, [] { return std::vector<Family>{{"no name", "", {}, {}}}; });
  EXPECT_TRUE(begins(get(server->port()), "HTTP/1.1 500 "));
}

TEST(Server, ItsThreadTakesNoSignals) {
  sigset_t seen;
  sigemptyset(&seen);
  auto server = serving({}, [&] {
    pthread_sigmask(SIG_BLOCK, nullptr, &seen);
    return one_family();
  });
  get(server->port());
  server.reset();  // its thread has ended
  for (const int each : {SIGINT, SIGTERM, SIGHUP, SIGCHLD}) EXPECT_EQ(sigismember(&seen, each), 1);
}

TEST(Server, ConnectionsWaitUntilItServes) {
  Result<std::unique_ptr<Server>> server = Server::listen({});
  ASSERT_TRUE(server);
  const Client early((*server)->port());
  ASSERT_TRUE(early.send("GET / HTTP/1.1\r\n\r\n"));
  ASSERT_TRUE((*server)->serve(one_family));
  EXPECT_TRUE(begins(early.read(), "HTTP/1.1 200 OK\r\n"));
}

TEST(Server, SaysWhyItCannotListen) {
  const auto server = serving();
  const auto second = Server::listen({"127.0.0.1", server->port()});
  ASSERT_FALSE(second);
  EXPECT_EQ(second.error().code, ErrorCode::kInUse);
  EXPECT_EQ(second.error().what,
            "cannot serve metrics on 127.0.0.1 port " + std::to_string(server->port()));
  EXPECT_EQ(second.error().why, "another program listens there");
  EXPECT_NE(second.error().todo, "");
  const auto elsewhere = Server::listen({"192.0.2.1", 0});
  ASSERT_FALSE(elsewhere);
  EXPECT_EQ(elsewhere.error().why, "this machine has no such address");
  EXPECT_FALSE(Server::listen({"localhost", 0}));
}

TEST(Server, SaysThatThereCanBeNoThread) {
  Result<std::unique_ptr<Server>> server = Server::listen({});
  ASSERT_TRUE(server);
  const NoMoreThreads none;
  const Result<void> served = (*server)->serve(one_family);
  ASSERT_FALSE(served);
  EXPECT_EQ(served.error().code, ErrorCode::kExhausted);
}

TEST(Server, ItsSocketsAreClosedOnExec) {
  const auto server = serving();
  const Client client(server->port());
  EXPECT_TRUE(begins(get(server->port(), "/"), "HTTP/1.1 200 OK\r\n"));  // and both are accepted
  const auto descriptors = [](const std::string& options) {
    return std::system(("for each in /proc/self/fd/*; do readlink $each; done " + options).c_str());
  };
  EXPECT_NE(descriptors("| grep -q socket:"), 0);
}

TEST(ListenAddress, IsAPortOrAnAddressWithOne) {
  const auto parsed = [](const std::string& text) {
    const auto at = parse_listen_address(text);
    return at ? at->address + " " + std::to_string(at->port) : "";
  };
  EXPECT_EQ(parsed("9000"), "127.0.0.1 9000");
  EXPECT_EQ(parsed("0"), "127.0.0.1 0");
  EXPECT_EQ(parsed("0.0.0.0:65535"), "0.0.0.0 65535");
  EXPECT_EQ(parsed("[::1]:9000"), "::1 9000");
  for (const char* const text :
       {"", ":", "x", "65536", "-1", "9000x", " 9000", "1.2.3:9000", "::1:9000", "[::1]",
        "[1.2.3.4]:9000", "localhost:9000", "0.0.0.0:", "[]:1", "9000:"}) {
    EXPECT_EQ(parsed(text), "") << text;
  }
}

}  // namespace
}  // namespace heddle::metrics
