// Checks objects that were read back against data/emit/kubernetes/*.csv.
#include <fmt/core.h>

#include <algorithm>
#include <map>
#include <optional>
#include <set>

#include "core/base/csv.h"
#include "core/base/text.h"
#include "core/catalog/embedded.h"
#include "model/design_text/yaml_tree.h"
#include "output/emit/escape.h"
#include "output/emit/kubernetes.h"

namespace orrery::emit {
namespace {

using design_text::YamlNode;

struct Fact {
  bool required = false;
  std::string type;
  std::vector<std::string> choices;
};

// The facts about one kind, by path: "spec.levels[].nodeLabel".
using Facts = std::map<std::string, Fact, std::less<>>;

std::map<std::string, Facts> load_facts() {
  std::map<std::string, Facts> all;
  for (const catalog::EmbeddedFile& file : catalog::embedded_files()) {
    if (!file.path.starts_with("emit/kubernetes/")) continue;
    const auto table = CsvTable::parse(file.text, std::string(file.path));
    if (!table || !table->column("api_version")) continue;
    for (const CsvRow& row : table->rows()) {
      const std::string id = std::string(table->text(row, "api_version")) + ' ' +
                             std::string(table->text(row, "kind"));
      Fact fact{.required = table->text(row, "required") == "yes",
                .type = std::string(table->text(row, "type"))};
      const std::string_view choices = table->text(row, "enum");
      if (!choices.empty()) {
        for (const std::string_view c : split(choices, '|')) fact.choices.emplace_back(c);
      }
      all[id][std::string(table->text(row, "path"))] = std::move(fact);
    }
  }
  return all;
}

const YamlNode* field(const YamlNode& map, std::string_view key) {
  if (map.kind != YamlNode::Kind::map) return nullptr;
  for (std::size_t i = 0; i < map.keys.size(); ++i) {
    if (map.keys[i].text == key) return &map.items[i];
  }
  return nullptr;
}

std::string text_of(const YamlNode* node) {
  return node && node->kind == YamlNode::Kind::scalar ? node->text : std::string();
}

bool is_number(const YamlNode& n) { return !n.quoted && parse_number(n.text).has_value(); }
bool is_word(const YamlNode& n) { return !n.quoted && (n.text == "true" || n.text == "false"); }

// Returns true for "36Gi", "0.5", "500m" and bare whole numbers.
bool is_quantity(const YamlNode& n) {
  static constexpr std::string_view kSuffixes = " m k M G T P E Ki Mi Gi Ti Pi Ei ";
  const std::size_t digits = std::min(n.text.find_first_not_of("0123456789."), n.text.size());
  if (digits == 0 || !parse_number(n.text.substr(0, digits))) return false;
  const std::string suffix = n.text.substr(digits);
  return suffix.empty() || kSuffixes.find(' ' + suffix + ' ') != std::string_view::npos;
}

// Returns true for "a.b/name" or "name": RFC 1123 labels, with a prefix before one slash.
bool is_qualified(std::string_view key) {
  const std::size_t slash = key.find('/');
  const std::string_view name = slash == std::string_view::npos ? key : key.substr(slash + 1);
  if (slash != std::string_view::npos) {
    for (const std::string_view part : split(key.substr(0, slash), '.')) {
      if (!is_name(part, NameRule::dns_label)) return false;
    }
  }
  const auto is_end = [](char c) { return c != '-' && c != '_' && c != '.'; };
  return is_name(name, NameRule::slurm) && is_end(name.back());
}

class ObjectCheck {
 public:
  ObjectCheck(const Facts& facts, const std::string& file, KindCheck& seen, Diagnostics& faults)
      : facts_(facts), file_(file), seen_(seen), faults_(faults) {}

  void run(const YamlNode& object) {
    metadata(object);
    fields(object, "");
  }

