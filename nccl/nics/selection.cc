// select_nics(): which interfaces become devices. Called by find_nics() and by doctor.
#include <algorithm>
#include <string>
#include <string_view>
#include <vector>

#include "nccl/nics.h"

namespace heddle::nccl {
namespace {

struct Selection {
  bool excludes = false;
  bool exact = false;
  std::vector<std::string> names;
};

// Takes the signs before the names away and notes them.
std::string_view without_signs(std::string_view text, Selection& selection) {
  selection.excludes = text.starts_with('^');
  if (selection.excludes) text.remove_prefix(1);
  selection.exact = text.starts_with('=');
  if (selection.exact) text.remove_prefix(1);
  return text;
}

// NCCL lets a name be followed by `:port:rail:plane`; for sockets it ignores these, as here.
Selection parse(std::string_view text) {
  Selection selection;
  text = without_signs(text, selection);
  while (!text.empty()) {
    const size_t comma = std::min(text.find(','), text.size());
    const std::string_view entry = text.substr(0, comma);
    const std::string_view name = entry.substr(0, entry.find(':'));
    if (!name.empty()) selection.names.emplace_back(name);
    text.remove_prefix(std::min(comma + 1, text.size()));
  }
  return selection;
}

bool matches(const Selection& selection, const std::string& name) {
  return std::any_of(selection.names.begin(), selection.names.end(), [&](const std::string& each) {
    return selection.exact ? name == each : name.starts_with(each);
  });
}

template <typename Wanted>
std::vector<Nic> keep(std::vector<Nic> nics, const Wanted& wanted) {
  nics.erase(std::remove_if(nics.begin(), nics.end(), [&](const Nic& nic) { return !wanted(nic); }),
             nics.end());
  return nics;
}

bool is_docker(const Nic& nic) { return nic.name.starts_with("docker"); }
bool is_libvirt(const Nic& nic) { return nic.name.starts_with("virbr"); }

std::vector<Nic> usual(const std::vector<Nic>& nics) {
  std::vector<Nic> found = keep(nics, [](const Nic& nic) { return !last_resort(nic); });
  if (found.empty()) found = keep(nics, is_docker);
  if (found.empty()) found = keep(nics, [](const Nic& nic) { return nic.loopback; });
  if (found.empty()) found = keep(nics, is_libvirt);
  return found;
}

}  // namespace

bool last_resort(const Nic& nic) { return nic.loopback || is_docker(nic) || is_libvirt(nic); }

Result<void> check_selection(const std::string& selection) {
  if (selection.empty()) return {};
  Selection signs;
  std::string_view rest = without_signs(selection, signs);
  while (true) {
    const size_t comma = rest.find(',');
    if (rest.substr(0, comma).substr(0, rest.find(':')).empty()) {
      return fail(ErrorCode::kInvalid, "cannot use HEDDLE_IFNAME=" + selection,
                  "one of its names is empty",
                  "write names with one comma between, as in eth0,eth1");
    }
    if (comma == std::string_view::npos) return {};
    rest.remove_prefix(comma + 1);
  }
}

bool usable(const Nic& nic) {
  return nic.carrier &&
         std::any_of(nic.addresses.begin(), nic.addresses.end(),
                     [](const InterfaceAddress& address) { return !address.link_local(); });
}

std::vector<Nic> select_nics(std::vector<Nic> nics, std::string_view text) {
  nics = keep(std::move(nics), usable);
  const Selection selection = parse(text);
  if (selection.names.empty()) return usual(nics);
  std::vector<Nic> chosen = keep(std::move(nics), [&](const Nic& nic) {
    return matches(selection, nic.name) != selection.excludes;
  });
  if (!selection.excludes) return chosen;
  // An exclusion asks for the other NICs of the network: it never adds loopback to them.
  std::vector<Nic> outside = keep(chosen, [](const Nic& nic) { return !nic.loopback; });
  return outside.empty() ? chosen : outside;
}

}  // namespace heddle::nccl
