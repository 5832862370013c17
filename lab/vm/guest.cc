// See guest.h.
#include "lab/vm/guest.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cctype>

#include "lab/vm/params.h"

namespace heddle::lab::vm {
namespace {

constexpr const char* kInit = R"sh(#!/bin/busybox sh
# The first process: loads what reaching the host's files takes, lays a file system in memory over
# them, and goes on there.
b=/bin/busybox
stop() { echo "heddle: $*"; $b poweroff -f; }
$b mount -t proc proc /proc
$b mount -t sysfs sys /sys
$b mount -t devtmpfs dev /dev
while read -r file; do $b insmod "/modules/$file" || stop "cannot load $file"; done </modules/order
$b mount -t tmpfs changes /changes
$b mkdir /changes/upper /changes/work
$b mount -t 9p -o trans=virtio,version=9p2000.L,ro,msize=524288,cache=loose host /host ||
  stop "cannot reach the host's files"
$b mount -t overlay -o lowerdir=/host,upperdir=/changes/upper,workdir=/changes/work root /new ||
  stop "cannot lay an overlay over the host's files"
$b mkdir -p /new/run /new/proc /new/sys /new/dev
$b mount -t tmpfs run /new/run
$b mkdir /new/run/heddle-vm
$b cp /guest/* /new/run/heddle-vm/
for each in proc sys dev; do $b mount --move /$each /new/$each; done
exec $b switch_root /new /bin/sh /run/heddle-vm/setup
)sh";

constexpr const char* kSetup = R"sh(# Runs as the first process, over the host's files.
PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin
export PATH
own=/run/heddle-vm
. $own/settings

port() {  # name: its device
  for each in /sys/class/virtio-ports/*; do
    read -r name <"$each/name" && [ "$name" = "$1" ] && echo "/dev/${each##*/}" && return
  done
}
wait_for_port() {
  until [ -n "$(port "$1")" ]; do sleep 0.1; done
  port "$1"
}
report() { echo "$*" >&9; }
wait_for_the_end() { while :; do sleep 1000; done; }

make_devices() {
  mkdir -p /dev/pts /dev/shm && mount -t devpts pts /dev/pts && mount -t tmpfs shm /dev/shm
  ln -sf /proc/self/fd /dev/fd
  ln -sf fd/0 /dev/stdin && ln -sf fd/1 /dev/stdout && ln -sf fd/2 /dev/stderr
}

load_modules() {
  if [ "$modules" != "/lib/modules/$version" ]; then
    mkdir -p "/lib/modules/$version" && mount --bind "$modules" "/lib/modules/$version" || return
  fi
  modprobe -a crc32_generic rdma_rxe ib_uverbs rdma_ucm ib_umad veth sch_netem
}

# Both ends are in one network namespace: soft-RoCE of Linux 6.1 sends by the routes of the first
# one only. Rules keep traffic between the two addresses on the link: without them it would take
# the loopback interface.
make_link() {
  cd /proc/sys/net || return
  echo 1 >ipv4/conf/default/accept_local
  echo 0 >ipv4/conf/default/rp_filter
  echo 0 >ipv4/conf/all/rp_filter
  ip -batch - <<END || return
link set lo up
link add h0 mtu $mtu type veth peer name h1 mtu $mtu
address add 10.9.0.1/24 dev h0
address add 10.9.0.2/24 dev h1
address add fd09::1/64 dev h0 nodad
address add fd09::2/64 dev h1 nodad
link set h0 up
link set h1 up
rule add pref 10 to 10.9.0.2 iif lo lookup 100
rule add pref 11 to 10.9.0.1 iif lo lookup 101
rule add pref 12 to 10.9.0.1 iif lo unreachable
rule add pref 13 to 10.9.0.2 iif lo unreachable
rule add pref 100 lookup local
rule delete pref 0
route add 10.9.0.2 dev h0 src 10.9.0.1 table 100
route add 10.9.0.1 dev h1 src 10.9.0.2 table 101
END
  ip -6 -batch - <<END || return
rule add pref 10 to fd09::2 iif lo lookup 100
rule add pref 11 to fd09::1 iif lo lookup 101
rule add pref 12 to fd09::1 iif lo unreachable
rule add pref 13 to fd09::2 iif lo unreachable
rule add pref 100 lookup local
rule delete pref 0
route add fd09::2 dev h0 src fd09::1 table 100
route add fd09::1 dev h1 src fd09::2 table 101
END
  for each in h0 h1; do
    echo "$cpu_mask" >/sys/class/net/$each/queues/rx-0/rps_cpus  # else a busy link reorders
    # A packet of the link is a packet on the wire, so that losses are losses of one.
    ethtool -K $each gso off tso off gro off tx-udp-segmentation off || return
    [ -z "$netem" ] || tc qdisc add dev $each root netem $netem || return
  done
  printf '10.9.0.1 h0\n10.9.0.2 h1\nfd09::1 h0-v6\nfd09::2 h1-v6\n' >>/etc/hosts
  hostname heddle-vm
}

make_rdma() {
  rdma link add rxe0 type rxe netdev h0 && rdma link add rxe1 type rxe netdev h1
}

