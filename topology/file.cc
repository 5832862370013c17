// See file.h. Reads the generated fabric first, then single hosts, switches and links, then
// overrides, then faults.
#include "topology/file.h"

#include <algorithm>
#include <iterator>
#include <optional>
#include <string>
#include <utility>

#include "base/document.h"
#include "topology/astra_network.h"
#include "topology/file/fabric.h"
#include "topology/file/fault_script.h"
#include "topology/file/shapes.h"
#include "topology/file/table.h"
#include "topology/names.h"

namespace heddle::topology {
namespace {

// Returns whether a [[switch]] has keys besides its name.
bool changes_switch(const TableReader& table) {
  constexpr const char* kKeys[] = {"hash_seed", "buffer", "alpha", "reserve",   "trimming",
                                   "pfc",       "xoff",   "xon",   "balancing", "flowlet_gap"};
  return std::any_of(std::begin(kKeys), std::end(kKeys),
                     [&table](const char* key) { return table.has(key); });
}

class FileReader {
 public:
  FileReader(const DocumentValue& document, const std::string& name)
      : document_(document), errors_(name) {}

  Result<Topology> read();

 private:
  void check_keys();
  LinkSettings link_table(const char* key, const LinkSettings& usual);
  void read_hosts();
  void read_switches();
  void read_all_switches();
  void read_links();
  void read_overrides();
  void need_links_of_switches();
  void need_new_name(TableReader& table, const std::string& name);
  std::optional<Node> node_at(TableReader& table, const std::string& name);

  // Calls `each` with a reader of every table of [[key]].
  template <typename F>
  void for_each(const char* key, F each) {
    const DocumentValue* list = document_.find(key);
    if (list == nullptr) return;
    if (list->kind != DocumentKind::kArray) {
      errors_.add(list->line, "'" + std::string(key) + "' is not a list of tables",
                  "write [[" + std::string(key) + "]] before each");
      return;
    }
    for (const DocumentValue& item : list->items) {
      TableReader table(item, errors_);
      each(table);
      table.finish();
    }
  }

