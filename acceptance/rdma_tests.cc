// See rdma_tests.h.
#include "acceptance/rdma_tests.h"

#include <fmt/format.h>

#include <algorithm>
#include <memory>
#include <sstream>
#include <string_view>
#include <utility>
#include <vector>

#include "acceptance/params.h"
#include "base/clocks.h"
#include "base/config.h"
#include "base/latency_histogram.h"
#include "datapath/rdma_stream.h"
#include "lab/control_line.h"

namespace heddle::acceptance {
namespace {

using datapath::RdmaStream;

constexpr std::string_view kRefused = "error ";

class Server {
 public:
  Server(const lab::ControlLine& line, const OpenRdmaStream& open) : line_(line), open_(open) {}

  Result<void> run(Nanos end) {
    while (steady_now() < end) {
      if (!stream_) {
        if (!follow_next(end)) return {};
        continue;
      }
      const Result<bool> served = stream_->serve();
      if (!served) return fail(served.error());
      if (*served) continue;
      if (line_.waits()) {
        if (!follow_next(end)) return {};
      } else {
        stream_->wait(line_.descriptor(), end);
      }
    }
    return {};
  }

 private:
  bool follow_next(Nanos end) {
    std::string text;
    return line_.read(text, end) && follow(text, end);
  }

  bool follow(const std::string& text, Nanos end) {
    constexpr std::string_view kConnect = "connect ";
    if (text == "open" && !stream_) {
      Result<std::unique_ptr<RdmaStream>> made = open_();
      if (!made) return refuse(made.error(), end);
      stream_ = std::move(*made);
      return line_.send(stream_->own_end(), end);
    }
    if (stream_ && text.starts_with(kConnect)) {
      const Result<void> connected = stream_->connect(text.substr(kConnect.size()));
      return connected ? line_.send("ready", end) : refuse(connected.error(), end);
    }
    if (!stream_ || text != "count") return false;
    const datapath::RdmaArrived arrived = stream_->take_arrived();
    return line_.send(fmt::format("{} {} {}", arrived.bytes, (arrived.last - arrived.first).count,
                                  arrived.changed),
                      end);
  }

  // The client says it: this process' own output is read last.
  bool refuse(const Error& error, Nanos end) {
    std::string text = std::string(kRefused) + error.message();
    std::replace(text.begin(), text.end(), '\n', ' ');
    line_.send(text.substr(0, params::kRdmaErrorLetters), end);
    return false;
  }

  const lab::ControlLine& line_;
  const OpenRdmaStream& open_;
  std::unique_ptr<RdmaStream> stream_;
};

class Client {
 public:
  Client(std::string what, const lab::ControlLine& line, const OpenRdmaStream& open)
      : what_(std::move(what)), line_(line), open_(open) {}

  Result<RdmaResult> run(const RdmaPlan& plan) {
    if (Result<void> met = meet(); !met) return fail(met.error());
    RdmaResult result;
    const Result<double> latency = one_way_us(steady_now() + plan.latency);
    if (!latency) return fail(latency.error());
    result.us = *latency;
    if (Result<void> sent = stream_->send_until(steady_now() + plan.stream); !sent) {
      return fail(sent.error());
    }
    const Result<std::string> counted = ask("count");
    if (!counted) return fail(counted.error());
    uint64_t bytes = 0;
    uint64_t span_ns = 0;
    std::istringstream words(*counted);
    if (!(words >> bytes >> span_ns >> result.changed_bytes)) {
      return fail(ErrorCode::kVersion, what_, "the other end counts '" + *counted + "'",
                  "install the same version of heddle on both hosts");
    }
    if (span_ns > 0) {
      result.bits_per_s = static_cast<double>(bytes) * 8e9 / static_cast<double>(span_ns);
    }
    return result;
  }

 private:
  // Half of the median round trip, in microseconds.
  Result<double> one_way_us(Nanos end) {
    LatencyHistogram round_trips;
    do {
      const Result<std::vector<Nanos>> some = stream_->ping_until(end, params::kMostRdmaPings);
      if (!some) return fail(some.error());
      for (const Nanos each : *some) round_trips.add(each);
    } while (steady_now() < end);
    return static_cast<double>(round_trips.percentile(500).count) / 2e3;
  }

  Result<void> meet() {
    Result<std::unique_ptr<RdmaStream>> made = open_();
    if (!made) return fail(std::move(made).error());
    stream_ = std::move(*made);
    const Result<std::string> peer = ask("open");
    if (!peer) return fail(peer.error());
    if (Result<void> connected = stream_->connect(*peer); !connected) return connected;
    const Result<std::string> ready = ask("connect " + stream_->own_end());
    return ready ? Result<void>() : fail(ready.error());
  }

  Result<std::string> ask(const std::string& text) {
    const Nanos end = steady_now() + params::kRdmaAnswer;
    std::string answer;
    if (!line_.send(text, end) || !line_.read(answer, end)) {
      return fail(ErrorCode::kTimeout, what_, "the other end fell silent",
                  "check that the other host is up");
    }
    if (answer.starts_with(kRefused)) {
      return fail(ErrorCode::kUnavailable, what_, answer.substr(kRefused.size()));
    }
    return answer;
  }

  std::string what_;
  const lab::ControlLine& line_;
  const OpenRdmaStream& open_;
  std::unique_ptr<RdmaStream> stream_;
};

// By the settings of this host: its packets are in the same queue of switches as heddle's.
OpenRdmaStream opener(const std::string& address) {
  return [address]() -> Result<std::unique_ptr<RdmaStream>> {
    const Result<Config> config = Config::load(config_keys(), ConfigSources::of_process());
    if (!config) return fail(config.error());
    return RdmaStream::open(address, static_cast<uint8_t>(config->integer("dscp") << 2));
  };
}

}  // namespace

Result<void> serve_rdma_tests(const RdmaEnds& ends, Nanos limit) {
  const Nanos end = steady_now() + limit;
  const Result<lab::ControlLine> line =
      lab::ControlLine::accept(ends.server, ends.port, ends.client, end);
  if (!line) return fail(line.error());
  return serve_rdma_line(*line, opener(ends.server), end);
}

Result<RdmaResult> run_rdma_tests(const RdmaEnds& ends, const RdmaPlan& plan) {
  const Result<lab::ControlLine> line = lab::ControlLine::connect(
      ends.client, ends.server, ends.port, steady_now() + params::kRdmaAnswer);
  if (!line) return fail(line.error());
  return run_rdma_line(fmt::format("cannot test RC with {}", ends.server), *line,
                       opener(ends.client), plan);
}

Result<void> serve_rdma_line(const lab::ControlLine& line, const OpenRdmaStream& open, Nanos end) {
  return Server(line, open).run(end);
}

Result<RdmaResult> run_rdma_line(const std::string& what, const lab::ControlLine& line,
                                 const OpenRdmaStream& open, const RdmaPlan& plan) {
  return Client(what, line, open).run(plan);
}

}  // namespace heddle::acceptance
