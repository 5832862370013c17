// See capture.h.
#include "recordings/capture.h"

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "recordings/capture/capture_file.h"
#include "recordings/capture/datagram.h"
#include "recordings/capture/heddle_flows.h"
#include "recordings/capture/roce_flows.h"
#include "recordings/capture/stream.h"
#include "recordings/params.h"

namespace heddle::recordings {
namespace {

std::optional<double> a_second(double count, double seconds) {
  if (!(seconds > 0)) return std::nullopt;
  return count / seconds;
}

class Reading {
 public:
  explicit Reading(const CaptureOptions& options)
      : options_(options), heddle_(options.heddle_ports) {}

  void add(LinkType link, const CapturedFrame& frame);
  CaptureSizes finish() {
    roce_.finish(sizes_);
    heddle_.finish(sizes_);
    return std::move(sizes_);
  }
  CaptureSizes& sizes() { return sizes_; }

 private:
  void count_skipped(NoDatagram why);

  const CaptureOptions& options_;
  CaptureSizes sizes_;
  RoceFlows roce_;
  HeddleFlows heddle_;
};

void Reading::count_skipped(NoDatagram why) {
  switch (why) {
    case NoDatagram::kNotIp:
      ++sizes_.not_ip;
      return;
    case NoDatagram::kNotUdp:
      ++sizes_.not_udp;
      return;
    case NoDatagram::kFragment:
      ++sizes_.fragments;
      return;
    case NoDatagram::kCut:
      ++sizes_.cut;
      return;
    case NoDatagram::kMalformed:
      ++sizes_.malformed;
      return;
  }
}

void Reading::add(LinkType link, const CapturedFrame& frame) {
  ++sizes_.packets;
  sizes_.wire_bytes += frame.wire_bytes;
  if (frame.captured.size() < frame.wire_bytes) {
    ++sizes_.shortened;
    sizes_.cut_at_bytes = std::max<uint64_t>(sizes_.cut_at_bytes, frame.captured.size());
  }
  if (!sizes_.first) sizes_.first = sizes_.last = frame.at;
  if (frame.at < *sizes_.first) sizes_.first = frame.at;
  if (sizes_.last < frame.at) sizes_.last = frame.at;
  const FrameContents contents = read_frame(link, frame.captured);
  if (!contents.datagram) return count_skipped(contents.why);
  const UdpDatagram& datagram = *contents.datagram;
  if (datagram.to_port == options_.roce_port && !options_.heddle_ports.contains(datagram.to_port)) {
    roce_.add(frame.at, datagram);
  } else if (!heddle_.add(frame.at, datagram)) {
    ++sizes_.other_udp;
  }
}

}  // namespace

std::optional<double> TrafficClass::payload_bits_per_s() const {
  return a_second(static_cast<double>(payload_bytes) * 8, seconds());
}

std::optional<double> TrafficClass::packets_per_s() const {
  if (!is_known()) return std::nullopt;
  return a_second(static_cast<double>(packets), seconds());
}

std::optional<double> TrafficClass::messages_per_s() const {
  if (!has_messages() || messages_not_known > 0) return std::nullopt;
  return a_second(static_cast<double>(messages), seconds());
}

Result<CaptureSizes> read_capture_stream(std::FILE* file, const std::string& name,
                                         const CaptureOptions& options) {
  auto capture = CaptureFile::open(file, name);
  if (!capture) return fail(capture.error());
  const int link = capture->link_type();
  if (link_name(link) == nullptr) {
    return fail(ErrorCode::kInvalid, "cannot read the packets of " + name,
                "its link type " + std::to_string(link) + " is not known here",
                "capture on an Ethernet interface, or on all of them (tcpdump -i any)");
  }
  Reading reading(options);
  reading.sizes().link = link_name(link);
  reading.sizes().snapshot_bytes = capture->snapshot_bytes();
  CapturedFrame frame;
  for (;;) {
    const auto next = capture->next(frame);
    if (next == CaptureFile::Next::kEnd) break;
    if (next == CaptureFile::Next::kBroken) {
      reading.sizes().ended_early =
          fail(ErrorCode::kInvalid, "cannot read " + name + " to its end", capture->why_broken(),
               "figures are of the packets before; one interface a capture, or capture again")
              .error;
      break;
    }
    reading.add(static_cast<LinkType>(link), frame);
    const bool look = reading.sizes().packets % params::capture::kInterruptedEvery == 0;
    if (look && options.interrupted && options.interrupted()) {
      reading.sizes().ended_early =
          Error{ErrorCode::kCancelled, "stopped reading " + name, "it was interrupted",
                "figures are of the packets before"};
      break;
    }
  }
  return reading.finish();
}

Result<CaptureSizes> read_capture(const std::string& file, const CaptureOptions& options) {
  if (file == "-") return read_capture_stream(stdin, "standard input", options);
  std::FILE* const stream = std::fopen(file.c_str(), "rbe");
  if (stream == nullptr) {
    return fail(ErrorCode::kSystem, "cannot open " + file, std::strerror(errno),
                "check the name of the capture and its permissions");
  }
  return read_capture_stream(stream, file, options);
}

}  // namespace heddle::recordings
