// See qemu.h. The interpreter (tcg) is used even where there is KVM: it is there on every host, in
// containers and in virtual machines, and behaves the same on all of them.
#include "lab/vm/qemu.h"

#include <fmt/format.h>

#include "lab/vm/guest.h"
#include "lab/vm/params.h"

namespace heddle::lab::vm {
namespace {

void add(std::vector<std::string>& words, std::initializer_list<std::string> more) {
  words.insert(words.end(), more);
}

void add_port(std::vector<std::string>& words, const char* name, int descriptor) {
  add(words, {"-chardev", fmt::format("socket,id={},fd={}", name, descriptor), "-device",
              fmt::format("virtserialport,chardev={0},name={0}", name)});
}

// A comma in a value is written twice.
std::string value(const std::string& text) {
  std::string escaped;
  for (const char each : text) escaped.append(each == ',' ? 2 : 1, each);
  return escaped;
}

void add_folder(std::vector<std::string>& words, const std::string& path, const char* tag,
                bool read_only) {
  add(words, {"-virtfs", fmt::format("local,path={},mount_tag={},security_model=none,multidevs="
                                     "remap{}",
                                     value(path), tag, read_only ? ",readonly=on" : "")});
}

// A NIC on the one wire that joins all of them. No program of the NIC's: it boots nothing.
void add_nic(std::vector<std::string>& words, int number) {
  add(words,
      {"-netdev", fmt::format("hubport,id=wire{},hubid=0", number), "-device",
       fmt::format("virtio-net-pci,netdev=wire{0},mac={1}{0:02x},romfile=", number, kNicAddress)});
}

// On a busy host the emulated timer's interrupts may come too late for the kernel's check of them
// at boot, which panics.
constexpr const char* kKernelWords = "console=ttyS0 quiet panic=-1 no_timer_check";

}  // namespace

std::vector<std::string> qemu_words(const VmOptions& options, const std::string& image,
                                    const QemuDescriptors& descriptors) {
  std::vector<std::string> words = {"qemu-system-x86_64",
                                    "-nodefaults",
                                    "-no-user-config",
                                    "-no-reboot",
                                    "-display",
                                    "none",
                                    "-accel",
                                    "tcg,thread=multi",
                                    "-cpu",
                                    "max",
                                    "-smp",
                                    fmt::to_string(options.cpus),
                                    "-m",
                                    fmt::format("{}M", options.memory.count >> 20),
                                    "-kernel",
                                    image,
                                    "-initrd",
                                    fmt::format("/proc/self/fd/{}", descriptors.ram_disk),
                                    "-append",
                                    kKernelWords,
                                    "-chardev",
                                    "stdio,id=console,signal=off",
                                    "-serial",
                                    "chardev:console",
                                    "-device",
                                    "virtio-serial-pci"};
  for (int number = 0; number < kNics; ++number) add_nic(words, number);
  add_folder(words, "/", kHostTag, true);
  if (!options.out.empty()) add_folder(words, options.out, kOutTag, false);
  add_port(words, kControlPort, descriptors.control);
  add_port(words, kOutputPort, descriptors.output);
  add_port(words, kErrorPort, descriptors.error);
  if (descriptors.terminal >= 0) {
    add(words, {"-chardev", fmt::format("socket,id=terminal,fd={}", descriptors.terminal),
                "-device", "virtconsole,chardev=terminal"});
  }
  return words;
}

}  // namespace heddle::lab::vm
