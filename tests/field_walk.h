// All places in a design file that hold a value, each with other values to try there.
//
// This is a visitor of visit_fields, so it covers every field of the table. A variant has a
// direction: +1 is more than the current value (or true), -1 is less (or false), 0 is only
// different (another word, or so different that other limits apply).
#pragma once

#include <fmt/core.h>

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "core/base/text.h"
#include "core/base/units.h"
#include "model/design/design.h"
#include "model/design/fields_design.h"
#include "model/design/goals.h"
#include "model/design/names.h"
#include "model/design/part_ids.h"
#include "model/design_text/change.h"

namespace orrery {

struct Variant {
  std::string value;
  int way = 0;
  // Further changes that keep the file readable, such as shares that must add up to one.
  std::vector<design_text::Change> also = {};
};

struct FieldPlace {
  std::string section;  // such as "fleet entry", as in the reference
  std::string key;
  std::string path;
  std::string now;  // the current value in the file
  design::Field field;
  std::vector<Variant> variants;
};

class FieldWalk {
 public:
  FieldWalk(const design::Design& design, const catalog::Catalog& catalog)
      : design_(design), catalog_(catalog) {
    section_ = "design";
    visit_fields(*this, design);
  }
  std::vector<FieldPlace> places;

  template <class T>
  void operator()(std::string_view key, const T& member, const design::Field& field) {
    const std::string path = path_.empty() ? std::string(key) : path_ + "." + std::string(key);
    if (!design_.places.given(path)) return;
    FieldPlace place{.section = section_, .key = std::string(key), .path = path, .field = field};
    visit(member, place);
  }
  void sites(const std::vector<design::Site>& all) {
    const bool listed = design_.places.given("sites[0]");
    for (std::size_t i = 0; i < all.size(); ++i) {
      inside("site", listed ? fmt::format("sites[{}]", i) : "site", all[i]);
    }
  }

 private:
  template <class T>
  void inside(const std::string& section, const std::string& path, const T& member) {
    const std::string outer_section = std::exchange(section_, section);
    const std::string outer_path = std::exchange(path_, path);
    visit_fields(*this, member);
    section_ = outer_section;
    path_ = outer_path;
  }
  void add(FieldPlace& place, std::string now, std::vector<Variant> variants) {
    place.now = std::move(now);
    place.variants = std::move(variants);
    places.push_back(place);
  }

