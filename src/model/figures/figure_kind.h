// The kinds of figures: one row per kind, in figure_kinds.def. The review and the run make figures
// from these rows only, so an id, a label, a unit and a meaning are the same everywhere.
#pragma once

#include <cstddef>
#include <cstdint>
#include <iterator>
#include <string>
#include <string_view>

#include "core/base/words.h"
#include "model/figures/unit.h"

namespace orrery::figures {

// The layers of a machine, in the order in which reports list them.
enum class Layer { compute, training, serving, fabric, storage, cluster, failure, facility, cost };
inline constexpr int kLayerCount = 9;
const char* to_text(Layer layer);

// Which direction is better.
enum class Better { lower, higher, neither };
inline constexpr Word<Better> kBetterWords[] = {
    {Better::lower, "lower"}, {Better::higher, "higher"}, {Better::neither, "neither"}};
constexpr WordTable<Better> words_of(Better) { return kBetterWords; }

// Who reports it: the review in closed form, a run in simulated time, or both with one meaning.
enum class Said { review, run, both };
inline constexpr Word<Said> kSaidWords[] = {
    {Said::review, "review"}, {Said::run, "run"}, {Said::both, "both"}};
constexpr WordTable<Said> words_of(Said) { return kSaidWords; }

enum class FigureId : std::uint8_t {
#define FIGURE(id, layer, unit, better, said, label, definition) id,
#include "model/figures/figure_kinds.def"
#undef FIGURE
};

struct FigureKind {
  FigureId id;
  std::string_view word;  // "step_time": in JSON, on the command line, in documents
  Layer layer;
  Unit unit;
  Better better;
  Said said;
  std::string_view label;       // "mean draw of one node of {}"
  std::string_view definition;  // one sentence

  // True if a section may have several, one per fleet, workload or cause.
  constexpr bool is_of_something() const { return label.find("{}") != std::string_view::npos; }
};

inline constexpr FigureKind kFigureKinds[] = {
#define FIGURE(id, layer, unit, better, said, label, definition) \
  {FigureId::id, #id, Layer::layer, Unit::unit, Better::better, Said::said, label, definition},
#include "model/figures/figure_kinds.def"
#undef FIGURE
};
inline constexpr std::size_t kFigureKindCount = std::size(kFigureKinds);

constexpr const FigureKind& kind_of(FigureId id) {
  return kFigureKinds[static_cast<std::size_t>(id)];
}

// "step_time"; with `of`, "rack_power_dgx".
std::string id_text(FigureId id, std::string_view of = {});
// The label of the row with `of` filled in.
std::string label_text(FigureId id, std::string_view of = {});

}  // namespace orrery::figures
