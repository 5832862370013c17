// See size_headroom.h.
#include "planner/size_headroom.h"

#include <fmt/core.h>

#include <array>
#include <cmath>

#include "base/quantity.h"
#include "planner/sizing/advised_values.h"

namespace heddle::planner {
namespace {

struct Response {
  double link_bits_per_s;
  double quanta;  // of 512 bits
};
// IEEE 802.3 31B.3.7, as SONiC's buffer manager lists them (sonic-swss, cfgmgr).
constexpr std::array kResponses = {Response{10e9, 67},  Response{25e9, 80},   Response{40e9, 118},
                                   Response{50e9, 147}, Response{100e9, 394}, Response{200e9, 453},
                                   Response{400e9, 905}};
// A pause frame with preamble and gap: 64 + 20 bytes.
constexpr double kPauseBits = 672;
constexpr double kGapBits = 160;  // preamble and gap of another frame
constexpr const char* kSource =
    "IEEE 802.1Qbb, annex on buffer requirements (recalled); computed by switches in IEEE 802.1Qdt";

Result<double> response_bits(const HeadroomQuestion& question) {
  if (question.response_bits >= 0) return question.response_bits;
  for (const Response& each : kResponses) {
    if (each.link_bits_per_s == question.link_bits_per_s) return each.quanta * 512;
  }
  return fail(ErrorCode::kInvalid, "no headroom",
              fmt::format("the response time to a pause at {} is not known",
                          rate_text(question.link_bits_per_s)),
              "give --response-bits, from the data sheet of the sender");
}

void add_figures(const HeadroomQuestion& question, double response, Answer& answer) {
  const double cable = 2 * question.link_bits_per_s * question.meters * 5e-9;
  const double frames =
      8 * (question.largest_frame_bytes + question.lossless_frame_bytes) + 2 * kGapBits;
  const double port =
      std::ceil((cable + frames + kPauseBits + response + question.interface_bits) / 8);
  answer.figures = {
      {"headroom_bytes",
       "headroom of one class on one port",
       "ceil((2 * C * d * 5e-9 + 8 * (F + L) + 320 + 672 + R + I) / 8)",
       {{"C", "rate of the link", question.link_bits_per_s, "b/s"},
        {"d", "length of the cable", question.meters, "m"},
        {"F", "largest frame, in transmission before the pause", question.largest_frame_bytes, "B"},
        {"L", "largest lossless frame, just begun by the sender", question.lossless_frame_bytes,
         "B"},
        {"R", "response of the sender", response, "bit"},
        {"I", "MAC and PHY, four crossings", question.interface_bits, "bit"}},
       port,
       "B",
       kSource},
      {"ports_headroom_bytes",
       "headroom of all ports and classes",
       "n * k * H",
       {{"n", "ports", question.ports, ""},
        {"k", "lossless classes", question.classes, ""},
        {"H", "headroom of one class on one port", port, "B"}},
       question.ports * question.classes * port,
       "B",
       kSource},
      {"pool_bytes",
       "shared pool of headroom",
       "A * x",
       {{"A", "headroom of all ports and classes", question.ports * question.classes * port, "B"},
        {"x", "share that is reserved", question.pool_share, ""}},
       question.ports * question.classes * port * question.pool_share,
       "B",
       "shared headroom pools of switches: not all ports pause at once"}};
}

std::string bytes_text(double bytes) {
  return count_text(static_cast<uint64_t>(std::llround(bytes)));
}

}  // namespace

Result<Answer> size_headroom(const HeadroomQuestion& question) {
  if (!(question.link_bits_per_s > 0) || !(question.meters >= 0) || !(question.ports >= 1) ||
      !(question.classes >= 1) || question.classes > 8 || !(question.pool_share > 0) ||
      question.pool_share > 1) {
    return fail(ErrorCode::kInvalid, "no such port",
                "rates and ports are above 0, classes 1 to 8, the pool's share above 0 to 1",
                "correct the one that is not");
  }
  const Result<double> response = response_bits(question);
  if (!response) return fail(response.error());
  Answer answer;
  answer.title =
      fmt::format("PFC headroom at {}, {}", rate_text(question.link_bits_per_s),
                  question.meters < 1'000 ? fmt::format("{:g} m", question.meters)
                                          : fmt::format("{:g} km", question.meters / 1'000));
  add_figures(question, *response, answer);
  const double pool = answer.figure("pool_bytes").value;
  if (question.buffer_bytes > 0 && pool > question.buffer_bytes) {
    answer.sound = false;
    answer.advice.push_back(fmt::format(
        "headroom takes {} bytes more than the buffer has: use shorter cables, smaller frames, "
        "fewer lossless classes or a pool's share of {}, or switches with off-chip memory",
        bytes_text(pool - question.buffer_bytes),
        share_at_most_text(question.pool_share * question.buffer_bytes / pool)));
  } else if (question.buffer_bytes > 0) {
    answer.advice.push_back(fmt::format("{} bytes of the buffer are left for queues",
                                        bytes_text(question.buffer_bytes - pool)));
  }
  answer.assumptions = {"5 ns a meter of fibre",
                        "without rounding to cells: add the switch's share for small packets"};
  if (question.interface_bits == 0) {
    answer.assumptions.emplace_back(
        "MAC and PHY take no time: give --interface-bits from the data sheets");
  }
  return answer;
}

}  // namespace heddle::planner