# Two virtio NICs on one wire, for what needs a NIC's driver; v1 is in a namespace of its own.
make_nics() {
  modprobe virtio_net || return
  for each in /sys/class/net/*; do
    read -r address <"$each/address"
    case $address in
      $nics*) ip link set "${each##*/}" name "v${address##*:0}" || return ;;
    esac
  done
  ip netns add far && ip link set v1 netns far && ip -n far link set lo up || return
  ip address add 10.10.0.1/24 dev v0 && ip address add fd10::1/64 dev v0 nodad || return
  ip -n far address add 10.10.0.2/24 dev v1 || return
  ip -n far address add fd10::2/64 dev v1 nodad || return
  ip link set v0 up && ip -n far link set v1 up
}

share_out() {
  [ -z "$out" ] || mount -t 9p -o trans=virtio,version=9p2000.L,msize=524288,cache=mmap out "$out"
}

# In a namespace of process ids: what the command leaves behind ends with it.
run_apart() {
  exec unshare --pid --fork --mount-proc --kill-child "$@"
}

run_command() {
  mkfifo $own/output $own/error
  output=$(wait_for_port heddle.output)
  error=$(wait_for_port heddle.error)
  cat $own/output >"$output" 9>&- & reader=$!
  cat $own/error >"$error" 9>&- & error_reader=$!
  (run_apart /bin/sh -c '/bin/sh "$0"; exit $?' $own/command) \
    </dev/null >$own/output 2>$own/error 9>&-
  status=$?
  wait $reader $error_reader
}

run_shell() {
  stty rows "$rows" cols "$columns" </dev/hvc0
  (run_apart setsid --ctty --wait /bin/sh $own/command) </dev/hvc0 >/dev/hvc0 2>&1 9>&-
  status=$?
}

exec 9>"$(wait_for_port heddle.control)"
for step in make_devices load_modules make_link make_rdma make_nics share_out; do
  $step >$own/log 2>&1 || {
    report "failed $step: $(tail -n 2 $own/log | tr '\n' ' ')"
    wait_for_the_end
  }
done
report ready
if [ -n "$shell" ]; then run_shell; else run_command; fi
[ -z "$out" ] || umount "$out" || umount -l "$out"
report "exit $status"
wait_for_the_end
)sh";

bool is_name(std::string_view name) {
  return !name.empty() && std::isdigit(static_cast<unsigned char>(name.front())) == 0 &&
         std::all_of(name.begin(), name.end(),
                     [](unsigned char each) { return std::isalnum(each) != 0 || each == '_'; });
}

std::string percent(uint32_t per_million) { return fmt::format("{:g}%", per_million * 1e-4); }

}  // namespace

const std::vector<std::string_view>& early_modules() {
  static const std::vector<std::string_view> kNames = {"virtio_pci", "9pnet_virtio", "9p",
                                                       "overlay", "virtio_console"};
  return kNames;
}

const char* init_script() { return kInit; }
const char* setup_script() { return kSetup; }

std::string quoted(std::string_view word) {
  std::string text = "'";
  for (const char each : word) {
    if (each == '\'') {
      text += "'\\''";
    } else {
      text += each;
    }
  }
  return text + "'";
}

std::string netem_text(const VmLink& link) {
  std::string text;
  if (link.delay.count > 0) text += fmt::format(" delay {}us", (link.delay.count + 999) / 1000);
  if (link.loss_per_million > 0) text += " loss " + percent(link.loss_per_million);
  if (link.duplicate_per_million > 0) text += " duplicate " + percent(link.duplicate_per_million);
  if (link.reorder_per_million > 0) text += " reorder " + percent(link.reorder_per_million);
  if (link.rate.count > 0) text += fmt::format(" rate {}bit", link.rate.count);
  return text.empty() ? text : fmt::format("limit {}{}", kNetemPackets, text);
}

std::string settings_text(const VmOptions& options, const Kernel& kernel, const Caller& caller) {
  const auto mask = (uint64_t{1} << std::min(options.cpus, 32u)) - 1;
  return fmt::format(
      "version={}\nmodules={}\nmtu={}\nnetem={}\ncpu_mask={:x}\nnics={}\nout={}\nshell={}\n"
      "rows={}\ncolumns={}\n",
      quoted(kernel.version), quoted(kernel.modules), options.link.mtu_bytes,
      quoted(netem_text(options.link)), mask, kNicAddress, quoted(options.out),
      options.shell ? "yes" : "", caller.rows, caller.columns);
}

std::string command_text(const VmOptions& options, const Caller& caller) {
  std::string text;
  for (const std::string& variable : caller.environment) {
    const size_t equals = variable.find('=');
    if (equals == std::string::npos || !is_name(variable.substr(0, equals))) continue;
    text += fmt::format("export {}={}\n", variable.substr(0, equals),
                        quoted(std::string_view(variable).substr(equals + 1)));
  }
  text += "unset OUT HEDDLE_LAB HEDDLE_LAB_HOST\n";
  if (!options.out.empty()) text += fmt::format("export OUT={}\n", quoted(options.out));
  text += fmt::format("cd {} || exit 125\nexec", quoted(caller.folder));
  if (options.shell) return text + " \"${SHELL:-/bin/sh}\" -i\n";
  for (const std::string& word : options.words) text += " " + quoted(word);
  return text + "\n";
}

}  // namespace heddle::lab::vm
