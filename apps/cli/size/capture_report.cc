// See capture_report.h.
#include "apps/cli/size/capture_report.h"

#include <fmt/core.h>

#include <algorithm>
#include <vector>

#include "apps/cli/size/params.h"
#include "base/quantity.h"
#include "base/version.h"

namespace heddle::cli {
namespace {

using recordings::CaptureSizes;
using recordings::SizeCounts;
using recordings::SizeRow;
using recordings::TrafficClass;

std::string range_text(const SizeRow& row) {
  if (row.least == row.most) return count_text(row.least);
  return count_text(row.least) + " to " + count_text(row.most);
}

std::string histogram_text(const char* title, const SizeCounts& counts) {
  std::string text = fmt::format("  {}\n", title);
  for (const SizeRow& row : counts.rows_or_ranges(params::size::kMostRows)) {
    const double share = static_cast<double>(row.count) / static_cast<double>(counts.count());
    const auto bar = static_cast<size_t>(share * params::size::kBarCharacters + 0.5);
    text += fmt::format("  {:>24} {:>12} {:>5.1f}% {}\n", range_text(row), count_text(row.count),
                        share * 100, std::string(std::max<size_t>(bar, 1), '#'));
  }
  return text;
}

// "3 late packets", and nothing where there is none.
void list(std::string& text, uint64_t count, const char* noun, const char* which = "") {
  if (count == 0) return;
  text += (text.empty() ? "" : ", ") + counted_text(count, noun) + which;
}

std::string rates_text(const TrafficClass& traffic) {
  std::string text;
  if (const auto rate = traffic.payload_bits_per_s()) {
    text += (traffic.is_known() ? ", " : ", at most ") + rate_text(*rate);
  }
  if (const auto rate = traffic.packets_per_s()) text += ", " + digits_text(*rate) + " packets/s";
  if (const auto rate = traffic.messages_per_s()) text += ", " + digits_text(*rate) + " messages/s";
  return text;
}

// "not known: cut at 600 bytes".
std::string not_known_text(uint64_t cut_at_bytes) {
  return fmt::format("not known: cut at {} bytes", count_text(cut_at_bytes));
}

std::string series_text(const TrafficClass& traffic, uint64_t cut_at_bytes) {
  std::string text;
  if (traffic.missing_packets > 0) {
    text = counted_text(traffic.missing_packets, "packet") + " missing in " +
           counted_text(traffic.gaps, "gap");
  } else if (traffic.is_known()) {
    text = "no packet is missing";
  }
  if (traffic.packets_not_known > 0) {
    text +=
        fmt::format("{}whether {} more {} missing is {}", text.empty() ? "" : ", ",
                    count_text(traffic.packets_not_known),
                    traffic.packets_not_known == 1 ? "is" : "are", not_known_text(cut_at_bytes));
  } else if (text.empty()) {
    text = "no packet number is missing";
  }
  list(text, traffic.late_packets, "late packet");
  list(text, traffic.repeated_packets, "retransmitted packet");
  list(text, traffic.incomplete_messages, "incomplete message");
  if (traffic.other_lengths > 0) {
    text += ", " + counted_text(traffic.other_lengths, "message") + " unlike the DMA length";
  }
  text = "  " + text + "\n";
  if (traffic.messages_not_known > 0) {
    text += fmt::format("  whether {} came whole, and in how many packets, is {}\n",
                        counted_text(traffic.messages_not_known, "message"),
                        not_known_text(cut_at_bytes));
  }
  return text;
}

std::string class_text(const TrafficClass& traffic, uint64_t cut_at_bytes) {
  const bool known = traffic.is_known();
  std::string text =
      fmt::format("\n{}: {}{} of {}, {}{} bytes{}\n", traffic.name, known ? "" : "at least ",
                  counted_text(traffic.packets, "packet"), counted_text(traffic.flows, "flow"),
                  known ? "" : "at most ", count_text(traffic.payload_bytes), rates_text(traffic));
  if (traffic.datagrams_not_known > 0) {
    text +=
        fmt::format("  packets of {} {}\n", counted_text(traffic.datagrams_not_known, "datagram"),
                    not_known_text(cut_at_bytes));
  }
  if (traffic.packet_sizes.count() > 0) {
    text += histogram_text(traffic.has_messages() ? "payload of a packet, bytes" : "packet, bytes",
                           traffic.packet_sizes);
  }
  if (traffic.message_sizes.count() > 0) {
    text += histogram_text("message, bytes", traffic.message_sizes);
  }
  if (traffic.messages > 0) {
    text += histogram_text("packets of a message", traffic.packets_of_message);
  }
  const bool series =
      traffic.has_messages() || traffic.missing_packets > 0 || traffic.packets_not_known > 0;
  return series ? text + series_text(traffic, cut_at_bytes) : text;
}

std::string roce_text(const recordings::RoceCounts& roce) {
  if (roce.packets == 0) return "";
  std::string text;
  list(text, roce.acks, "acknowledgement");
  for (size_t i = 0; i < recordings::kNakKinds; ++i) {
    if (roce.naks[i] == 0) continue;
    std::string kind = fmt::format(" ({})", recordings::kNakNames[i]);
    std::replace(kind.begin(), kind.end(), '_', ' ');
    list(text, roce.naks[i], "NAK", kind.c_str());
  }
  list(text, roce.receiver_not_ready, "RNR NAK");
  list(text, roce.congestion_notifications, "CNP");
  list(text, roce.read_requests.count(), "read request");
  list(text, roce.atomics, "atomic operation");
  list(text, roce.marked, "packet", " with an ECN mark");
  list(text, roce.other_opcodes, "packet", " with another opcode");
  list(text, roce.cut, "packet", " without all headers in the capture");
  list(text, roce.malformed, "malformed packet");
  list(text, roce.not_followed, "packet", " of flows beyond the limit");
  text = text.empty() ? "" : "\nRoCE also: " + text + "\n";
  if (roce.read_requests.count() > 0) {
    text += histogram_text("DMA length of a read request, bytes", roce.read_requests);
  }
  return text;
}

std::string heddle_text(const recordings::HeddleCounts& heddle) {
  if (heddle.packets == 0) return "";
  std::string text = "\nheddle also: " + counted_text(heddle.connections, "wire id");
  if (heddle.protected_connections > 0) {
    text += ", " + count_text(heddle.protected_connections) + " of them protected by keys";
  }
  list(text, heddle.merged, "datagram", " merged by an offload");
  list(text, heddle.merged_and_cut, "merged datagram", " cut by the capture");
  list(text, heddle.not_known, "cut datagram", " of one packet or several");
  list(text, heddle.unread, "packet", " without a header in the capture");
  list(text, heddle.marked, "packet", " with an ECN mark");
  list(text, heddle.malformed, "malformed packet");
  list(text, heddle.not_followed, "packet", " beyond the limit of connections");
  text += "\n";
  if (heddle.opaque_control > 0) {
    text += fmt::format("  {} encrypted: small messages in them cannot be seen\n",
                        counted_text(heddle.opaque_control, "control packet"));
  }
  if (heddle.cut > 0) {
    text += fmt::format("  {} captured in part: small messages in them are not counted\n",
                        counted_text(heddle.cut, "control packet"));
  }
  if (heddle.merged_and_cut + heddle.not_known + heddle.unread > 0) {
    text += "  to know what was cut, capture all bytes (-s 0), or turn GSO and GRO off\n";
  }
  return text;
}

std::string skipped_text(const CaptureSizes& sizes) {
  std::string text;
  list(text, sizes.other_udp, "other UDP packet");
  list(text, sizes.not_udp, "packet", " of other protocols");
  list(text, sizes.not_ip, "packet", " without IP");
  list(text, sizes.fragments, "IP fragment");
  list(text, sizes.cut, "packet", " without all headers in the capture");
  list(text, sizes.malformed, "malformed packet");
  return text.empty() ? "" : "\nNot read: " + text + "\n";
}

Json rows_json(const SizeCounts& counts, const char* what) {
  Json rows = Json::array();
  for (const SizeRow& row : counts.rows()) {
    rows.push_back({{"least", row.least}, {"most", row.most}, {what, row.count}});
  }
  return rows;
}

Json number_json(const std::optional<double>& value) { return value ? Json(*value) : Json(); }

Json class_json(const TrafficClass& traffic) {
  const bool messages = traffic.has_messages();
  return {{"name", traffic.name},
          {"flow", traffic.flow},
          {"flows", traffic.flows},
          {"packets", traffic.packets},
          {"payload_bytes", traffic.payload_bytes},
          {"first_realtime_ns", traffic.first.count},
          {"last_realtime_ns", traffic.last.count},
          {"payload_bits_per_s", number_json(traffic.payload_bits_per_s())},
          {"packets_per_s", number_json(traffic.packets_per_s())},
          {"messages_per_s", number_json(traffic.messages_per_s())},
          {"messages", messages ? Json(traffic.messages) : Json()},
          {"incomplete_messages", messages ? Json(traffic.incomplete_messages) : Json()},
          {"messages_not_known", messages ? Json(traffic.messages_not_known) : Json()},
          {"datagrams_not_known", traffic.datagrams_not_known},
          {"packets_not_known", traffic.packets_not_known},
          {"other_lengths", traffic.other_lengths},
          {"gaps", traffic.gaps},
          {"missing_packets", traffic.missing_packets},
          {"late_packets", traffic.late_packets},
          {"retransmitted_packets", traffic.repeated_packets},
          {"packet_bytes", rows_json(traffic.packet_sizes, "packets")},
          {"message_bytes", rows_json(traffic.message_sizes, "messages")},
          {"packets_of_message", rows_json(traffic.packets_of_message, "messages")}};
}

Json roce_json(const recordings::RoceCounts& roce) {
  Json naks = Json::object();
  for (size_t i = 0; i < recordings::kNakKinds; ++i) naks[recordings::kNakNames[i]] = roce.naks[i];
  return {{"packets", roce.packets},
          {"acks", roce.acks},
          {"naks", naks},
          {"receiver_not_ready", roce.receiver_not_ready},
          {"congestion_notifications", roce.congestion_notifications},
          {"atomics", roce.atomics},
          {"read_request_bytes", rows_json(roce.read_requests, "requests")},
          {"marked_packets", roce.marked},
          {"other_opcodes", roce.other_opcodes},
          {"cut_packets", roce.cut},
          {"malformed_packets", roce.malformed},
          {"packets_not_followed", roce.not_followed}};
}

Json heddle_json(const recordings::HeddleCounts& heddle) {
  return {{"packets", heddle.packets},
          {"wire_ids", heddle.connections},
          {"protected_wire_ids", heddle.protected_connections},
          {"encrypted_control_packets", heddle.opaque_control},
          {"cut_control_packets", heddle.cut},
          {"merged_datagrams", heddle.merged},
          {"merged_and_cut_datagrams", heddle.merged_and_cut},
          {"datagrams_not_known", heddle.not_known},
          {"unread_packets", heddle.unread},
          {"marked_packets", heddle.marked},
          {"malformed_packets", heddle.malformed},
          {"packets_not_followed", heddle.not_followed}};
}

// Of a capture without what is looked for: why, and what to do.
std::string none_text(const CaptureSizes& sizes) {
  if (!sizes.classes.empty()) return "";
  std::string text = "\nNeither messages of RoCEv2 nor packets of heddle\n";
  if (sizes.packets == 0) {
    text += "It has no packets: capture on the interface that the job uses, while it runs\n";
  } else if (sizes.other_udp > 0) {
    text += "Its UDP has other ports: give --heddle-port or --roce-port\n";
  }
  return text;
}

}  // namespace

std::string capture_text(const CaptureSizes& sizes) {
  std::string text =
      fmt::format("{}, {}, {} bytes on the wire", sizes.link, counted_text(sizes.packets, "packet"),
                  count_text(sizes.wire_bytes));
  if (sizes.first) text += ", " + duration_text(sizes.last - *sizes.first);
  if (sizes.shortened > 0) {
    text += fmt::format("; {} captured in part (at most {} bytes)",
                        counted_text(sizes.shortened, "packet"), count_text(sizes.snapshot_bytes));
  }
  text += "\n";
  for (const TrafficClass& each : sizes.classes) text += class_text(each, sizes.cut_at_bytes);
  text += none_text(sizes);
  return text + roce_text(sizes.roce) + heddle_text(sizes.heddle) + skipped_text(sizes);
}

Json capture_document(const std::string& file, const CaptureSizes& sizes) {
  Json classes = Json::array();
  for (const TrafficClass& each : sizes.classes) classes.push_back(class_json(each));
  return {{"heddle", kVersion},
          {"capture", file},
          {"link", sizes.link},
          {"snapshot_bytes", sizes.snapshot_bytes},
          {"packets", sizes.packets},
          {"wire_bytes", sizes.wire_bytes},
          {"shortened_packets", sizes.shortened},
          {"cut_at_bytes", sizes.cut_at_bytes},
          {"first_realtime_ns", sizes.first ? Json(sizes.first->count) : Json()},
          {"last_realtime_ns", sizes.first ? Json(sizes.last.count) : Json()},
          {"ended_early", sizes.ended_early ? Json(sizes.ended_early->message()) : Json()},
          {"classes", classes},
          {"roce", roce_json(sizes.roce)},
          {"heddle_protocol", heddle_json(sizes.heddle)},
          {"not_read",
           {{"other_udp", sizes.other_udp},
            {"not_udp", sizes.not_udp},
            {"not_ip", sizes.not_ip},
            {"fragments", sizes.fragments},
            {"cut", sizes.cut},
            {"malformed", sizes.malformed}}}};
}

}  // namespace heddle::cli
