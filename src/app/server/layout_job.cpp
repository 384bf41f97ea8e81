#include "app/server/layout_job.h"

#include <fmt/core.h>

#include "app/server/json_body.h"
#include "app/server/served_files.h"
#include "core/base/text.h"
#include "model/design_text/read_design.h"
#include "model/jobs/train_run.h"
#include "output/report/layout_report.h"
#include "plan/verdict/verdict.h"
#include "study/search/layout_search.h"

namespace orrery::server {
namespace {

constexpr NumberRange kAnyCount{1, 1e9};

struct LayoutRequest {
  jobs::TrainingQuery query;
  std::string model;
  int keep = 10;
  bool pareto = false;
};

void read_fixed(JsonBody& fixed, search::LayoutQuestion& q) {
  q.tp = fixed.optional_integer("tp", kAnyCount);
  q.pp = fixed.optional_integer("pp", kAnyCount);
  q.vp = fixed.optional_integer("vp", kAnyCount);
  q.cp = fixed.optional_integer("cp", kAnyCount);
  q.ep = fixed.optional_integer("ep", kAnyCount);
  q.microbatch = fixed.optional_integer("microbatch", kAnyCount);
}

search::LayoutQuestion read_question(JsonBody& body) {
  search::LayoutQuestion q;
  q.model = body.optional_text("model", kNameBytes).value_or("");
  q.accelerator = body.optional_text("accelerator", kNameBytes).value_or(q.accelerator);
  q.gpus = body.optional_integer("gpus", kAnyCount).value_or(q.gpus);
  q.batch = body.optional_integer("batch", kAnyCount).value_or(q.batch);
  q.sequence = body.optional_integer("sequence", kAnyCount).value_or(q.sequence);
  q.precision = body.optional_text("precision", kNameBytes).value_or(q.precision);
  q.framework = body.optional_text("framework", kNameBytes).value_or(q.framework);
  q.nic = body.optional_text("nic", kNameBytes).value_or(q.nic);
  body.object("fixed", [&q](JsonBody& fixed) { read_fixed(fixed, q); });
  return q;
}

// Returns the query of a training workload on its fleet. The layout is open except for what the
// request fixes.
Result<jobs::TrainingQuery> query_of_design(const LayoutJobs& jobs, const std::string& text,
                                            const std::string& workload,
                                            const search::LayoutQuestion& fixed) {
  const auto design =
      design_text::read_design(text, jobs.models.catalog(), {.read_file = jobs.files});
  if (!design) return std::unexpected(design.error());
  const review::Review r = review::run_stages(*design, jobs.models);
  for (const review::TrainView& train : r.trains) {
    if (train.model == nullptr || (!workload.empty() && train.label != workload)) continue;
    auto run = training_run(train, *r.machine);
    if (!run) return std::unexpected(run.error());
    run->query.layout = fixed_by(fixed);
    return std::move(run->query);
  }
  return fail({.code = "search.unknown",
               .what = workload.empty()
                           ? "no workload of the design trains a transformer"
                           : "there is no workload " + workload + " that trains a transformer"});
}

Result<jobs::TrainingQuery> query_asked(const LayoutJobs& jobs, const search::LayoutQuestion& q,
                                        const std::optional<std::string>& design,
                                        const std::string& workload) {
  if (design && q.model.empty()) return query_of_design(jobs, *design, workload, q);
  if (!design && !q.model.empty()) return query_of(q, jobs.models.catalog(), nullptr);
  return fail({.code = "body.field",
               .what = "give either `design` or `model`",
               .fix = "\"model\": \"llama-3-70b\""});
}

Result<LayoutRequest> read_body(JsonBody& body, const LayoutJobs& jobs) {
  body.choice("kind", {kLayoutTask});
  const auto design = body.optional_text("design", kDesignBytes);
  const std::string workload = body.optional_text("workload", kNameBytes).value_or("");
  const search::LayoutQuestion question = read_question(body);
  LayoutRequest request;
  request.keep = static_cast<int>(body.optional_integer("keep", {1, 100}).value_or(10));
  request.pareto = body.optional_flag("pareto").value_or(false);
  if (Diagnostics faults = body.faults(); !faults.empty()) return std::unexpected(faults);
  auto query = query_asked(jobs, question, design, workload);
  if (!query) return std::unexpected(query.error());
  request.query = std::move(*query);
  request.model = request.query.model.id;
  return request;
}

// Reads a stored request with the files that its design names.
Result<LayoutRequest> read_kept(const LayoutJobs& jobs, const std::string& text) {
  auto body = JsonBody::parse(text);
  if (!body) return std::unexpected(body.error());
  const catalog::ReadFile files = kept_files(*body);
  return read_body(*body, {.models = jobs.models, .files = files});
}

// One search of the job (one GPU count): its position in the search space and its results.
struct Leg {
  std::unique_ptr<search::LayoutSearch> search;
  int gpus = 0;
  std::int64_t chunks = 0;  // finished chunks
  training::SearchResult so_far;

