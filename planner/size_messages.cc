// See size_messages.h.
#include "planner/size_messages.h"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>

#include "base/quantity.h"

namespace heddle::planner {
namespace {

constexpr const char* kNccl =
    "NCCL 2.30: NCCL_STEPS is 8; a chunk of an all-reduce has half of them, a slice a "
    "quarter (collectives.h, device.h)";
constexpr const char* kIbta =
    "IBTA volume 1: a message is one WRITE FIRST, MIDDLEs and one WRITE LAST; RETH has its length";

struct Cut {
  double part = 0;  // of a bucket that one rank's block on one channel is
  double chunk = 0;
  double slice = 0;
  double message = 0;
  double packets = 0;
  double wire = 0;  // bytes of a message with headers
};

Cut cut_of(const MessagesQuestion& question) {
  Cut cut;
  cut.part = question.bucket_bytes / (static_cast<double>(question.gpus) * question.channels);
  cut.chunk = std::min(question.nccl_buffer_bytes / 2, cut.part);
  cut.slice = std::min(question.nccl_buffer_bytes / 4, cut.chunk);
  cut.message = question.splits ? cut.slice / question.queue_pairs : cut.slice;
  cut.packets = std::ceil(cut.message / question.mtu_bytes);
  cut.wire = cut.message + cut.packets * question.header_bytes;
  return cut;
}

void add_figures(const MessagesQuestion& question, const Cut& cut, Answer& answer) {
  const Term buffer{"B", "NCCL_BUFFSIZE", question.nccl_buffer_bytes, "B"};
  const Term message{"M", "RDMA message", cut.message, "B"};
  answer.figures = {{"block_bytes",
                     "block of a rank on a channel, in each of the ring's steps",
                     "W / (N * c)",
                     {{"W", "bucket", question.bucket_bytes, "B"},
                      {"N", "GPUs of the ring", static_cast<double>(question.gpus), ""},
                      {"c", "channels", question.channels, ""}},
                     cut.part,
                     "B",
                     "a ring's block is one N-th; channels share a bucket"},
                    {"chunk_bytes",
                     "NCCL's chunk: what is reduced and forwarded at a time, at most",
                     "min(B / 2, b)",
                     {buffer, {"b", "block", cut.part, "B"}},
                     cut.chunk,
                     "B",
                     kNccl},
                    {"slice_bytes",
                     "NCCL's slice: what is handed to the network at a time, at most",
                     "min(B / 4, k)",
                     {buffer, {"k", "chunk", cut.chunk, "B"}},
                     cut.slice,
                     "B",
                     kNccl},
                    {"message_bytes",
                     "RDMA message",
                     question.splits ? "s / q" : "s",
                     {{"s", "slice", cut.slice, "B"}},
                     cut.message,
                     "B",
                     question.splits ? "NCCL_IB_SPLIT_DATA_ON_QPS=1: each queue pair writes a part"
                                     : "a slice is one write; queue pairs take turns"},
                    {"packets",
                     "packets of a message",
                     "ceil(M / m)",
                     {message, {"m", "payload of a packet", question.mtu_bytes, "B"}},
                     cut.packets,
                     "",
                     kIbta},
                    {"wire_bytes",
                     "bytes of a message on the wire",
                     "M + n * h",
                     {message,
                      {"n", "packets", cut.packets, ""},
                      {"h", "headers of a packet", question.header_bytes, "B"}},
                     cut.wire,
                     "B",
                     "RoCEv2 over Ethernet: 38 + 20 + 8 + 12 + 4 bytes beside the payload"},
                    {"bucket_messages",
                     "messages that a rank sends for a bucket, at least",
                     "2 * (N - 1) * c * ceil(b / M)",
                     {{"N", "GPUs of the ring", static_cast<double>(question.gpus), ""},
                      {"c", "channels", question.channels, ""},
                      {"b", "block", cut.part, "B"},
                      message},
                     2 * static_cast<double>(question.gpus - 1) * question.channels *
                         std::ceil(cut.part / cut.message),
                     "",
                     "2 (N - 1) steps of a ring"}};
  if (question.splits) {
    answer.figures[3].terms.push_back({"q", "queue pairs", question.queue_pairs, ""});
  }
}

void add_table(const MessagesQuestion& question, const Cut& cut, Answer& answer) {
  answer.tables.push_back(
      {.name = "units",
       .title = "From gradients to packets",
       .columns = {{"unit", "unit", ""},
                   {"bytes", "size", "B"},
                   {"set_by", "set by", ""},
                   {"measured_by", "measured by", ""}},
       .rows = {{"bucket", question.bucket_bytes, "DDP's bucket_cap_mb",
                 "nccl-tests and heddle bench (their size is one whole call), NCCL Inspector, "
                 "heddle record"},
                {"block of a ring", cut.part, "bucket, GPUs, NCCL_MAX_NCHANNELS",
                 "none: it follows from the bucket"},
                {"NCCL chunk", cut.chunk, "NCCL_BUFFSIZE", "none: inside the kernel"},
                {"NCCL slice", cut.slice, "NCCL_BUFFSIZE",
                 "heddle's NCCL profiler at nccl.profile=all (transfers)"},
                {"RDMA message", cut.message, "NCCL_IB_SPLIT_DATA_ON_QPS",
                 "perftest (its -s is one message), heddle size capture (RETH's DMA length)"},
                {"packet", std::min(question.mtu_bytes, cut.message), "MTU of the NIC's port",
                 "heddle size capture, port counters (with headers)"}}});
}

}  // namespace

Result<Answer> size_messages(const MessagesQuestion& question) {
  const auto wrong = [](const char* why, const char* todo) {
    return fail(ErrorCode::kInvalid, "no such messages", why, todo);
  };
  if (question.gpus < 2) return wrong("one GPU sends nothing", "give --gpus 2 or more");
  if (!(question.bucket_bytes >= 1) || !(question.channels >= 1) ||
      !(question.nccl_buffer_bytes >= 1) || !(question.queue_pairs >= 1) ||
      !(question.mtu_bytes >= 1) || !(question.header_bytes >= 0)) {
    return wrong("sizes and numbers are 1 at least", "correct the one that is not");
  }
  const Cut cut = cut_of(question);
  Answer answer;
  answer.title = fmt::format("A bucket of {} bytes, {} GPUs, {:g} channels",
                             count_text(static_cast<uint64_t>(question.bucket_bytes)),
                             question.gpus, question.channels);
  add_table(question, cut, answer);
  add_figures(question, cut, answer);
  answer.advice.push_back(
      fmt::format("compare perftest at -s {:.0f} with NCCL's messages, and nccl-tests at -b {:.0f} "
                  "with a bucket; not one with the other",
                  cut.message, question.bucket_bytes));
  if (cut.slice < question.nccl_buffer_bytes / 4) {
    answer.advice.push_back(fmt::format(
        "blocks are shorter than a slice of {:.0f} bytes: larger buckets or fewer channels make "
        "larger messages",
        question.nccl_buffer_bytes / 4));
  }
  answer.assumptions = {"protocol Simple; LL and LL128, of small calls, cut differently",
                        "NCCL chooses channels, and may shorten chunks so that all are busy"};
  return answer;
}

}  // namespace heddle::planner
