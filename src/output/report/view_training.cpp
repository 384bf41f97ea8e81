#include "output/report/view_training.h"

#include <fmt/core.h>

#include <algorithm>

#include "core/base/json_writer.h"
#include "core/base/units.h"
#include "layers/training/interleaved.h"
#include "layers/training/stage_memory.h"
#include "layers/training/trace.h"
#include "model/jobs/train_run.h"
#include "output/report/figure_json.h"
#include "plan/verdict/sections.h"
#include "plan/verdict/verdict.h"

namespace orrery::report {
namespace {

struct Asked {
  const review::TrainView* view = nullptr;
  std::optional<jobs::TrainingRun> run;  // none for a plain network
};

Result<jobs::TrainingRun> run_of(const review::Review& r, const review::TrainView& view) {
  auto run = training_run(view, *r.machine);
  if (run) return run;
  return fail({.code = "training.infeasible",
               .place = design::place_of(r.design(), view.path),
               .what = view.label + ": " + run.error().front().what,
               .why = run.error().front().why,
               .fix = "change batch, layout or nodes of this workload"});
}

Result<Asked> ask(const review::Review& review, const std::string& workload) {
  Asked a;
  for (const review::TrainView& t : review.trains) {
    if (workload.empty() || t.label == workload) {
      a.view = &t;
      break;
    }
  }
  if (a.view == nullptr) {
    return fail({.code = "training.no-workload",
                 .what = workload.empty()
                             ? "the design trains nothing"
                             : "there is no workload '" + workload.substr(0, 80) + "' that trains",
                 .fix = "name one of `workloads`, or add a `train`"});
  }
  if (a.view->fleet == nullptr || a.view->fleet->accelerator() == nullptr) {
    return fail({.code = "training.infeasible", .what = a.view->infeasible});
  }
  if (a.view->model == nullptr) return a;
  auto run = run_of(review, *a.view);
  if (!run) return std::unexpected(run.error());
  a.run = *std::move(run);
  return a;
}

void write_layout(JsonWriter& w, const training::Layout& l, const std::string& text) {
  w.key("layout").begin_object().field("text", text);
  w.field("tp", l.tp).field("pp", l.pp).field("vp", l.vp).field("dp", l.dp).field("cp", l.cp);
  w.field("ep", l.ep).field("microbatch", l.microbatch).field("sharding", to_text(l.sharding));
  w.field("recompute", to_text(l.recompute)).field("schedule", to_text(l.schedule));
  w.field("sequence_parallel", l.sequence_parallel).end_object();
}

void write_part(JsonWriter& w, std::string_view id, std::string_view label, double seconds,
                double whole) {
  if (seconds <= 0) return;
  w.begin_object().field("id", id).field("label", label).field("time_s", seconds);
  w.field("share_ratio", whole > 0 ? seconds / whole : 0.0).end_object();
}

void write_step(JsonWriter& w, const jobs::TrainingPrediction& p) {
  w.key("step").begin_object().field("time_s", p.step_time_s.value);
  w.field("low_s", p.step_time_s.low).field("high_s", p.step_time_s.high);
  w.key("parts").begin_array();
  for (int i = 0; i < training::kStepPhaseCount; ++i) {
    const auto phase = static_cast<training::StepPhase>(i);
    write_part(w, word_of(phase), to_text(phase), p.step.part(phase), p.step.seconds);
  }
  w.end_array().end_object();
}

void write_stage(JsonWriter& w, int index, const training::StageMemory& m, Bytes limit) {
  w.begin_object().field("stage", index).field("total_bytes", m.total().base());
  w.key("parts").begin_array();
  const auto part = [&](std::string_view id, std::string_view label, Bytes bytes) {
    w.begin_object().field("id", id).field("label", label).field("bytes", bytes.base());
    w.field("limit_share_ratio", limit > Bytes(0) ? bytes / limit : 0.0).end_object();
  };
  part("weights", "weights", m.weights);
  part("gradients", "gradients", m.gradients);
  part("optimizer", "optimizer state", m.optimizer);
  part("activations", "activations", m.activations);
  part("logits", "logits", m.logits);
  part("workspace", "workspace and buffers", m.workspace);
  w.end_array().end_object();
}

void write_memory(JsonWriter& w, const jobs::TrainingRun& run, const machine::Models& models) {
  const jobs::TrainingPrediction& p = run.prediction;
  training::StepScratch scratch;
  const training::FrameworkModel framework = framework_of(models, run.query);
  const auto stages = memory_by_stage(job_of(run.query), p.layout, framework, scratch);
  w.key("memory").begin_object().field("limit_bytes", p.memory_limit.base());
  w.field("peak_stage", p.memory.peak_stage).key("stages").begin_array();
  for (std::size_t i = 0; i < stages.size(); ++i) {
    write_stage(w, static_cast<int>(i), stages[i], p.memory_limit);
  }
  w.end_array().end_object();
}

std::string timeline_note(const jobs::TrainingPrediction& p, int drawn) {
  std::string note;
  if (drawn < p.step.microbatches) {
    note = fmt::format("{} of {} microbatches are drawn; the others repeat those in the middle.",
                       drawn, p.step.microbatches);
  }
  const catalog::Schedule schedule = p.layout.schedule;
  if (p.layout.pp > 1 && (schedule == catalog::Schedule::zero_bubble ||
                          schedule == catalog::Schedule::dualpipe)) {
    note += (note.empty() ? "" : " ");
    note +=
        "Drawn as 1F1B with the same stage times; the bubbles of the real schedule are smaller.";
  }
  return note;
}

// Chunks of layers per stage if the schedule is interleaved, else 1.
int chunks_of(const jobs::TrainingPrediction& p) {
  const bool interleaved = p.layout.schedule == catalog::Schedule::one_f_one_b ||
                           p.layout.schedule == catalog::Schedule::interleaved;
  return interleaved && p.step.stages.count > 1 ? std::max(1, p.layout.vp) : 1;
}

void write_timeline(JsonWriter& w, const jobs::TrainingPrediction& p) {
  const int stages = std::max(1, p.step.stages.count);
  const int chunks = chunks_of(p);
  const int most =
      std::clamp(kMostTimelineBlocks / (2 * stages * chunks), 1, training::kTracedMicrobatches);
  const int drawn = std::min(p.step.microbatches, most);
  const auto blocks = chunks > 1 ? interleaved_blocks(p.step.stages, drawn, chunks)
                                 : schedule_blocks(p.step.stages, drawn);
  double end = 0;
  for (const training::TraceBlock& b : blocks) end = std::max(end, b.start_s + b.seconds);
  w.key("timeline").begin_object().field("stages", stages);
  if (chunks > 1) w.field("chunks", chunks);
  w.field("microbatches", p.step.microbatches).field("microbatches_drawn", drawn);
  w.field("end_s", end).field("note", timeline_note(p, drawn)).key("blocks").begin_array();
  for (const training::TraceBlock& b : blocks) {
    w.begin_object().field("stage", b.stage).field("microbatch", b.microbatch);
    if (chunks > 1) w.field("chunk", b.chunk);
    w.field("kind", b.backward ? "backward" : "forward").field("start_s", b.start_s);
    w.field("time_s", b.seconds).end_object();
  }
  w.end_array().end_object();
}

void write_search(JsonWriter& w, const jobs::TrainingQuery& q) {
  w.key("search").begin_object().field("kind", "search-layout").field("model", q.model.id);
  w.field("accelerator", q.accelerator->id).field("gpus", q.gpus).field("batch", q.batch);
  w.field("sequence", static_cast<std::int64_t>(q.sequence));
  w.field("precision", to_text(q.precision));
  if (q.nic > BytesPerSecond(0)) w.field("nic", to_text(q.nic));
  w.end_object();
}

void write_figures(JsonWriter& w, const review::Review& r, const review::TrainView& view) {
  w.key("figures").begin_object();
  for (const figures::Section& s : verdict::training_sections(r)) {
    if (s.layer != figures::Layer::training || s.name != view.label) continue;
    for (const figures::Figure& f : s.figures) write_figure(w, f);
    break;
  }
  w.end_object();
}

// Writes a plain network (not a transformer): data parallel, one stage, with the parts of its
// model.
void write_plain(JsonWriter& w, const review::TrainView& v) {
  const jobs::StepPlan& plan = v.step;
  write_layout(w, {.dp = v.accelerators, .sharding = catalog::Sharding::none}, plan.layout);
  w.field("layout_chosen", true).field("fits", v.feasible());
  w.key("step").begin_object().field("time_s", plan.step.base());
  w.field("low_s", plan.step.base() / (1 + plan.error));
  w.field("high_s", plan.step.base() * (1 + plan.error)).key("parts").begin_array();
  for (const jobs::StepSlice& s : plan.parts) {
    std::string id = s.name;
    std::ranges::replace(id, ' ', '-');
    write_part(w, id, s.name, s.time.base(), plan.step.base());
  }
  w.end_array().end_object();
  w.key("memory").begin_object().field("limit_bytes", plan.memory_limit.base());
  w.field("peak_stage", 0).key("stages").begin_array();
  w.begin_object().field("stage", 0).field("total_bytes", plan.memory.base());
  w.key("parts").begin_array().end_array().end_object().end_array().end_object();
  w.key("timeline").begin_object().field("stages", 1).field("microbatches", 1);
  w.field("microbatches_drawn", 0).field("end_s", plan.step.base());
  w.field("note", "A network that is not a transformer has no pipeline.");
  w.key("blocks").begin_array().end_array().end_object();
  w.key("search").null();
}

void write_transformer(JsonWriter& w, const jobs::TrainingRun& run, const machine::Models& models) {
  const jobs::TrainingPrediction& p = run.prediction;
  write_layout(w, p.layout, to_text(p.layout));
  w.field("layout_chosen", p.layout_chosen).field("fits", p.fits);
  write_step(w, p);
  write_memory(w, run, models);
  write_timeline(w, p);
  write_search(w, run.query);
}

}  // namespace

Result<std::string> training_view_json(const review::Review& review, const std::string& workload) {
  const auto asked = ask(review, workload);
  if (!asked) return std::unexpected(asked.error());
  const review::TrainView& v = *asked->view;
  JsonWriter w(0);
  w.begin_object().field("schema_version", 1).field("kind", "training");
  w.key("workloads").begin_array();
  for (const review::TrainView& t : review.trains) w.value(t.label);
  w.end_array().field("workload", v.label).field("path", v.path);
  w.field("model", v.model ? v.model->id : "plain network");
  w.field("accelerator", v.fleet->accelerator()->id);
  w.field("gpus", asked->run ? asked->run->query.gpus : v.accelerators);
  if (asked->run) {
    write_transformer(w, *asked->run, review.models());
  } else {
    write_plain(w, v);
  }
  write_figures(w, review, v);
  w.end_object();
  return w.text() + '\n';
}

Result<std::string> training_trace_json(const review::Review& review, const std::string& workload) {
  const auto asked = ask(review, workload);
  if (!asked) return std::unexpected(asked.error());
  if (!asked->run) {
    return fail({.code = "training.no-trace",
                 .what = "a network that is not a transformer has no timeline of its step"});
  }
  const jobs::TrainingPrediction& p = asked->run->prediction;
  return step_trace_json(
      p.step, review.design().name + ", " + asked->view->label + ": " + to_text(p.layout));
}

}  // namespace orrery::report