  const DocumentValue& document_;
  FileErrors errors_;
  FabricLinks links_;
  SwitchShape switches_;
  std::vector<std::pair<uint32_t, int>> single_switches_;  // indexes, with the lines of their names
  Topology topology_;
};

Result<Topology> FileReader::read() {
  links_.host = link_table("host_link", links_.host);
  links_.between_switches = link_table("switch_link", links_.between_switches);
  links_.core = link_table("core_link", links_.between_switches);
  if (const DocumentValue* fabric = document_.find("fabric")) {
    TableReader table(*fabric, errors_);
    topology_ = read_fabric(table, links_);
    table.finish();
  }
  check_keys();
  read_all_switches();
  read_switches();
  read_hosts();
  read_links();
  need_links_of_switches();
  read_overrides();
  if (!errors_.any() && topology_.hosts.empty()) {
    errors_.add(0, "it has no hosts", "add a [fabric], or [[host]] and [[link]]");
  }
  const DocumentValue* faults = document_.find("fault");
  if (faults != nullptr && !errors_.any()) read_fault_script(*faults, errors_, topology_);
  if (errors_.any()) return fail(errors_.first());
  if (Result<void> valid = validate(topology_); !valid) {
    const std::string& todo = valid.error().todo;
    errors_.add(0, valid.error().what + ": " + valid.error().why,
                todo.empty() ? "every NIC needs exactly one [[link]]" : todo);
    return fail(errors_.first());
  }
  return std::move(topology_);
}

void FileReader::check_keys() {
  for (const DocumentValue& item : document_.items) {
    const bool known = item.key == "version" || item.key == "fabric" || item.key == "host_link" ||
                       item.key == "switch_link" || item.key == "core_link" || item.key == "host" ||
                       item.key == "switches" || item.key == "switch" || item.key == "link" ||
                       item.key == "override" || item.key == "fault";
    if (known) continue;
    errors_.add(item.line, "the key '" + item.key + "' is not known",
                "known here: version, fabric, host_link, switch_link, core_link, host, "
                "switches, switch, link, override, fault");
  }
}

LinkSettings FileReader::link_table(const char* key, const LinkSettings& usual) {
  const DocumentValue* value = document_.find(key);
  if (value == nullptr) return usual;
  TableReader table(*value, errors_);
  LinkSettings settings = read_link_settings(table, usual);
  table.finish();
  return settings;
}

void FileReader::need_new_name(TableReader& table, const std::string& name) {
  if (find_host(topology_, name) || find_switch(topology_, name)) {
    table.wrong("name", "there is a '" + name + "' already", "give it another name");
  }
}

void FileReader::read_hosts() {
  for_each("host", [this](TableReader& table) {
    const std::string name = table.name("name");
    const uint64_t nics = table.integer("nics", 1, 1, 64);
    need_new_name(table, name);
    const auto host = static_cast<uint32_t>(topology_.hosts.size());
    topology_.hosts.push_back({name});
    for (uint64_t i = 0; i < nics; ++i) topology_.nics.push_back({host});
  });
}

// [switches] applies to the fabric's switches and to all later ones.
void FileReader::read_all_switches() {
  const DocumentValue* value = document_.find("switches");
  if (value == nullptr) return;
  TableReader table(*value, errors_);
  switches_ = read_switch_shape(table, {});
  table.finish();
  for (Switch& each : topology_.switches) each.shape = switches_;
}

void FileReader::read_switches() {
  for_each("switch", [this](TableReader& table) {
    const std::string name = table.name("name");
    const auto made = find_switch(topology_, name);  // part of the fabric, or named a second time
    const SwitchShape shape =
        read_switch_shape(table, made ? topology_.switches[*made].shape : switches_);
    const uint64_t usual =
        made ? topology_.switches[*made].hash_seed : topology_.switches.size() + 1;
    const uint64_t seed = table.integer("hash_seed", usual, 0, INT64_MAX);
    if (!made || !changes_switch(table)) need_new_name(table, name);
    if (made) {
      topology_.switches[*made].hash_seed = seed;
      topology_.switches[*made].shape = shape;
    } else {
      single_switches_.emplace_back(topology_.switches.size(), table.line_of("name"));
      topology_.switches.push_back({name, seed, shape});
    }
  });
}

// A misspelled name of a fabric's switch would add an unconnected switch and change nothing,
// without any notice.
void FileReader::need_links_of_switches() {
  std::vector<bool> linked(topology_.switches.size());
  for (const Link& link : topology_.links) {
    for (const Node& end : {link.a, link.b}) {
      if (end.kind == NodeKind::kSwitch) linked[end.index] = true;
    }
  }
  for (const auto& [index, line] : single_switches_) {
    if (linked[index]) continue;
    const std::string& name = topology_.switches[index].name;
    const std::string near = nearest_switch(topology_, name);
    errors_.add(line, "no link goes to the switch '" + name + "'",
                (near.empty() ? "" : "do you mean '" + near + "'? else ") +
                    std::string("add its [[link]]s"));
  }
}

std::optional<Node> FileReader::node_at(TableReader& table, const std::string& name) {
  auto node = find_node(topology_, name);
  if (!node) {
    table.wrong("ends", "there is no host or switch '" + name + "'",
                "add a [[host]] or [[switch]]; a second NIC is 'name.1'");
  }
  return node;
}

void FileReader::read_links() {
  for_each("link", [this](TableReader& table) {
    table.need("ends", "give two names like [\"h0\", \"leaf0\"]");
    const auto ends = table.pair("ends");
    const auto a = ends ? node_at(table, ends->first) : std::nullopt;
    const auto b = ends ? node_at(table, ends->second) : std::nullopt;
    const bool host = (a && a->kind == NodeKind::kNic) || (b && b->kind == NodeKind::kNic);
    const LinkSettings settings =
        read_link_settings(table, host ? links_.host : links_.between_switches);
    if (a && b && *a == *b) table.wrong("ends", "both ends are the same", "name two");
    if (a && b) {
      topology_.links.push_back({*a, *b, settings.shape, settings.faults, settings.faults});
    }
  });
}

void FileReader::read_overrides() {
  for_each("override", [this](TableReader& table) {
    table.need("link", "say which link it is, like [\"leaf0\", \"spine1\"]");
    const auto names = table.pair("link");
    const auto number = static_cast<uint32_t>(table.integer("number", 0, 0, 4'095));
    LinkSettings settings;
    std::optional<uint32_t> index;
    if (names && !errors_.any()) {
      const Result<LinkEnds> ends = find_link(topology_, names->first, names->second, number);
      if (!ends) {
        table.wrong("link", ends.error().why, ends.error().todo);
      } else {
        index = ends->link;
        settings = {topology_.links[*index].shape, topology_.links[*index].forward};
      }
    }
    settings = read_link_settings(table, settings);
    if (!index) return;
    Link& link = topology_.links[*index];
    link.shape = settings.shape;
    link.forward = link.backward = settings.faults;
  });
}

}  // namespace

Result<Topology> read_topology_file(const std::string& path) {
  Result<std::string> text = read_text_file(path, "check the path of the topology file");
  if (!text) return fail(std::move(text).error());
  return is_astra_network(path) ? parse_astra_network(*text, path) : parse_topology(*text, path);
}

Result<Topology> parse_topology(std::string_view text, const std::string& name) {
  const Result<DocumentValue> document = parse_document(text, name);
  if (!document) return fail(document.error());
  if (Result<void> version = check_version(*document, name, kTopologyFileVersion); !version) {
    return fail(version.error());
  }
  return FileReader(*document, name).read();
}

}  // namespace heddle::topology