 private:
  void complain(const YamlNode& at, const std::string& path, std::string_view what) {
    faults_.push_back({.code = "emit.schema",
                       .place = {file_, at.mark.line, at.mark.column},
                       .what = fmt::format("{} {}: {}", seen_.kind, path, what),
                       .why = "the published schema requires it",
                       .fix = "please report it: the program wrote a wrong file"});
  }

  void metadata(const YamlNode& object) {
    const YamlNode* meta = field(object, "metadata");
    const YamlNode& at = meta ? *meta : object;
    const std::string name = text_of(field(at, "name"));
    for (const std::string_view part : split(name, '.')) {
      if (!is_name(part, NameRule::dns_label))
        complain(at, "metadata.name", "is not an RFC 1123 name");
    }
    const YamlNode* space = field(at, "namespace");
    if (space && !is_name(space->text, NameRule::dns_label)) {
      complain(*space, "metadata.namespace", "is not an RFC 1123 label");
    }
    for (const std::string_view list : {"labels", "annotations"}) {
      const YamlNode* map = field(at, list);
      for (std::size_t i = 0; map && i < map->keys.size(); ++i) {
        if (!is_qualified(map->keys[i].text)) complain(*map, "metadata", "is not a label key");
        if (map->items[i].kind != YamlNode::Kind::scalar || is_number(map->items[i])) {
          complain(map->items[i], "metadata", "the value is not a text");
        }
      }
    }
    ++seen_.fields_checked;
  }

  // Checks the fields of a map, and that no required field is missing.
  void fields(const YamlNode& map, const std::string& path) {
    for (std::size_t i = 0; i < map.keys.size(); ++i) {
      const std::string& key = map.keys[i].text;
      const bool head = path.empty() && (key == "apiVersion" || key == "kind" || key == "metadata");
      if (!head) value(map.items[i], path.empty() ? key : path + '.' + key, path);
    }
    const std::string prefix = path.empty() ? "" : path + '.';
    for (auto at = facts_.lower_bound(prefix); at != facts_.end(); ++at) {
      if (!at->first.starts_with(prefix)) break;
      const std::string_view rest = std::string_view(at->first).substr(prefix.size());
      if (!at->second.required || rest.find_first_of(".[{") != std::string_view::npos) continue;
      if (!field(map, rest)) complain(map, at->first, "is required and missing");
    }
  }

  void value(const YamlNode& node, const std::string& path, const std::string& parent) {
    const auto at = facts_.find(path);
    if (at == facts_.end()) {
      const auto above = facts_.find(parent);
      const bool open = above != facts_.end() && above->second.type == "open";
      if (open) {
        seen_.unchecked.push_back(path);
      } else {
        complain(node, path, "does not exist in the schema");
      }
      return;
    }
    ++seen_.fields_checked;
    typed(node, path, at->second);
  }

  void typed(const YamlNode& node, const std::string& path, const Fact& fact) {
    const bool map = node.kind == YamlNode::Kind::map;
    const bool list = node.kind == YamlNode::Kind::list;
    if (fact.type == "open-array" || (fact.type == "open" && node.items.empty())) {
      seen_.unchecked.push_back(path);
    } else if (fact.type == "object" || fact.type == "open") {
      if (!map) return complain(node, path, "must be a map");
      fields(node, path);
    } else if (fact.type == "array") {
      if (!list) return complain(node, path, "must be a list");
      for (const YamlNode& item : node.items) value(item, path + "[]", path);
    } else if (fact.type == "map") {
      if (!map) return complain(node, path, "must be a map");
      for (std::size_t i = 0; i < node.items.size(); ++i) {
        if (!is_qualified(node.keys[i].text)) complain(node, path, "has a key that is not a name");
        value(node.items[i], path + "{}", path);
      }
    } else {
      scalar(node, path, fact);
    }
  }

