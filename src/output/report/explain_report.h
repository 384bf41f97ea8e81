// What `orrery explain` shows besides claims: rules, the glossary, one figure of a review.
//
// The glossary is data/glossary.csv; docs/guide/glossary.md is its Markdown.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/diagnostic.h"
#include "output/report/document.h"
#include "plan/rules/rules.h"
#include "plan/verdict/verdict.h"

namespace orrery::report {

struct GlossaryEntry {
  std::string word;
  std::string stands_for;  // empty if the word is not an abbreviation
  std::string meaning;
  std::vector<std::string> avoided;  // words that we do not use for it

  // Returns true if `wanted` is the word or one of the avoided words, in any case.
  bool is_named(std::string_view wanted) const;
};
Result<std::vector<GlossaryEntry>> read_glossary(const catalog::Knowledge& knowledge);

Document document_of(std::span<const GlossaryEntry> entries);
// Returns the definition of a term: "long form: meaning", and which words we do not use for it.
std::string definition_of(const GlossaryEntry& entry);
std::string json_of(std::span<const GlossaryEntry> entries);

Document document_of(std::span<const rules::Rule> rules);
std::string json_of(std::span<const rules::Rule> rules);

// Describes a storage profile: what it is for, what it sets, and why.
Document document_of(const catalog::StorageProfile& profile, const catalog::Catalog& catalog);
Document document_of(std::span<const catalog::StorageProfile> profiles);
std::string json_of(std::span<const catalog::StorageProfile> profiles,
                    const catalog::Catalog& catalog);

// A figure and its section in a verdict.
struct PlacedFigure {
  const figures::Section* section = nullptr;
  const figures::Figure* figure = nullptr;

  std::string path() const;  // returns "training.step_time"
};
// Returns the figures of a name: "id", "layer.id" or "layer"; an empty name means all. The result
// points into the verdict.
std::vector<PlacedFigure> figures_named(const verdict::Verdict& v, std::string_view name);
// Returns every name that figures_named accepts, for suggestions.
std::vector<std::string> figure_names(const verdict::Verdict& v);

// Describes one figure in full (value, interval, basis, formula, inputs), or lists several with
// names and values.
Document document_of(std::span<const PlacedFigure> figures, bool in_full);
std::string json_of(std::span<const PlacedFigure> figures);

}  // namespace orrery::report
