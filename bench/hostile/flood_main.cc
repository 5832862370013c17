// heddle-bench-flood: an attacker that records a connection on an interface and then floods one of
// its ends at a steady rate: garbage, recorded packets, and recorded packets with unused numbers
// and wrong authentication tags. It counts the datagrams sent back to it.
#include <arpa/inet.h>
#include <fcntl.h>
#include <fmt/core.h>
#include <netinet/ip.h>
#include <netinet/udp.h>
#include <sched.h>
#include <sys/socket.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <array>
#include <chrono>
#include <cstring>
#include <nlohmann/json.hpp>
#include <system_error>
#include <thread>

#include "base/random.h"
#include "bench/hostile/capture.h"

namespace heddle::bench {
namespace {

using Clock = std::chrono::steady_clock;
constexpr size_t kRecorded = 1000;
constexpr auto kSlice = std::chrono::milliseconds(1);
constexpr uint32_t kMostASlice = 256;
constexpr auto kPatience = std::chrono::seconds(20);

struct Arguments {
  std::string record_on;  // interface in the initial namespace
  std::string enter;      // the namespace from which it floods
  std::string listen_on;  // interface there on which replies would arrive
  std::string to;         // address of the flooded end
  uint16_t port = 0;
  uint32_t rate = 50'000;
  double seconds = 2;
  uint32_t record_ms = 200;
  bool quiet_first = false;  // prints "recorded" and waits for a line before it floods
};

class Flood {
 public:
  explicit Flood(const Arguments& arguments) : arguments_(arguments) {
    inet_pton(AF_INET, arguments.to.c_str(), &to_);
  }

  // Records datagrams to the flooded end, for a while from the first one.
  void record() {
    Capture capture(arguments_.record_on);
    fmt::print("records\n");
    std::fflush(stdout);
    auto end = Clock::now() + kPatience;
    while (Clock::now() < end) {
      for (Datagram& datagram : capture.take(20)) {
        if (datagram.to != to_ || datagram.to_port != htons(arguments_.port)) continue;
        if (recorded_.empty()) {
          end = Clock::now() + std::chrono::milliseconds(arguments_.record_ms);
        }
        if (recorded_.size() < kRecorded) recorded_.push_back(std::move(datagram));
      }
    }
    if (recorded_.empty()) throw std::runtime_error("nothing passed that could be recorded");
  }

  nlohmann::ordered_json run() {
    Capture back(arguments_.listen_on);
    descriptor_ = ::socket(AF_INET, SOCK_RAW | SOCK_CLOEXEC, IPPROTO_RAW);
    if (descriptor_ < 0) throw std::system_error(errno, std::generic_category(), "raw socket");
    const auto began = Clock::now();
    const auto end = began + std::chrono::duration<double>(arguments_.seconds);
    auto now = began;
    for (auto next = began; now < end; next += kSlice) {
      std::this_thread::sleep_until(next);
      now = Clock::now();
      const double due = std::chrono::duration<double>(now - began).count() * arguments_.rate;
      while (sent_ < static_cast<uint64_t>(due)) {
        const auto count = std::min<uint64_t>(static_cast<uint64_t>(due) - sent_, kMostASlice);
        if (!send(static_cast<uint32_t>(count))) break;
      }
      for (const Datagram& datagram : back.take(0)) answers_ += datagram.from == to_ ? 1 : 0;
    }
    std::this_thread::sleep_for(std::chrono::milliseconds(100));
    for (const Datagram& datagram : back.take(0)) answers_ += datagram.from == to_ ? 1 : 0;
    ::close(descriptor_);
    const double took = std::chrono::duration<double>(now - began).count();
    return {{"packets", sent_},
            {"packets_per_s", static_cast<double>(sent_) / took},
            {"recorded", recorded_.size()},
            {"answers", answers_}};
  }

 private:
  static constexpr size_t kHeaders = sizeof(iphdr) + sizeof(udphdr);