  template <int... E>
  void visit(const Quantity<E...>& q, FieldPlace& p) {
    const auto text = [&](double factor) { return quantity_to_text(q.base() * factor, {E...}); };
    add(p, text(1), {{text(1.5), 1}, {text(0.5), -1}, {text(20), 0}, {text(0.02), 0}});
  }
  void visit(double v, FieldPlace& p) {
    const std::string unit = p.field.unit.empty() ? "" : " " + std::string(p.field.unit);
    std::vector<Variant> all = {{shortest(v * 0.5) + unit, -1}};
    const bool share = is_share(p.field.range);
    all.push_back({shortest(share ? (1 + v) / 2 : v * 1.5) + unit, 1});
    if (!share) all.push_back({shortest(v * 20) + unit, 0});
    if (share) all.push_back({"0.001", 0});
    if (p.field.range == design::Range::at_least_one) all.erase(all.begin());
    if (p.section == "zones" && p.key == "share") all = shifted_shares(v, p);
    add(p, shortest(v) + unit, std::move(all));
  }
  // Moves half of a zone's share to its neighbour.
  static std::vector<Variant> shifted_shares(double v, const FieldPlace& p) {
    const std::size_t open = p.path.rfind('[');
    const std::size_t close = p.path.rfind(']');
    const int index = std::stoi(p.path.substr(open + 1, close - open - 1));
    const std::string other =
        fmt::format("{}[{}]{}", p.path.substr(0, open), 1 - index % 2, p.path.substr(close + 1));
    return {{shortest(v / 2), -1, {{other, shortest(1 - v / 2)}}}};
  }
  void visit(int v, FieldPlace& p) {
    add(p, std::to_string(v),
        {{std::to_string(v * 2), 1},
         {std::to_string(std::max(v / 2, v > 1 ? 1 : 0)), -1},
         {std::to_string(v + 1), 0},
         {std::to_string(v * 16), 0}});
  }
  void visit(bool v, FieldPlace& p) {
    add(p, v ? "true" : "false", {{v ? "false" : "true", v ? -1 : 1}});
  }
  void visit(const std::string& v, FieldPlace& p) {
    std::vector<Variant> all;
    if (p.field.part != design::Part::none) {
      const auto ids = part_ids(catalog_, p.field.part);
      const std::size_t step = std::max<std::size_t>(1, ids.size() / 12);
      for (std::size_t i = 0; i < ids.size(); i += step) {
        if (ids[i] != v) all.push_back({ids[i], 0});
      }
    } else if (p.key == "fleet") {
      for (const design::Fleet& f : design_.fleet) all.push_back({f.name, 0});
    } else if (p.key == "site") {
      for (const design::Site& s : design_.sites) all.push_back({s.name, 0});
    } else if (p.key == "workload" || p.key == "service") {
      for (const design::Workload& w : design_.workloads) all.push_back({label_of(design_, w), 0});
    } else if (p.key == "tier" || p.key == "caches" || p.key == "weights_tier" || p.key == "from" ||
               p.key == "to") {
      for (const design::StorageTier& t : design_.storage) {
        all.push_back({std::string(t.label()), 0});
      }
      all.push_back({"", 0});
    } else if (p.key == "residency") {
      all = {{"deu", 0}, {"usa", 0}, {"", 0}};
    } else if (p.key == "trace") {
      all = {{"code", 0}, {"summary", 0}, {"", 0}};
    } else if (p.key == "hours") {
      all = {{"hours.csv", 0}, {"weather.csv", 0}, {"", 0}};
    } else if (p.key == "place") {
      all = {{"rados:another/namespace", 0}, {"", 0}};
    } else if (p.key == "engine") {
      all = {{"sglang", 0}, {"tensorrt-llm", 0}, {"tgi", 0}};
    } else {
      all = {{"another", 0}, {"", 0}};
    }
    std::erase_if(all, [&](const Variant& x) { return x.value == v; });
    add(p, v, std::move(all));
  }
  template <class T>
    requires std::is_enum_v<T>
  void visit(T v, FieldPlace& p) {
    std::vector<Variant> all;
    for (const std::string_view word : word_list<T>()) {
      if (word != word_of(v)) all.push_back({std::string(word), 0});
    }
    add(p, std::string(word_of(v)), std::move(all));
  }
  template <class T>
  void visit(const std::optional<T>& v, FieldPlace& p) {
    if (v) visit(*v, p);
  }
  void visit(const std::vector<design::MigSlices>& all, FieldPlace& p) {
    if (!all.empty()) add(p, "slices", {{"{ " + all[0].profile + ": 1 }", 0}, {"", 0}});
  }
  void visit(const std::vector<design::KeepRule>& all, FieldPlace& p) {
    if (!all.empty()) add(p, "rules", {{"", 0}});
  }
  void visit(const std::vector<design::Goal>& goals, FieldPlace& p) {
    if (!goals.empty()) add(p, "goals", {{"", 0}});
  }
  void visit(const std::vector<std::string>& all, FieldPlace& p) {
    std::vector<Variant> variants = {{"", 0}};
    if (all.size() > 1) variants.push_back({"[" + all.front() + "]", 0});
    if (p.key == "between") {
      for (const design::Site& s : design_.sites) {
        if (s.name != all.front() && s.name != all.back()) {
          variants.push_back({"[" + all.front() + ", " + s.name + "]", 0});
        }
      }
    }
    if (p.key == "targets") variants.push_back({"[qkv, o, mlp]", 0});
    add(p, "list", std::move(variants));
  }
  template <class T>
    requires std::is_arithmetic_v<T>
  void visit(const std::vector<T>& all, FieldPlace& p) {
    std::string more;
    for (const T& v : all)
      more += (more.empty() ? "" : ", ") + shortest(static_cast<double>(v * 2));
    std::string other;
    for (std::size_t i = 0; i < all.size(); ++i) {
      other += (other.empty() ? "" : ", ") + shortest(static_cast<double>(all[all.size() - 1 - i]));
    }
    add(p, "list", {{"[" + more + "]", 0}, {"[" + other + "]", 0}});
  }
  void visit(const std::vector<design::Workload>& all, FieldPlace& p) {
    for (std::size_t i = 0; i < all.size(); ++i) {
      const std::string kind = design::kind_of(all[i]);
      const std::string path = fmt::format("{}[{}].{}", p.path, i, kind);
      inside(kind, path, all[i].terms);
      std::visit([&](const auto& task) { inside(kind, path, task); }, all[i].task);
    }
  }
  template <class T>
    requires requires(FieldWalk& w, const T& t) { visit_fields(w, t); }
  void visit(const T& section, FieldPlace& p) {
    inside(p.key, p.path, section);
  }
  template <class T>
    requires requires(FieldWalk& w, const T& t) { visit_fields(w, t); }
  void visit(const std::vector<T>& all, FieldPlace& p) {
    for (std::size_t i = 0; i < all.size(); ++i) {
      inside(p.key, fmt::format("{}[{}]", p.path, i), all[i]);
    }
  }

  const design::Design& design_;
  const catalog::Catalog& catalog_;
  std::string section_;
  std::string path_;
};

}  // namespace orrery
