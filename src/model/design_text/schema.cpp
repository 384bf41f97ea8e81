#include "model/design_text/schema.h"

#include <algorithm>

#include "core/base/json_writer.h"
#include "core/base/text.h"
#include "model/design/goals.h"
#include "model/design/part_ids.h"
#include "model/design_text/shape.h"

namespace orrery::design_text {
namespace {

std::string definition_of(std::string_view section) {
  std::string name(section);
  for (char& c : name) {
    if (c == ' ') c = '-';
  }
  return name;
}

class SchemaWriter {
 public:
  explicit SchemaWriter(const catalog::Catalog& catalog) : catalog_(catalog) {}

  std::string run() {
    const auto shape = design_shape();
    json_.begin_object()
        .field("$schema", "https://json-schema.org/draft/2020-12/schema")
        .field("title", "Orrery design")
        .field("description",
               "One AI data centre: site, machines, networks, storage, workloads, costs");
    fields(shape.front());
    // Exactly one of `site` and `sites`.
    json_.key("oneOf").begin_array();
    for (const char* key : {"site", "sites"}) {
      json_.begin_object().key("required").begin_array().value(key).end_array().end_object();
    }
    json_.end_array();
    json_.key("$defs").begin_object();
    for (std::size_t i = 1; i < shape.size(); ++i) {
      json_.key(definition_of(shape[i].name)).begin_object();
      fields(shape[i]);
      json_.end_object();
    }
    json_.end_object().end_object();
    return json_.text() + '\n';
  }

 private:
  void fields(const SectionShape& section) {
    json_.field("type", "object").field("additionalProperties", false);
    required(section);
    json_.key("properties").begin_object();
    for (const FieldShape& f : section.fields) {
      json_.key(f.key).begin_object();
      field(f);
      json_.end_object();
    }
    json_.end_object();
  }

  // A required field of a tier may come from its profile instead.
  void required(const SectionShape& section) {
    const bool by_profile =
        std::ranges::find(section.fields, "profile", &FieldShape::key) != section.fields.end();
    if (by_profile) {
      json_.key("anyOf").begin_array().begin_object().key("required").begin_array();
      json_.value("profile").end_array().end_object().begin_object();
    }
    json_.key("required").begin_array();
    for (const FieldShape& f : section.fields) {
      if (f.field.required && f.key != "site") json_.value(f.key);
    }
    json_.end_array();
    if (by_profile) json_.end_object().end_array();
  }

  void field(const FieldShape& f) {
    std::string doc(f.field.doc);
    if (!f.field.absent.empty()) doc += ". Left out: " + std::string(f.field.absent);
    json_.field("description", doc);
    if (!f.field.required && !f.default_text.empty()) default_value(f);
    if (f.is_list) {
      json_.field("type", "array").key("items").begin_object();
      value(f);
      json_.end_object();
    } else if (f.field.automatic) {
      json_.key("anyOf").begin_array();
      json_.begin_object().field("const", "auto").end_object().begin_object();
      value(f);
      json_.end_object().end_array();
    } else {
      value(f);
    }
  }

  void default_value(const FieldShape& f) {
    if (f.is_list) return;  // the reference describes it in words
    json_.key("default");
    const auto number = parse_number(f.default_text);
    if (f.kind == ValueKind::boolean) {
      json_.value(f.default_text == "true");
    } else if (f.kind == ValueKind::integer && number) {
      json_.value(static_cast<std::int64_t>(*number));
    } else if (number && f.kind != ValueKind::text) {
      json_.value(*number);
    } else {
      json_.value(f.default_text);
    }
  }

  void value(const FieldShape& f) {
    switch (f.kind) {
      case ValueKind::quantity:
      case ValueKind::degrees:
        quantity(f.field.unit);
        break;
      case ValueKind::number:
        json_.key("type").begin_array().value("number").value("string").end_array();
        json_.field("pattern", "^[0-9.]+([eE][+-]?[0-9]+)? ?[kKMBGT]?$");
        bounds(f.field.range);
        break;
      case ValueKind::share:
        json_.key("type").begin_array().value("number").value("string").end_array();
        json_.field("pattern", "^[0-9.]+ ?%?$").field("minimum", 0).field("maximum", 1);
        break;
      case ValueKind::integer:
        json_.field("type", "integer");
        bounds(f.field.range);
        break;
      case ValueKind::boolean:
        json_.field("type", "boolean");
        break;
      case ValueKind::text:
        text(f);
        break;
      case ValueKind::word:
        json_.key("enum").begin_array();
        for (const std::string_view w : f.words) json_.value(w);
        json_.end_array();
        break;
      case ValueKind::section:
        json_.field("$ref", "#/$defs/" + definition_of(f.section));
        break;
      case ValueKind::workload:
        workload();
        break;
      case ValueKind::goal:
        goal();
        break;
      case ValueKind::slices:
        json_.field("type", "object").key("additionalProperties").begin_object();
        json_.field("type", "integer").field("minimum", 1).end_object();
        break;
      case ValueKind::keep_rules:
        json_.field("type", "object").key("additionalProperties").begin_object();
        json_.key("anyOf").begin_array();
        json_.begin_object().field("const", "milestones").end_object();
        json_.begin_object().field("type", "integer").field("minimum", 1).end_object();
        json_.end_array().end_object();
        break;
    }
  }

  void quantity(std::string_view unit) {
    json_.field("type", "string")
        .field("pattern", "^[+-]?[0-9.]+([eE][+-]?[0-9]+)? ?[A-Za-z/]+[A-Za-z/ ]*$");
    json_.key("examples").begin_array().value("1 " + std::string(unit)).end_array();
  }

  void bounds(design::Range range) {
    if (range == design::Range::not_negative) json_.field("minimum", 0);
    if (range == design::Range::positive) json_.field("exclusiveMinimum", 0);
    if (range == design::Range::at_least_one) json_.field("minimum", 1);
  }

  void text(const FieldShape& f) {
    json_.key("type").begin_array().value("string").value("number").end_array();
    const auto ids = design::part_ids(catalog_, f.field.part);
    if (ids.empty()) return;
    // A model may also be a file, and a provider may be unknown if a price is given, so ids are
    // only suggestions.
    const bool open = f.field.part == design::Part::model || f.field.part == design::Part::provider;
    json_.key(open ? "examples" : "enum").begin_array();
    if (!open && f.default_text.empty() && !f.is_optional) json_.value("");
    for (const std::string& id : ids) json_.value(id);
    json_.end_array();
  }

  void workload() {
    json_.field("type", "object")
        .field("minProperties", 1)
        .field("maxProperties", 1)
        .field("additionalProperties", false)
        .key("properties")
        .begin_object();
    for (const char* kind : {"train", "serve", "jobs", "batch"}) {
      json_.key(kind).begin_object().field("$ref", "#/$defs/" + std::string(kind)).end_object();
    }
    json_.end_object();
  }

  void goal() {
    std::string metrics;
    for (const design::GoalMetric& m : design::goal_metrics()) {
      metrics += (metrics.empty() ? "" : "|") + std::string(m.name);
    }
    json_.field("type", "string").field("pattern", "^(" + metrics + ") *(<|<=|>=|>) *[0-9.].*$");
  }

  const catalog::Catalog& catalog_;
  JsonWriter json_;
};

}  // namespace

std::string design_schema(const catalog::Catalog& catalog) { return SchemaWriter(catalog).run(); }

}  // namespace orrery::design_text