  void scalar(const YamlNode& node, const std::string& path, const Fact& fact) {
    if (node.kind != YamlNode::Kind::scalar) {
      return complain(node, path, "must be a single value");
    }
    const bool whole = !node.quoted && parse_integer(node.text).has_value();
    if (fact.type == "string" && (is_number(node) || is_word(node))) {
      complain(node, path, "must be a text, but would be read as something else");
    }
    if (fact.type == "integer" && !whole) complain(node, path, "must be a whole number");
    if (fact.type == "boolean" && !is_word(node)) complain(node, path, "must be true or false");
    if (fact.type == "quantity" && !is_quantity(node)) complain(node, path, "is not a quantity");
    const bool chosen =
        fact.choices.empty() || std::ranges::find(fact.choices, node.text) != fact.choices.end();
    if (!chosen) complain(node, path, fmt::format("`{}` is not one of the choices", node.text));
  }

  const Facts& facts_;
  const std::string& file_;
  KindCheck& seen_;
  Diagnostics& faults_;
};

std::vector<std::string> documents_of(std::string_view yaml) {
  std::vector<std::string> out(1);
  for (const std::string_view line : split(yaml, '\n')) {
    if (line == "---") {
      out.emplace_back();
    } else {
      out.back() += std::string(line) + '\n';
    }
  }
  return out;
}

bool is_blank(const std::string& document) {
  for (const std::string_view line : split(document, '\n')) {
    if (!trimmed(line).empty() && !trimmed(line).starts_with('#')) return false;
  }
  return true;
}

}  // namespace

KubernetesCheck check_kubernetes(std::string_view yaml, const std::string& file) {
  static const std::map<std::string, Facts> kFacts = load_facts();
  KubernetesCheck check;
  for (const std::string& document : documents_of(yaml)) {
    if (is_blank(document)) continue;
    const auto tree = design_text::parse_yaml(document, file, check.faults);
    if (!tree) continue;
    KindCheck seen{.file = file,
                   .kind = text_of(field(*tree, "kind")),
                   .api_version = text_of(field(*tree, "apiVersion"))};
    const auto facts = kFacts.find(seen.api_version + ' ' + seen.kind);
    seen.known = facts != kFacts.end();
    if (seen.known) {
      ObjectCheck(facts->second, file, seen, check.faults).run(*tree);
    } else {
      check.faults.push_back({.code = "emit.schema",
                              .place = {file, tree->mark.line, tree->mark.column},
                              .what = fmt::format("there are no facts about `{}` of `{}`",
                                                  seen.kind, seen.api_version),
                              .why = "an object of an unknown kind cannot be checked"});
    }
    check.objects.push_back(std::move(seen));
  }
  return check;
}

std::string kubernetes_check_text(const EmittedFiles& files) {
  struct Sum {
    int objects = 0;
    int fields = 0;
    std::set<std::string> unchecked;
  };
  std::map<std::string, Sum> kinds;
  std::string plain;
  for (const EmittedFile& f : files) {
    if (f.path == "gpu-operator-values.yaml" || !f.path.ends_with(".yaml")) {
      plain += (plain.empty() ? "" : ", ") + f.path;
      continue;
    }
    for (const KindCheck& k : check_kubernetes(f.text, f.path).objects) {
      Sum& sum = kinds[k.kind + " (" + k.api_version + ')'];
      ++sum.objects;
      sum.fields += k.fields_checked;
      sum.unchecked.insert(k.unchecked.begin(), k.unchecked.end());
    }
  }
  std::string out = "checked against the published schemas: required fields, types, closed sets\n";
  for (const auto& [kind, sum] : kinds) {
    out += fmt::format("  {}: {} object{}, {} fields\n", kind, sum.objects,
                       sum.objects == 1 ? "" : "s", sum.fields);
    for (const std::string& path : sum.unchecked) out += fmt::format("    not: {}\n", path);
  }
  out += fmt::format(
      "not checked: {} (no schema); CEL expressions, string patterns and lengths, references\n"
      "between objects, rules of the controllers' webhooks. `kubectl apply --dry-run=server`\n"
      "on your cluster checks those.\n",
      plain);
  return out;
}

}  // namespace orrery::emit
