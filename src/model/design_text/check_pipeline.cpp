#include <fmt/core.h>

#include <algorithm>
#include <map>

#include "core/base/text.h"
#include "model/design/names.h"
#include "model/design_text/checks.h"

namespace orrery::design_text {
namespace {

class PipelineCheck {
 public:
  PipelineCheck(design::Design& design, ValueReader& values) : d_(design), v_(values) {}

  void run() {
    if (d_.pipeline.stages.empty()) {
      if (d_.places.given("pipeline")) {
        complain("pipeline", {"design.pipeline", "this pipeline has no stages", "nothing would run",
                              "add `stages: [{ stage: ingest, ... }]`, or remove it"});
      }
      return;
    }
    for (std::size_t i = 0; i < d_.pipeline.stages.size(); ++i) {
      path_ = fmt::format("pipeline.stages[{}]", i);
      const design::Stage& s = d_.pipeline.stages[i];
      word_ = word_of(s.stage);
      named_once(i, s);
      if (design::moves_bytes(s.stage)) {
        moves(i, s);
      } else {
        works(s);
      }
      waits(i, s);
    }
  }

 private:
  void complain(std::string_view path, ValueReader::Fault fault) {
    v_.complain(d_.places.find(path), std::move(fault));
  }
  void refuse(std::string_view key, std::string what, std::string why, std::string fix) {
    complain(path_ + '.' + std::string(key),
             {"design.pipeline", std::move(what), std::move(why), std::move(fix)});
  }
  void unknown(std::string_view key, std::string_view noun, const std::string& name,
               const std::vector<std::string>& known) {
    const auto close = nearest(name, known);
    complain(path_ + '.' + std::string(key),
             {"design.unknown-name",
              fmt::format("this file has no {} `{}`", noun, name),
              {},
              close ? fmt::format("did you mean `{}`?", *close)
                    : std::string("add it, or use an existing name")});
  }

  void named_once(std::size_t i, const design::Stage& s) {
    const auto& all = d_.pipeline.stages;
    const auto first = std::ranges::find(all, s.label(), &design::Stage::label);
    if (s.label() == design::kCycleBegins) {
      refuse("name", "a stage cannot be called `begin`",
             "`after: [begin]` means the start of the cycle", "choose another name");
    } else if (first != all.begin() + static_cast<std::ptrdiff_t>(i)) {
      complain(path_ + ".name",
               {"design.duplicate-name", fmt::format("two entries are the stage `{}`", s.label()),
                "other stages wait for it by this name", "give each stage its own `name`"});
    }
  }

  void lacks(bool is_given, std::string_view key, std::string_view why, std::string_view fix) {
    if (is_given) return;
    complain(path_, {"design.missing", fmt::format("a stage of kind {} lacks `{}`", word_, key),
                     std::string(why), std::string(fix)});
  }
  void has_no(bool is_given, std::string_view key, std::string_view why) {
    if (!is_given) return;
    refuse(key, fmt::format("a stage of kind {} has no `{}`", word_, key), std::string(why),
           fmt::format("remove `{}`", key));
  }

  void tier(const std::string& label, std::string_view key) {
    if (label.empty()) return;
    const design::StorageTier* found = design::find_tier(d_, label);
    std::vector<std::string> known;
    for (const design::StorageTier& t : d_.storage) known.emplace_back(t.label());
    const bool in_nodes =
        found ? found->tier == design::Tier::node_nvme : label == word_of(design::Tier::node_nvme);
    if (in_nodes) {
      refuse(key, fmt::format("`{}` is on drives in the nodes", label),
             "a stage moves bytes between shared tiers; drives in many nodes are not one place",
             "name a shared tier");
    } else if (!found) {
      unknown(key, "storage tier", label, known);
    }
  }

  void moves(std::size_t i, const design::Stage& s) {
    has_no(!s.workload.empty(), "workload", "a stage that moves bytes has no workload");
    lacks(!s.to.empty(), "to", "it writes to a tier", "add `to: warm`");
    tier(s.to, "to");
    if (s.stage == design::DataStage::ingest) {
      has_no(!s.from.empty(), "from", "an ingest reads from outside the site");
      lacks(s.rate.has_value(), "rate", "without it the rate of the line from outside is unknown",
            "add `rate: 100 Gb/s`");
    } else {
      lacks(!s.from.empty(), "from", "it reads a tier", "add `from: hot`");
      tier(s.from, "from");
    }
    if (!s.from.empty() && s.from == s.to) {
      refuse("to", fmt::format("`{}` is the tier that it reads", s.to), "nothing would move",
             "name another tier");
    }
    const bool is_model =
        s.stage == design::DataStage::enrol || s.stage == design::DataStage::deploy;
    const auto& all = d_.pipeline.stages;
    const auto above = all.begin() + static_cast<std::ptrdiff_t>(i);
    const bool has_model = is_model && std::find_if(all.begin(), above, [](const design::Stage& t) {
                                         return t.stage == design::DataStage::train;
                                       }) != above;
    lacks(s.size || has_model, "size",
          is_model ? "without a training stage above it, no weights give its size"
                   : "it says how many bytes move per cycle",
          "add `size: 10 TB`");
  }