  bool done() const { return chunks == search->chunks(); }
  bool begun() const { return chunks > 0; }
};

std::string checkpoint_of(const std::vector<Leg>& legs) {
  std::string text;
  for (const Leg& leg : legs) {
    if (!leg.begun()) break;
    const search::LayoutProgress p = search::LayoutSearch::progress_of(leg.so_far, leg.chunks);
    text += fmt::format("{} {} {} {} {} {} {}", leg.gpus, p.chunks, p.counts.candidates,
                        p.counts.refused, p.counts.too_large, p.counts.bounded, p.counts.evaluated);
    for (const std::int64_t index : p.best) text += fmt::format(" {}", index);
    text += '\n';
  }
  return text;
}

// Continues a leg from a line of the checkpoint. Ignores a line that does not fit; that leg is then
// searched from the start.
void take_up(Leg& leg, std::string_view line) {
  std::vector<std::int64_t> numbers;
  for (const std::string_view word : split(line, ' ')) {
    numbers.push_back(parse_integer(word).value_or(-1));
  }
  constexpr std::size_t kCounts = 7;
  if (numbers.size() < kCounts || numbers[0] != leg.gpus || numbers[1] < 0 ||
      numbers[1] > leg.search->chunks()) {
    return;
  }
  const search::LayoutProgress progress{.chunks = numbers[1],
                                        .counts = {.candidates = numbers[2],
                                                   .refused = numbers[3],
                                                   .too_large = numbers[4],
                                                   .bounded = numbers[5],
                                                   .evaluated = numbers[6]},
                                        .best = {numbers.begin() + kCounts, numbers.end()}};
  leg.chunks = progress.chunks;
  leg.so_far = leg.search->result_of(progress);
}

std::vector<Leg> legs_of(const LayoutJobs& jobs, const LayoutRequest& request,
                         const std::string& checkpoint) {
  std::vector<Leg> legs;
  for (const int gpus : search::gpu_counts(request.query.gpus, request.pareto)) {
    jobs::TrainingQuery query = request.query;
    query.gpus = gpus;
    legs.push_back({.search = std::make_unique<search::LayoutSearch>(jobs.models, std::move(query),
                                                                     request.keep),
                    .gpus = gpus});
  }
  std::size_t i = 0;
  for (const std::string_view line : split(checkpoint, '\n')) {
    if (i < legs.size() && !line.empty()) take_up(legs[i++], line);
  }
  return legs;
}

std::string best_json(const std::vector<Leg>& legs) {
  const Leg& first = legs.front();
  if (first.so_far.best.empty()) return {};
  training::SearchResult best{.best = {first.so_far.best.front()}, .counts = first.so_far.counts};
  JsonWriter w(0);
  report::write_search_row(w, first.search->describe(std::move(best), true), 0);
  return w.text();
}

// Reports progress of all legs, with the time left at the pace of this run.
class Teller {
 public:
  Teller(JobRun& run, const std::vector<Leg>& legs) : run_(run), legs_(legs) {
    begun_at_ = settled();
    for (const Leg& leg : legs) run_.job.candidates += leg.search->candidates();
  }

  void tell() {
    Job& job = run_.job;
    job.done = settled();
    job.evaluated = 0;
    for (const Leg& leg : legs_) job.evaluated += leg.so_far.counts.evaluated;
    const std::chrono::duration<double> spent = std::chrono::steady_clock::now() - start_;
    const auto advanced = static_cast<double>(job.done - begun_at_);
    if (advanced > 0) {
      job.remaining_s = spent.count() / advanced * static_cast<double>(job.candidates - job.done);
    }
    const auto& best = legs_.front().so_far.best;
    if (!best.empty() && best.front().index != best_index_) {
      best_index_ = best.front().index;
      job.best = best_json(legs_);
    }
    job.checkpoint = checkpoint_of(legs_);
    run_.report();
  }

 private:
  std::int64_t settled() const {
    std::int64_t sum = 0;
    for (const Leg& leg : legs_) sum += leg.so_far.counts.candidates;
    return sum;
  }

  JobRun& run_;
  const std::vector<Leg>& legs_;
  const std::chrono::steady_clock::time_point start_ = std::chrono::steady_clock::now();
  std::int64_t begun_at_ = 0;
  std::int64_t best_index_ = -1;
};

// Returns false if it was asked to stop.
bool search_leg(Leg& leg, JobRun& run, Teller& teller) {
  while (!leg.done()) {
    if (run.should_stop()) return false;
    leg.so_far = leg.search->join({std::move(leg.so_far), leg.search->search_chunk(leg.chunks)});
    ++leg.chunks;
    teller.tell();
  }
  return true;
}

std::string result_of(const std::string& model, const std::vector<Leg>& legs) {
  std::vector<search::FoundLayouts> found;
  for (const Leg& leg : legs) {
    if (!leg.begun()) break;
    found.push_back(leg.search->describe(leg.so_far, leg.done()));
  }
  return report::json_of(model, found);
}

}  // namespace

Result<Job> layout_job(const LayoutJobs& jobs, const std::string& request) {
  auto body = JsonBody::parse(request);
  if (!body) return std::unexpected(body.error());
  FileTexts files;
  const auto read =
      read_body(*body, {.models = jobs.models, .files = keeping_reader(jobs.files, files)});
  if (!read) return std::unexpected(read.error());
  return Job{.task = kLayoutTask,
             .title = fmt::format("{} on {} x {}", read->model, grouped(read->query.gpus),
                                  read->query.accelerator->id),
             .request = with_files(request, files)};
}

Result<void> run_layout_job(const LayoutJobs& jobs, JobRun& run) {
  const auto request = read_kept(jobs, run.job.request);
  if (!request) return std::unexpected(request.error());
  std::vector<Leg> legs = legs_of(jobs, *request, run.job.checkpoint);
  run.job.candidates = 0;
  Teller teller(run, legs);
  bool whole = true;
  for (Leg& leg : legs) {
    whole = whole && search_leg(leg, run, teller);
    // If nothing fits on these GPUs, nothing fits on half of them.
    if (!whole || leg.so_far.best.empty()) break;
  }
  teller.tell();
  if (whole || run.cancelled()) run.job.result = result_of(request->model, legs);
  return {};
}

}  // namespace orrery::server
