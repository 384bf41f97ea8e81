#include "output/report/view_serving.h"

#include <algorithm>
#include <cmath>

#include "core/base/json_writer.h"
#include "core/base/text.h"
#include "layers/traffic/replica_trace.h"
#include "model/figures/assumptions.h"
#include "model/jobs/serving_choices.h"
#include "output/report/figure_json.h"
#include "plan/verdict/sections.h"
#include "plan/verdict/verdict.h"
#include "twin/processes/service_plan.h"

namespace orrery::report {
namespace {

// Loads as a share of what a replica carries within the objectives; above 1 they show how it
// degrades.
constexpr double kLoads[] = {0.1, 0.3, 0.5, 0.65, 0.8, 0.9, 1.0, 1.1};
constexpr double kTraced = 400;  // requests simulated behind the drawn iterations
constexpr std::uint64_t kTracedSeed = 1;
constexpr std::size_t kMostChoices = 12;

struct AskedService {
  const review::ServeView* view = nullptr;
  processes::ServicePlan plan;
};

bool has_page(const review::ServeView& v) { return v.model != nullptr; }

Result<AskedService> ask_service(const review::Review& review, const std::string& workload) {
  AskedService a;
  for (const review::ServeView& v : review.serves) {
    if (has_page(v) && (workload.empty() || v.label == workload)) {
      a.view = &v;
      break;
    }
  }
  if (a.view == nullptr) {
    return fail({.code = "serving.no-workload",
                 .what = workload.empty() ? "the design serves no transformer"
                                          : "there is no workload '" + workload.substr(0, 80) +
                                                "' that serves a transformer",
                 .fix = "name one of `workloads`, or add a `serve` with a model"});
  }
  std::string why = a.view->infeasible;
  if (why.empty()) {
    std::vector<jobs::ServeJob> zones;
    jobs::for_each_job<jobs::ServeJob>(*review.resolved, [&](const jobs::ServeJob& job) {
      if (job.workload == a.view->workload) zones.push_back(job);
    });
    for (processes::ServicePlan& p :
         processes::service_plans(std::move(zones), *review.machine, false)) {
      if (p.job.label == a.view->label) a.plan = std::move(p);
    }
    why = a.plan.job.serve == nullptr ? "no replica of it can meet its objectives"
                                      : a.plan.job.infeasible;
  }
  if (why.empty()) return a;
  return fail({.code = "serving.infeasible",
               .place = design::place_of(review.design(), a.view->path),
               .what = a.view->label + ": " + why,
               .fix = "change the split, the format or the objective of this service"});
}

// Returns a quantile of a single load level.
double quantile(const processes::LoadWindow& w,
                processes::LatencyPoints processes::WindowPart::* of, double share) {
  const double one = 1;
  return processes::sampled({&w, 1}, {&one, 1}, of, share).value;
}

double good(const processes::LoadWindow& w) {
  const double one = 1;
  return processes::good_share({&w, 1}, {&one, 1});
}

struct Objectives {
  double ttft = 0, tpot = 0, whole = 0, task = 0;  // objectives in seconds; 0: none

  explicit Objectives(const design::Objective& o)
      : ttft(o.ttft_p99.value_or(Seconds(0)).base()),
        tpot(o.tpot_p99.value_or(Seconds(0)).base()),
        whole(o.latency_p99.value_or(Seconds(0)).base()),
        task(o.task_p99.value_or(Seconds(0)).base()) {}

