// The sampler of a machine: what its kernel logged right before the end is taken.
#include "nodes/node_sampler.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/eventfd.h>

#include <cerrno>
#include <string>
#include <utility>

#include "base/clocks.h"
#include "base/descriptor.h"
#include "events/memory_sink.h"

namespace heddle::nodes {
namespace {

// Of a machine that had no core for the sampler's thread between the two: a disk failed, and then
// the job ended.
TEST(NodeSampler, AMessageThatComesWithTheStopIsTaken) {
  int left = 1;
  KernelLog log(
      Descriptor(open("/dev/null", O_RDONLY | O_CLOEXEC)), [&left](std::span<char> record) {
        if (left-- <= 0) {
          errno = EAGAIN;
          return ssize_t{-1};
        }
        const std::string text =
            "3,1,1000000,-;NVRM: Xid (PCI:0000:3b:00): 79, pid=1, GPU has fallen off the bus.\n";
        text.copy(record.data(), record.size());
        return static_cast<ssize_t>(text.size());
      });
  const Descriptor stop(eventfd(1, EFD_CLOEXEC));
  NodeSampler sampler({}, &steady_now, std::move(log));
  events::MemorySink sink;
  EXPECT_FALSE(sampler.wait(seconds(20), stop.number(), sink));
  EXPECT_EQ(sink.all<events::KernelMessage>().size(), 1u);
}

}  // namespace
}  // namespace heddle::nodes
