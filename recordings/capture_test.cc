// Captures as files: what is not read is counted by its reason, and what is no capture is an error.
#include "recordings/capture.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>
#include <string>

#include "base/temporary_folder.h"
#include "recordings/testing/capture_writer.h"

namespace heddle::recordings {
namespace {

using testing::HasSubstr;

class Capture : public testing::Test {
 protected:
  Capture() : made_(*TemporaryFolder::make("heddle-capture")), folder_(made_.path()) {}

  Result<CaptureSizes> read(const std::string& bytes) const {
    const std::string file = folder_ + "/test.pcap";
    std::ofstream(file, std::ios::binary) << bytes;
    return read_capture(file, {});
  }
  // The message of the error.
  std::string refused(const std::string& bytes) const {
    const auto sizes = read(bytes);
    return sizes ? "" : sizes.error().message();
  }

  TemporaryFolder made_;
  std::string folder_;
};

std::string write_frame() { return ethernet_frame({}, roce_payload({10, 17, 1, reth(8), 8})); }

TEST_F(Capture, WhatIsNoCaptureIsRefused) {
  EXPECT_THAT(refused("this is a text, and no capture of packets"),
              HasSubstr("unknown file format"));
  EXPECT_THAT(refused(""), HasSubstr("cannot read"));
  EXPECT_THAT(refused(std::string("\x1f\x8b\x08") + std::string(40, 'z')),
              HasSubstr("not compressed"));
  EXPECT_THAT(read_capture(folder_ + "/none", {}).error().message(), HasSubstr("No such file"));
  EXPECT_FALSE(read_capture(folder_, {}));
}

TEST_F(Capture, AnUnknownLinkTypeIsRefusedByItsNumber) {
  CaptureWriter writer({CaptureFormat::kPcapMicros, false, 195});  // IEEE 802.15.4
  writer.add(0, write_frame());
  EXPECT_THAT(refused(writer.bytes()), HasSubstr("link type 195"));
}

TEST_F(Capture, AFileThatWasCutHasThePacketsBefore) {
  CaptureWriter writer({});
  writer.add(0, write_frame());
  writer.add(0, write_frame());
  for (const size_t missing : {1, 30, 60}) {
    const auto sizes = read(writer.bytes().substr(0, writer.bytes().size() - missing));
    ASSERT_TRUE(sizes);
    EXPECT_EQ(sizes->packets, 1u);
    ASSERT_TRUE(sizes->ended_early);
    EXPECT_THAT(sizes->ended_early->message(), HasSubstr("truncated dump file"));
  }
}

TEST_F(Capture, InterfacesOfSeveralLinkTypesEndItEarly) {
  CaptureWriter ethernet({CaptureFormat::kPcapng, false, 1});
  CaptureWriter raw({CaptureFormat::kPcapng, false, 101});
  ethernet.add(0, write_frame());
  raw.add(0, write_frame());
  const auto sizes = read(ethernet.bytes() + raw.bytes());
  ASSERT_TRUE(sizes);
  EXPECT_EQ(sizes->packets, 1u);
  EXPECT_THAT(sizes->ended_early->message(), HasSubstr("one interface a capture"));
}

TEST_F(Capture, AFileMayHaveAnyLengthsAndTimes) {
  CaptureWriter writer({});
  std::string bytes = writer.bytes();
  // seconds, microseconds, captured length, length on the wire: the captured one is beyond all
  // bounds
  bytes += std::string(16, '\xff');
  const auto sizes = read(bytes + std::string(100, 'x'));
  ASSERT_TRUE(sizes);
  EXPECT_TRUE(sizes->ended_early);
  CaptureWriter late({CaptureFormat::kPcapng});
  late.add(-1, write_frame());  // 584 years after 1970
  late.add(0, write_frame());
  ASSERT_TRUE(read(late.bytes()));
  EXPECT_EQ(read(late.bytes())->packets, 2u);
}

TEST_F(Capture, SkippedPacketsAreCountedByReason) {
  CaptureWriter writer({});
  const std::string frame = write_frame();
  std::string arp = frame, tcp = frame, fragment = frame, longer = frame, version = frame;
  arp[13] = 6;
  tcp[14 + 9] = 6;
  fragment[14 + 6] = 0x20;       // more fragments
  longer[14 + 20 + 4] = '\x7f';  // UDP length
  version[14] = 0x55;
  UdpFrame other;
  other.to_port = 53;
  for (const std::string& each : {arp, tcp, fragment, longer, version, frame.substr(0, 30),
                                  ethernet_frame(other, "a question"), frame.substr(0, 5)}) {
    writer.add(0, each);
  }
  const auto sizes = read(writer.bytes());
  ASSERT_TRUE(sizes);
  EXPECT_EQ(sizes->packets, 8u);
  EXPECT_EQ(sizes->not_ip, 1u);
  EXPECT_EQ(sizes->not_udp, 1u);
  EXPECT_EQ(sizes->fragments, 1u);
  EXPECT_EQ(sizes->malformed, 2u);
  EXPECT_EQ(sizes->cut, 2u);
  EXPECT_EQ(sizes->other_udp, 1u);
  EXPECT_TRUE(sizes->classes.empty());
}

TEST_F(Capture, AnotherPortOfRoceMayBeNamed) {
  CaptureWriter writer({});
  UdpFrame udp;
  udp.to_port = 1021;
  writer.add(0, ethernet_frame(udp, roce_payload({10, 17, 1, reth(8), 8})));
  const std::string file = folder_ + "/test.pcap";
  std::ofstream(file, std::ios::binary) << writer.bytes();
  CaptureOptions options;
  options.roce_port = 1021;
  EXPECT_EQ(read_capture(file, options)->classes.size(), 1u);
  EXPECT_EQ(read_capture(file, {})->classes.size(), 0u);
}

TEST_F(Capture, ReadingStopsWhenItIsInterrupted) {
  CaptureWriter writer({});
  for (int i = 0; i < 5000; ++i) writer.add(i, write_frame());
  const std::string file = folder_ + "/test.pcap";
  std::ofstream(file, std::ios::binary) << writer.bytes();
  CaptureOptions options;
  options.interrupted = [] { return true; };
  const auto sizes = read_capture(file, options);
  ASSERT_TRUE(sizes);
  EXPECT_LT(sizes->packets, 5000u);
  EXPECT_EQ(sizes->ended_early->code, ErrorCode::kCancelled);
}

}  // namespace
}  // namespace heddle::recordings
