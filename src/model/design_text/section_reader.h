// Reads a section of the file into its struct: the visitor that makes visit_fields a reader.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "model/design/design.h"
#include "model/design/fields_design.h"
#include "model/design/goals.h"
#include "model/design/names.h"
#include "model/design_text/value_reader.h"

namespace orrery::design_text {

class SectionReader;

template <class T>
concept Section = requires(SectionReader& v, T& t) { design::visit_fields(v, t); };

// State shared by every level of the file.
struct ReadContext {
  ValueReader& values;
  design::PlaceMap& places;
};

class SectionReader {
 public:
  // `path` is "" for the file itself, "fleet[0]" for a section in it; `noun` names the section in
  // messages.
  SectionReader(ReadContext& context, const YamlNode& node, std::string path, std::string noun)
      : c_(context),
        node_(node),
        path_(std::move(path)),
        noun_(std::move(noun)),
        taken_(node.keys.size(), false) {}

  template <class T>
  void operator()(std::string_view key, T& member, const design::Field& field) {
    known_.emplace_back(key);
    const YamlNode* value = take(key);
    if (value && !field.not_yet.empty()) {
      c_.values.not_yet(value->mark, key, field);
    } else if (value) {
      c_.places.set(path_to(key), value->mark);
      read(*value, member, field, key);
    } else if (field.required) {
      c_.values.missing(node_.mark, key, noun_, field);
    }
  }

  void sites(std::vector<design::Site>& all);

  // Call after the fields: reports keys that no field took.
  void finish();

 private:
  const YamlNode* take(std::string_view key);
  std::string path_to(std::string_view key) const {
    return path_.empty() ? std::string(key) : path_ + '.' + std::string(key);
  }
  std::string item_path(std::string_view key, std::size_t i) const {
    return path_to(key) + '[' + std::to_string(i) + ']';
  }

  template <int... E>
  void read(const YamlNode& n, Quantity<E...>& out, const design::Field& f, std::string_view key) {
    if (const auto v = c_.values.quantity(n, key, f, {E...})) out = Quantity<E...>(*v);
  }
  void read(const YamlNode& n, double& out, const design::Field& f, std::string_view key) {
    if (const auto v = c_.values.number(n, key, f)) out = *v;
  }
  void read(const YamlNode& n, int& out, const design::Field& f, std::string_view key) {
    if (const auto v = c_.values.integer(n, key, f)) out = *v;
  }
  void read(const YamlNode& n, bool& out, const design::Field&, std::string_view key) {
    if (const auto v = c_.values.boolean(n, key)) out = *v;
  }
  void read(const YamlNode& n, std::string& out, const design::Field& f, std::string_view key) {
    if (auto v = c_.values.text(n, key, f)) out = *std::move(v);
  }
  template <class T>
    requires std::is_enum_v<T>
  void read(const YamlNode& n, T& out, const design::Field&, std::string_view key) {
    if (const auto i = c_.values.word(n, key, word_list<T>())) out = static_cast<T>(*i);
  }
  template <class T>
  void read(const YamlNode& n, std::optional<T>& out, const design::Field& f,
            std::string_view key) {
    if (f.automatic && n.kind == YamlNode::Kind::scalar && n.text == "auto") {
      out.reset();
      return;
    }
    out.emplace();
    read(n, *out, f, key);
  }
  template <Section T>
  void read(const YamlNode& n, T& out, const design::Field&, std::string_view key) {
    read_section(n, out, path_to(key), std::string(key));
  }
  template <class T>
  void read(const YamlNode& n, std::vector<T>& out, const design::Field& f, std::string_view key) {
    if (!c_.values.expect(n, YamlNode::Kind::list, key)) return;
    out.clear();
    for (std::size_t i = 0; i < n.items.size() && !c_.values.full(); ++i) {
      c_.places.set(item_path(key, i), n.items[i].mark);
      out.emplace_back();
      read_item(n.items[i], out.back(), f, key, i);
    }
  }
  void read(const YamlNode& n, std::vector<design::MigSlices>& out, const design::Field& f,
            std::string_view key);
  void read(const YamlNode& n, std::vector<design::KeepRule>& out, const design::Field& f,
            std::string_view key);

  template <class T>
  void read_item(const YamlNode& n, T& out, const design::Field& f, std::string_view key,
                 std::size_t) {
    read(n, out, f, key);
  }
  template <Section T>
  void read_item(const YamlNode& n, T& out, const design::Field&, std::string_view key,
                 std::size_t i) {
    read_section(n, out, item_path(key, i), "this entry of `" + std::string(key) + "`");
  }
  // Reads a tier with the fields that its profile sets, if it names one.
  void read_item(const YamlNode& n, design::StorageTier& out, const design::Field& f,
                 std::string_view key, std::size_t i);
  void read_item(const YamlNode& n, design::Workload& out, const design::Field& f,
                 std::string_view key, std::size_t i);
  void read_item(const YamlNode& n, design::Goal& out, const design::Field& f, std::string_view key,
                 std::size_t i);

  template <class T>
  void read_section(const YamlNode& n, T& out, std::string path, std::string noun) {
    if (!c_.values.expect(n, YamlNode::Kind::map, noun)) return;
    SectionReader inner(c_, n, std::move(path), std::move(noun));
    design::visit_fields(inner, out);
    inner.finish();
  }

  ReadContext& c_;
  const YamlNode& node_;
  std::string path_;
  std::string noun_;
  std::vector<bool> taken_;
  std::vector<std::string> known_;
};

}  // namespace orrery::design_text