  void works(const design::Stage& s) {
    constexpr std::string_view kWhy = "its workload says what is read and written";
    has_no(!s.from.empty(), "from", kWhy);
    has_no(!s.to.empty(), "to", kWhy);
    has_no(s.size.has_value(), "size", kWhy);
    has_no(s.rate.has_value(), "rate", kWhy);
    has_no(s.keep.has_value(), "keep", kWhy);
    lacks(!s.workload.empty(), "workload", "the stage runs one of the design's workloads",
          "add `workload: NAME`");
    if (s.workload.empty()) return;
    design::Workload* work = find(s.workload);
    if (work == nullptr) return unknown("workload", "workload", s.workload, labels());
    if (std::ranges::count(d_.pipeline.stages, s.workload, &design::Stage::workload) > 1) {
      refuse("workload", fmt::format("two stages run the workload `{}`", s.workload),
             "a workload runs once per cycle", "describe it twice, under two names");
    }
    if (!can_be(s.stage, *work)) {
      refuse("workload",
             fmt::format("`{}` is a workload of kind {}", s.workload, design::kind_of(*work)),
             s.stage == design::DataStage::serve ? "only a service serves"
             : s.stage == design::DataStage::train
                 ? "only a training run trains"
                 : "the stage needs a batch or a training run, which ends",
             "name another workload");
      return;
    }
    comes_back(*work, s);
  }

  static bool can_be(design::DataStage stage, const design::Workload& w) {
    if (stage == design::DataStage::serve) return std::holds_alternative<design::Serve>(w.task);
    if (std::holds_alternative<design::Train>(w.task)) return true;
    return stage != design::DataStage::train && std::holds_alternative<design::Batch>(w.task);
  }

  std::vector<std::string> labels() const {
    std::vector<std::string> all;
    for (const design::Workload& w : d_.workloads) all.push_back(design::label_of(d_, w));
    return all;
  }
  design::Workload* find(const std::string& name) {
    for (design::Workload& w : d_.workloads) {
      if (design::label_of(d_, w) == name) return &w;
    }
    return nullptr;
  }

  void comes_back(design::Workload& work, const design::Stage& s) {
    auto* train = std::get_if<design::Train>(&work.task);
    auto* batch = std::get_if<design::Batch>(&work.task);
    if (train == nullptr && batch == nullptr) return;
    std::optional<design::Recurrence>& repeat = train ? train->repeat : batch->repeat;
    const std::optional<Seconds>& every = d_.pipeline.every;
    if (repeat && (!every || repeat->every != *every)) {
      refuse("workload", fmt::format("`{}` has a different period of its own", s.workload),
             "as a stage it runs once in every cycle of the pipeline",
             "remove its `repeat`, or give it the pipeline's `every`");
    } else if (!repeat && every) {
      repeat = design::Recurrence{.every = *every, .window = {}};
    } else if (!every && train && !train->runs) {
      train->runs = 1;
    } else if (!every && train && *train->runs != 1) {
      refuse("workload", fmt::format("`{}` runs {} times per year", s.workload, *train->runs),
             "a pipeline without `every` runs once",
             "remove its `runs`, or give the pipeline `every`");
    }
  }

  void waits(std::size_t i, const design::Stage& s) {
    const auto& all = d_.pipeline.stages;
    for (const std::string& name : s.after) {
      if (name == design::kCycleBegins) continue;
      const auto found = std::ranges::find(all, name, &design::Stage::label);
      if (found == all.end()) {
        std::vector<std::string> known;
        for (std::size_t j = 0; j < i; ++j) known.emplace_back(all[j].label());
        unknown("after", "stage", name, known);
      } else if (found - all.begin() >= static_cast<std::ptrdiff_t>(i)) {
        refuse("after", fmt::format("`{}` is below it in the list", name),
               "a stage waits only for stages above it, so that none waits for itself",
               "write the stages in the order in which they run");
      }
    }
  }

  design::Design& d_;
  ValueReader& v_;
  std::string path_;
  std::string_view word_;
};

}  // namespace

void check_pipeline(design::Design& design, ValueReader& values) {
  PipelineCheck(design, values).run();
}

}  // namespace orrery::design_text
