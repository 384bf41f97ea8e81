#include "model/design_text/write_design.h"

#include "core/base/digest.h"
#include "model/design/fields_design.h"
#include "model/design/goals.h"
#include "model/design/names.h"
#include "model/design_text/profiles.h"
#include "model/design_text/write_value.h"

namespace orrery::design_text {
namespace {

YamlNode scalar_node(std::string text) {
  return {.kind = YamlNode::Kind::scalar, .text = std::move(text)};
}

bool same(const YamlNode& a, const YamlNode& b) {
  if (a.kind != b.kind || a.text != b.text || a.items.size() != b.items.size()) return false;
  for (std::size_t i = 0; i < a.items.size(); ++i) {
    if (a.kind == YamlNode::Kind::map && a.keys[i].text != b.keys[i].text) return false;
    if (!same(a.items[i], b.items[i])) return false;
  }
  return true;
}

void put(YamlNode& map, std::string_view key, YamlNode value) {
  map.keys.push_back({std::string(key), {}});
  map.items.push_back(std::move(value));
}

// Returns the fields of a section that differ from their defaults.
template <class T>
YamlNode what_differs(const T& section);
// A tier with a profile writes every field that the profile could set.
YamlNode what_differs(const design::StorageTier& tier);

// Gathers the fields of a section as nodes; an absent optional is a null node.
class SectionWriter {
 public:
  template <class T>
  void operator()(std::string_view key, const T& member, const design::Field& field) {
    fields_.push_back({key, node_of(member, field), field.required});
  }

  void sites(const std::vector<design::Site>& all) {
    if (all.size() == 1) {
      fields_.push_back({"site", node_of(all.front(), design::kSiteField), true});
    } else {
      fields_.push_back({"sites", node_of(all, design::kSitesField), true});
    }
  }

  // Returns all fields that have a value; empty texts only if a profile could set them.
  YamlNode whole() && {
    YamlNode map{.kind = YamlNode::Kind::map};
    for (Entry& f : fields_) {
      const bool is_empty_text = f.node.kind == YamlNode::Kind::scalar && f.node.text.empty();
      if (f.node.kind == YamlNode::Kind::null) continue;
      if (is_empty_text && !set_by_profiles(f.key)) continue;
      put(map, f.key, std::move(f.node));
    }
    return map;
  }
  // Returns the fields that differ from `defaults`, in order.
  YamlNode without(const SectionWriter& defaults) && {
    YamlNode map{.kind = YamlNode::Kind::map};
    for (std::size_t i = 0; i < fields_.size(); ++i) {
      Entry& f = fields_[i];
      if (f.node.kind == YamlNode::Kind::null) continue;
      // Only the file itself has entries under one of two keys, both of which are required.
      if (!f.required && same(f.node, defaults.fields_[i].node)) continue;
      put(map, f.key, std::move(f.node));
    }
    return map;
  }

 private:
  struct Entry {
    std::string_view key;
    YamlNode node;
    bool required;
  };

  template <int... E>
  YamlNode node_of(const Quantity<E...>& q, const design::Field& f) {
    return scalar_node(quantity_text(q.base(), {E...}, f));
  }
  YamlNode node_of(double v, const design::Field& f) { return scalar_node(number_text(v, f)); }
  YamlNode node_of(int v, const design::Field&) { return scalar_node(std::to_string(v)); }
  YamlNode node_of(bool v, const design::Field&) { return scalar_node(v ? "true" : "false"); }
  YamlNode node_of(const std::string& v, const design::Field&) { return scalar_node(v); }
  template <class T>
    requires std::is_enum_v<T>
  YamlNode node_of(T v, const design::Field&) {
    return scalar_node(std::string(word_of(v)));
  }
  YamlNode node_of(const design::Goal& g, const design::Field&) {
    return scalar_node(to_text(g));
  }
  template <class T>
  YamlNode node_of(const std::optional<T>& v, const design::Field& f) {
    return v ? node_of(*v, f) : YamlNode{};
  }
  YamlNode node_of(const std::vector<design::MigSlices>& all, const design::Field&) {
    YamlNode map{.kind = YamlNode::Kind::map};
    for (const design::MigSlices& s : all)
      put(map, s.profile, scalar_node(std::to_string(s.count)));
    return map;
  }
  YamlNode node_of(const std::vector<design::KeepRule>& all, const design::Field&) {
    YamlNode map{.kind = YamlNode::Kind::map};
    for (const design::KeepRule& r : all) {
      put(map, r.tier, scalar_node(r.newest ? std::to_string(*r.newest) : "milestones"));
    }
    return map;
  }
  template <class T>
  YamlNode node_of(const std::vector<T>& all, const design::Field& f) {
    YamlNode list{.kind = YamlNode::Kind::list};
    for (const T& item : all) list.items.push_back(node_of(item, f));
    return list;
  }
  YamlNode node_of(const design::Workload& w, const design::Field&) {
    SectionWriter given;
    SectionWriter defaults;
    design::visit_fields(given, w.terms);
    design::visit_fields(defaults, std::as_const(kPlainTerms));
    std::visit(
        [&]<class T>(const T& task) {
          const T plain{};
          design::visit_fields(given, task);
          design::visit_fields(defaults, plain);
        },
        w.task);
    YamlNode map{.kind = YamlNode::Kind::map};
    put(map, design::kind_of(w), std::move(given).without(defaults));
    return map;
  }
  template <class T>
    requires requires(SectionWriter& v, const T& t) { design::visit_fields(v, t); }
  YamlNode node_of(const T& section, const design::Field&) {
    return what_differs(section);
  }

  inline static const design::Terms kPlainTerms{};

  std::vector<Entry> fields_;
};

template <class T>
YamlNode what_differs(const T& section) {
  const T plain{};
  SectionWriter given;
  SectionWriter defaults;
  design::visit_fields(given, section);
  design::visit_fields(defaults, plain);
  return std::move(given).without(defaults);
}

YamlNode what_differs(const design::StorageTier& tier) {
  if (tier.profile.empty()) return what_differs<design::StorageTier>(tier);
  SectionWriter given;
  design::visit_fields(given, tier);
  return std::move(given).whole();
}

}  // namespace

YamlNode tier_node(const design::StorageTier& tier) {
  SectionWriter given;
  design::visit_fields(given, tier);
  return std::move(given).whole();
}

std::string write_design(const design::Design& design) { return yaml_text(what_differs(design)); }

std::string section_text(const design::Network& network) {
  return yaml_line(what_differs(network));
}
std::string section_text(const design::Checkpoint& checkpoint) {
  return yaml_line(what_differs(checkpoint));
}
std::string section_text(const design::Zone& zone) { return yaml_line(what_differs(zone)); }
std::string section_text(const design::StorageTier& tier) { return yaml_line(what_differs(tier)); }

std::string design_digest(const design::Design& design) { return sha256_hex(write_design(design)); }

}  // namespace orrery::design_text
