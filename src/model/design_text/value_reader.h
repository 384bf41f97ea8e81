// Reads scalars of the design file: text to a typed value, or a Diagnostic with place, reason and
// fix.
#pragma once

#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/units.h"
#include "model/design/fields.h"
#include "model/design/part_ids.h"
#include "model/design_text/yaml_tree.h"

namespace orrery::design_text {

// Largest count: a larger one is a slip, and would overflow what is computed from it.
inline constexpr std::int64_t kMostCount = 10'000'000;
inline constexpr double kLargestNumber = 1e30;
inline constexpr std::size_t kLongestText = 4096;
// Most faults reported for one file.
inline constexpr std::size_t kMostDiagnostics = 100;

class ValueReader {
 public:
  ValueReader(const catalog::Catalog& catalog, const std::string& file, Diagnostics& faults)
      : catalog_(catalog), file_(file), faults_(faults) {}

  struct Fault {
    std::string_view code;
    std::string what;
    std::string why = {};
    std::string fix = {};
  };
  void complain(design::Mark at, Fault fault);
  bool full() const { return faults_.size() >= kMostDiagnostics; }

  // Returns nullopt after a complaint. `key` is the field's name in messages.
  std::optional<double> quantity(const YamlNode& node, std::string_view key,
                                 const design::Field& field, const Dimension& dimension);
  std::optional<double> number(const YamlNode& node, std::string_view key,
                               const design::Field& field);
  std::optional<int> integer(const YamlNode& node, std::string_view key,
                             const design::Field& field);
  std::optional<bool> boolean(const YamlNode& node, std::string_view key);
  std::optional<std::string> text(const YamlNode& node, std::string_view key,
                                  const design::Field& field);
  // Returns the index of the word.
  std::optional<std::size_t> word(const YamlNode& node, std::string_view key,
                                  std::span<const std::string_view> words);

  bool expect(const YamlNode& node, YamlNode::Kind kind, std::string_view key);
  void unknown_key(const YamlNode::Key& key, const std::vector<std::string>& known,
                   std::string_view section);
  void not_yet(design::Mark at, std::string_view key, const design::Field& field);
  void missing(design::Mark at, std::string_view key, std::string_view section,
               const design::Field& field);

  const catalog::Catalog& catalog() const { return catalog_; }
  const std::vector<std::string>& ids(design::Part part);

 private:
  bool in_range(double value, design::Mark at, std::string_view key, std::string_view text,
                const design::Field& field);
  void check_part(const std::string& id, design::Mark at, design::Part part);
  std::optional<double> quantity_fault(const YamlNode& node, std::string_view key,
                                       const design::Field& field, UnitFault fault);

  const catalog::Catalog& catalog_;
  const std::string& file_;
  Diagnostics& faults_;
  std::map<design::Part, std::vector<std::string>> ids_;
};

}  // namespace orrery::design_text