  // Makes one packet, of each kind in turn.
  void make(std::vector<uint8_t>& packet) {
    Datagram made;
    const Datagram& known = recorded_[random_.below(recorded_.size())];
    const uint64_t kind = sent_kinds_++ % 3;
    if (kind == 0) {
      made.payload.resize(random_.between(1, 600));
      for (uint8_t& byte : made.payload) byte = static_cast<uint8_t>(random_.next());
      // Often with a valid first byte, which passes the first check.
      if (random_.below(2) == 0) made.payload[0] = static_cast<uint8_t>(0x11 + random_.below(10));
      made.from = htonl(0x0a4d0900U + static_cast<uint32_t>(random_.between(2, 250)));
      made.from_port = static_cast<uint16_t>(random_.between(1024, 65'535));
    } else {
      made = known;
    }
    if (kind == 2 && made.payload.size() > 40) {
      made.payload[10] ^= static_cast<uint8_t>(random_.between(1, 15));  // a number far ahead
      made.payload.back() ^= static_cast<uint8_t>(random_.between(1, 255));
    }
    iphdr ip{};
    ip.version = 4;
    ip.ihl = sizeof ip / 4;
    ip.ttl = 64;
    ip.protocol = IPPROTO_UDP;
    ip.saddr = made.from;
    ip.daddr = to_;
    udphdr udp{};
    udp.source = made.from_port;
    udp.dest = htons(arguments_.port);
    udp.len = htons(static_cast<uint16_t>(sizeof udp + made.payload.size()));
    packet.resize(kHeaders + made.payload.size());
    std::memcpy(packet.data(), &ip, sizeof ip);
    std::memcpy(packet.data() + sizeof ip, &udp, sizeof udp);
    std::memcpy(packet.data() + kHeaders, made.payload.data(), made.payload.size());
  }

  bool send(uint32_t count) {
    sockaddr_in to{};
    to.sin_family = AF_INET;
    to.sin_addr.s_addr = to_;
    for (uint32_t i = 0; i < count; ++i) {
      make(packets_[i]);
      vectors_[i] = {packets_[i].data(), packets_[i].size()};
      messages_[i] = {};
      messages_[i].msg_hdr.msg_name = &to;
      messages_[i].msg_hdr.msg_namelen = sizeof to;
      messages_[i].msg_hdr.msg_iov = &vectors_[i];
      messages_[i].msg_hdr.msg_iovlen = 1;
    }
    const int sent = sendmmsg(descriptor_, messages_.data(), count, 0);
    if (sent <= 0) return false;
    sent_ += static_cast<uint64_t>(sent);
    return true;
  }

  const Arguments& arguments_;
  uint32_t to_ = 0;
  int descriptor_ = -1;
  Random random_{7};
  std::vector<Datagram> recorded_;
  std::array<std::vector<uint8_t>, kMostASlice> packets_;
  std::array<iovec, kMostASlice> vectors_{};
  std::array<mmsghdr, kMostASlice> messages_{};
  uint64_t sent_ = 0;
  uint64_t sent_kinds_ = 0;
  uint64_t answers_ = 0;
};

void enter(const std::string& name) {
  const int space = ::open(("/run/netns/" + name).c_str(), O_RDONLY | O_CLOEXEC);
  if (space < 0 || setns(space, CLONE_NEWNET) != 0) {
    throw std::system_error(errno, std::generic_category(), "cannot enter namespace " + name);
  }
  ::close(space);
}

int run(const Arguments& arguments) {
  Flood flood(arguments);
  flood.record();
  if (arguments.quiet_first) {
    fmt::print("recorded\n");
    std::fflush(stdout);
    std::string line;
    std::getline(std::cin, line);
  }
  enter(arguments.enter);
  fmt::print("{}\n", flood.run().dump());
  return 0;
}

}  // namespace
}  // namespace heddle::bench

int main(int argc, char** argv) {
  using heddle::bench::Arguments;
  CLI::App app{"floods one end of a recorded conversation"};
  Arguments a;
  app.add_option("--record-on", a.record_on, "interface here whose traffic is recorded")
      ->required();
  app.add_option("--record-ms", a.record_ms, "for so long from the first datagram on");
  app.add_option("--enter", a.enter, "network namespace to flood from")->required();
  app.add_option("--listen-on", a.listen_on, "interface there; answers are counted")->required();
  app.add_option("--to", a.to, "IPv4 address that is flooded")->required();
  app.add_option("--port", a.port, "and its UDP port")->required();
  app.add_option("--rate", a.rate, "packets a second");
  app.add_option("--seconds", a.seconds, "for so long");
  app.add_flag("--wait", a.quiet_first, "say 'recorded', and wait for a line before flooding");
  CLI11_PARSE(app, argc, argv);
  try {
    return heddle::bench::run(a);
  } catch (const std::exception& error) {
    fmt::print(stderr, "heddle-bench-flood: {}\n", error.what());
    return 2;
  }
}
