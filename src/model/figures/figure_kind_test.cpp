// The table of figures: every row says what it is in words, and an id names one figure only.
#include "model/figures/figure_kind.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>

#include "model/figures/figure.h"

namespace orrery::figures {
namespace {

using testing::EndsWith;
using testing::HasSubstr;
using testing::Not;

TEST(FigureKinds, every_row_has_an_id_a_label_and_a_sentence) {
  std::set<std::string_view> words;
  for (const FigureKind& k : kFigureKinds) {
    EXPECT_EQ(&kind_of(k.id), &k) << k.word;
    EXPECT_TRUE(words.insert(k.word).second) << k.word << " is there twice";
    EXPECT_EQ(k.word.find_first_not_of("abcdefghijklmnopqrstuvwxyz0123456789_"), k.word.npos);
    EXPECT_FALSE(k.label.empty()) << k.word;
    EXPECT_THAT(std::string(k.definition), EndsWith(".")) << k.word;
    EXPECT_GT(k.definition.size(), 15U) << k.word;
  }
}

// Figures of one kind in one section differ by their subject, in the id and in the label.
TEST(FigureKinds, several_of_one_kind_have_ids_and_labels_of_their_own) {
  const Figure a{.kind = FigureId::rack_power, .of = "train", .estimate = {}};
  const Figure b{.kind = FigureId::rack_power, .of = "cpu hosts", .estimate = {}};
  EXPECT_EQ(a.id(), "rack_power_train");
  EXPECT_EQ(b.id(), "rack_power_cpu_hosts");
  EXPECT_THAT(a.label(), HasSubstr("train"));
  EXPECT_THAT(b.label(), HasSubstr("cpu hosts"));
  EXPECT_THAT(b.label(), Not(HasSubstr("{}")));
  const Figure one{.kind = FigureId::step_time, .estimate = {}};
  EXPECT_EQ(one.id(), "step_time");
  EXPECT_EQ(one.label(), kind_of(FigureId::step_time).label);
}

// "rack_power_dgx" could be a figure of its own only if a word began with "rack_power_".
TEST(FigureKinds, no_id_can_be_read_as_another) {
  for (const FigureKind& several : kFigureKinds) {
    if (!several.is_of_something()) continue;
    for (const FigureKind& other : kFigureKinds) {
      if (several.layer != other.layer) continue;
      EXPECT_FALSE(other.word.starts_with(std::string(several.word) + "_"))
          << several.word << " of something could be " << other.word;
    }
  }
}

TEST(FigureKinds, a_figure_has_unit_and_label_of_its_row) {
  const Figure f{.kind = FigureId::draw_nameplate, .estimate = exact(5e5, Basis::derived, "")};
  EXPECT_EQ(f.unit(), Unit::watts);
  const Number n = number_of(f);
  EXPECT_EQ(n.id, "draw_nameplate");
  EXPECT_EQ(n.label, f.label());
  EXPECT_EQ(n.estimate.value, 5e5);
}

TEST(FigureKinds, layers_have_their_names) {
  const char* layers[] = {"compute", "training", "serving",  "fabric", "storage",
                          "cluster", "failure",  "facility", "cost"};
  for (int i = 0; i < kLayerCount; ++i) EXPECT_STREQ(to_text(static_cast<Layer>(i)), layers[i]);
}

}  // namespace
}  // namespace orrery::figures
