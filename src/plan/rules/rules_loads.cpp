// Rules about retrieval, cascades and the quality of answers.
#include <fmt/core.h>

#include <cmath>

#include "core/base/text.h"
#include "core/base/units.h"
#include "model/figures/assumptions.h"
#include "model/jobs/retrieval.h"
#include "plan/review/cascade_view.h"
#include "plan/rules/edits.h"
#include "plan/rules/rules.h"

namespace orrery::rules {
namespace {

using figures::assumptions::kReadLoad;
using figures::assumptions::kTailShare;

// Returns an edit that adds servers if the drives limit the reads, or raises the rate if that
// limits them.
std::optional<Edit> edit_reads(const jobs::RetrievalAsk& ask, Bytes read_size) {
  const design::StorageTier& t = *ask.tier->tier;
  const double more = ask.load() / kReadLoad * 1.01;
  if (ask.by_rate && t.read) {
    return Edit{ask.tier->path + ".read", at_least(ask.asked * read_size / kReadLoad * 1.01)};
  }
  if (ask.by_rate || !t.servers) return std::nullopt;
  return Edit{ask.tier->path + ".servers",
              std::to_string(static_cast<int>(std::ceil(*t.servers * more)))};
}

void check_reads(const review::Review& r, const Rule& rule, std::vector<Finding>& out) {
  for (const review::ServeView& v : r.serves) {
    if (v.fleet == nullptr) continue;
    const auto ask = jobs::retrieval_of(*r.machine, *v.serve, *v.fleet);
    if (!ask || ask->load() <= kReadLoad) continue;
    Finding f = finding_at(r, rule, v.path + ".retrieval.reads");
    f.what = fmt::format(
        "Services read indexes on tier '{}' {} times per second at peak, '{}' among them; the tier "
        "gives {} reads per second.",
        ask->tier->label, significant(ask->asked.base(), 3), v.label,
        significant(ask->gives.base(), 3));
    f.why = fmt::format(
        "Above {} of this rate reads queue up, and every first token waits for the slowest read.",
        show(kReadLoad, figures::Unit::ratio));
    f.fix = ask->by_rate ? "Use a faster tier, smaller reads, or fewer of them."
                         : "Use more drives or servers, or fewer reads per request.";
    f.edit = edit_reads(*ask, v.serve->retrieval->read_size);
    out.push_back(std::move(f));
  }
}

void check_tail(const review::Review& r, const Rule& rule, std::vector<Finding>& out) {
  for (const review::ServeView& v : r.serves) {
    const auto& bound = v.serve->objective.ttft_p99;
    if (v.fleet == nullptr || !v.serve->retrieval || !bound) continue;
    if (v.request.before_p99 <= *bound * kTailShare) continue;
    Finding f = finding_at(r, rule, v.path + ".retrieval");
    f.what = fmt::format(
        "Of the {} that '{}' allows for the first token, one request in a hundred spends {} "
        "waiting for its index.",
        brief(*bound), v.label, brief(v.request.before_p99));
    f.why = fmt::format("{} hops follow one another, and each waits for the slowest of {} reads.",
                        v.serve->retrieval->hops,
                        significant(v.serve->retrieval->reads / v.serve->retrieval->hops, 3));
    f.fix = "Use a tier of lower latency, fewer reads or hops, or allow more time.";
    out.push_back(std::move(f));
  }
}

void check_cascade(const review::Review& r, const Rule& rule, std::vector<Finding>& out) {
  for (const review::ServeView& v : r.serves) {
    const auto c = review::view_cascade(r, v);
    if (!c || c->usd_alone <= 0 || c->usd < c->usd_alone) continue;
    Finding f = finding_at(r, rule, v.path + ".escalate");
    f.what = fmt::format(
        "A thousand answers of '{}' cost {} USD, including the share that goes on to '{}'; that "
        "service alone would cost {} USD.",
        v.label, significant(c->usd * 1e3, 3), v.serve->escalate->service,
        significant(c->usd_alone * 1e3, 3));
    f.why =
        "The small model answers every request first, and part of the requests are answered twice.";
    f.fix =
        "Escalate fewer requests, run fewer replicas, or let the larger model answer all requests.";
    out.push_back(std::move(f));
  }
}

void check_source(const review::Review& r, const Rule& rule, std::vector<Finding>& out) {
  const design::Serve* last = nullptr;
  for (const review::ServeView& v : r.serves) {
    if (v.serve == last || !v.serve->quality || !v.serve->quality_source.empty()) continue;
    last = v.serve;
    Finding f = finding_at(r, rule, v.path + ".quality");
    f.what = fmt::format("The quality of '{}' has no source.", v.label);
    f.why = "A share of right answers holds for one test; another test gives another share.";
    f.fix = "Name the test and its publisher in quality_source.";
    out.push_back(std::move(f));
  }
}

void check_inference(const review::Review& r, const Rule& rule, std::vector<Finding>& out) {
  for (const review::BatchView& b : r.batches) {
    if (b.fleet == nullptr || b.feasible()) continue;
    Finding f = finding_at(r, rule, b.path + ".inference");
    f.what = fmt::format("'{}' cannot run: {}.", b.label, b.infeasible);
    f.why = "The weights and one request must fit the accelerators of a replica.";
    f.fix = "Use more accelerators per replica, a smaller number format, or another fleet.";
    out.push_back(std::move(f));
  }
}

constexpr Rule kLoadRules[] = {
    {"serving.retrieval-reads", figures::Layer::serving, Severity::error,
     "a tier can serve the reads that retrieval needs", "docs/models/serving.md", check_reads},
    {"serving.retrieval-tail", figures::Layer::serving, Severity::warning,
     "retrieval takes at most half of the first-token objective", "docs/models/serving.md",
     check_tail},
    {"serving.cascade", figures::Layer::serving, Severity::warning,
     "a cascade costs less than its larger model alone", "docs/models/serving.md", check_cascade},
    {"serving.quality-source", figures::Layer::serving, Severity::note,
     "a quality figure names its test", "docs/models/serving.md", check_source},
    {"workload.inference", figures::Layer::cluster, Severity::error,
     "the model of a batch fits the accelerators of its fleet", "docs/models/serving.md",
     check_inference},
};

}  // namespace

std::span<const Rule> load_rules() { return kLoadRules; }

}  // namespace orrery::rules