  // Returns the worst ratio of a latency to its bound: at most 1 if all hold, 0 if there are no
  // bounds.
  double worst(const processes::LoadWindow& w) const {
    double most = 0;
    const auto look = [&](double bound, processes::LatencyPoints processes::WindowPart::* of) {
      if (bound > 0) most = std::max(most, quantile(w, of, 0.99) / bound);
    };
    look(ttft, &processes::WindowPart::ttft);
    look(tpot, &processes::WindowPart::tpot);
    look(whole, &processes::WindowPart::whole);
    look(task, &processes::WindowPart::task);
    return most;
  }
};

void write_objectives(JsonWriter& w, const Objectives& o) {
  const auto bound = [&](std::string_view name, double value) {
    w.key(name);
    if (value > 0) {
      w.value(value);
    } else {
      w.null();
    }
  };
  w.key("objectives").begin_object();
  bound("ttft_s", o.ttft);
  bound("tpot_s", o.tpot);
  bound("whole_s", o.whole);
  w.end_object();
}

void write_levels(JsonWriter& w, const std::vector<processes::LoadWindow>& levels) {
  w.key("levels").begin_array();
  for (const processes::LoadWindow& l : levels) {
    w.begin_object().field("rate", l.rate);
    w.field("ttft_p50_s", quantile(l, &processes::WindowPart::ttft, 0.5));
    w.field("ttft_p99_s", quantile(l, &processes::WindowPart::ttft, 0.99));
    w.field("tpot_p50_s", quantile(l, &processes::WindowPart::tpot, 0.5));
    w.field("tpot_p99_s", quantile(l, &processes::WindowPart::tpot, 0.99));
    w.field("whole_p99_s", quantile(l, &processes::WindowPart::whole, 0.99));
    w.field("good_ratio", good(l)).field("found_ratio", l.found).end_object();
  }
  w.end_array();
}

void write_break(JsonWriter& w, const std::vector<processes::LoadWindow>& levels,
                 const Objectives& o) {
  w.key("breaks_at");
  double rate = 0;
  double held = 0;
  for (const processes::LoadWindow& l : levels) {
    const double worst = o.worst(l);
    if (worst > 1) {
      // Interpolate between two levels; below the first, nothing was simulated.
      w.value(rate > 0 ? rate + (l.rate - rate) * (1 - held) / (worst - held) : 0.0);
      return;
    }
    rate = l.rate, held = worst;
  }
  w.null();
}

void write_choices(JsonWriter& w, const review::Review& r, const AskedService& a) {
  const processes::WindowAsk& own = a.plan.ask;
  const catalog::Dtype format = own.query.precision.products;
  jobs::ServingAsk question{.model = own.query.model,
                            .accelerator = own.query.accelerator,
                            .slice = own.query.slice,
                            .request = own.query.request,
                            .target = jobs::target_of(*a.view->serve, own.query.request.output),
                            .engines = {},
                            .formats = {catalog::Dtype::bf16, catalog::Dtype::fp8},
                            .most_tp = std::min(figures::assumptions::kWidestTp,
                                                a.view->fleet->node.part.accelerators)};
  for (const char* engine : {"vllm", "sglang", "tensorrt-llm"}) {
    question.engines.emplace_back(engine);
  }
  const auto all = serving_for(r.models(), question, a.view->peak);
  w.key("choices").begin_array();
  std::size_t shown = 0;
  for (const jobs::ServingChoice& c : all) {
    const bool current = c.engine == a.view->serve->engine && c.format == format &&
                         c.tp == own.query.split.tp && c.apart == a.view->serve->disaggregated;
    if (shown >= kMostChoices && !current) continue;
    ++shown;
    w.begin_object().field("engine", c.engine).field("format", to_text(c.format));
    w.field("tp", c.tp).field("apart", c.apart).field("replicas", c.replicas);
    w.field("prefill", c.prefill).field("gpus", c.gpus).field("batch", c.batch);
    w.field("requests_per_s", c.requests.base()).field("ttft_s", c.ttft.base());
    w.field("tpot_s", c.tpot.base()).field("error_ratio", c.error);
    w.field("current", current).end_object();
  }
  w.end_array();
}

void write_iterations(JsonWriter& w, const review::Review& r, const processes::WindowAsk& ask) {
  const machine::Costs costs = serving_costs(r.models(), ask.query);
  serving::StepClock clock(ask.replica, serving_source(costs), ask.query.request.checked_per_step);
  engines::EnginePolicy policy = traffic::policy_of(ask.replica);
  policy.prefix_cache = ask.serve->prefix_cache;
  const Seconds until(kTraced / ask.high);
  const auto notes =
      trace_iterations(policy, clock, processes::window_arrivals(ask, ask.high, until, kTracedSeed),
                       kMostIterations);
  w.key("iterations").begin_object().field("rate", ask.high);
  w.field("end_s", notes.empty() ? 0.0 : notes.back().start + notes.back().seconds);
  w.key("rows").begin_array();
  for (const traffic::IterationNote& n : notes) {
    w.begin_object().field("start_s", n.start).field("time_s", n.seconds);
    w.field("prompt_tokens", n.prompt_tokens).field("output_tokens", n.output_tokens);
    w.field("waiting", n.waiting).field("kv_ratio", n.held).end_object();
  }
  w.end_array().end_object();
}

void write_figures(JsonWriter& w, const review::Review& r, const review::ServeView& view) {
  w.key("figures").begin_object();
  for (const figures::Section& s : verdict::serving_sections(r)) {
    if (s.layer != figures::Layer::serving || s.name != view.label) continue;
    for (const figures::Figure& f : s.figures) write_figure(w, f);
    break;
  }
  w.end_object();
}

void write_head(JsonWriter& w, const review::Review& r, const AskedService& a) {
  const review::ServeView& v = *a.view;
  w.field("schema_version", 1).field("kind", "serving").key("workloads").begin_array();
  for (const review::ServeView& s : r.serves) {
    if (has_page(s)) w.value(s.label);
  }
  w.end_array().field("workload", v.label).field("path", v.path);
  w.field("model", v.model->id).field("accelerator", v.fleet->device()->id);
  w.field("engine", v.serve->engine).field("devices_per_replica", a.plan.slots);
  w.field("replicas", a.plan.replicas).field("prefill_replicas", a.plan.prefill);
  w.field("peak_rate", a.plan.ask.high);
}

std::unexpected<Diagnostics> too_large(const review::Review& r, const AskedService& a) {
  return fail({.code = "serving.too-large",
               .place = design::place_of(r.design(), a.view->path),
               .what = a.view->label + ": its requests take too long to simulate here",
               .why = "an answer for the console may use ten CPU seconds",
               .fix = "run it as a job, or with `orrery simulate`; fewer turns and shorter prompts "
                      "are faster"});
}

}  // namespace

Result<std::string> serving_view_json(const review::Review& review, const std::string& workload,
                                      const std::function<bool()>& stop) {
  auto asked = ask_service(review, workload);
  if (!asked) return std::unexpected(asked.error());
  asked->plan.ask.stop = stop;
  const processes::ServicePlan& plan = asked->plan;
  std::vector<double> rates;
  for (const double load : kLoads) rates.push_back(load * plan.capacity);
  const processes::ServiceWindows windows =
      processes::simulate_windows(review.models(), plan.ask, rates);
  if (stop && stop()) return too_large(review, *asked);
  const Objectives objectives(plan.job.serve->objective);
  JsonWriter w(0);
  w.begin_object();
  write_head(w, review, *asked);
  write_figures(w, review, *asked->view);
  write_objectives(w, objectives);
  write_levels(w, windows.levels);
  write_break(w, windows.levels, objectives);
  w.key("loss").begin_object();
  w.field("ttft_p99_s", quantile(windows.loss, &processes::WindowPart::ttft, 0.99));
  w.field("good_ratio", good(windows.loss)).field("restarted", windows.restarted).end_object();
  write_choices(w, review, *asked);
  write_iterations(w, review, plan.ask);
  w.field(
      "note",
      "Curves come from windows of requests simulated one by one on a few replicas. The ways to "
      "serve it come from closed forms, which differ from the curves if requests come in bursts.");
  w.end_object();
  return w.text() + '\n';
}

}  // namespace orrery::report
