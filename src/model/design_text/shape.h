// The design file described as data: its sections and their fields, read from the table in
// fields.h. The JSON Schema, the reference in docs/guide and completion are generated from it.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/units.h"
#include "model/design/fields.h"

namespace orrery::design_text {

enum class ValueKind {
  quantity,  // a number and a unit
  degrees,   // a number and C
  number,    // plain, or with K, M, B, T
  share,     // 0 to 1, or a percentage
  integer,
  boolean,
  text,
  word,      // one of a fixed set
  section,   // of keys
  workload,  // one key, the kind, with a section below
  goal,
  slices,     // MIG profile: count
  keep_rules  // tier: count or milestones
};

struct FieldShape {
  std::string key;
  design::Field field;
  ValueKind kind = ValueKind::text;
  bool is_list = false;
  bool is_optional = false;
  Dimension dimension{};                    // of a quantity
  std::span<const std::string_view> words;  // of a word
  std::string section;                      // name of the section below
  std::string default_text;                 // as written in the file; empty if there is none
};

struct SectionShape {
  std::string name;  // "fleet entry"
  std::vector<FieldShape> fields;
};

// The file itself first, then every section in the order of its first use.
std::vector<SectionShape> design_shape();

}  // namespace orrery::design_text
