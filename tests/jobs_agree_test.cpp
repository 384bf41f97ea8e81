// The review and a run read the same jobs: the demands of a workload, its replicas or hosts and their
// number are resolved once (model/jobs). Checked for every template, example and random design.
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

#include "core/base/text.h"
#include "model/design/design.h"
#include "model/design_text/read_design.h"
#include "model/design_text/templates.h"
#include "model/design_text/write_design.h"
#include "model/jobs/build_machine.h"
#include "model/jobs/resolve_jobs.h"
#include "model/machine/known_fixture.h"
#include "plan/review/stages.h"
#include "random_design.h"
#include "twin/processes/scenario.h"

namespace orrery {
namespace {

namespace fs = std::filesystem;

struct Subject {
  std::string name;
  design::Design design;
};

void add(std::vector<Subject>& to, const std::string& name, const std::string& text,
         const catalog::ReadFile& read_file = {}) {
  const auto design =
      design_text::read_design(text, machine::known().catalog(), {.read_file = read_file});
  if (design) to.push_back({name, *design});
}

std::string text_of(const fs::path& path) {
  std::ifstream in(path);
  return {std::istreambuf_iterator<char>(in), {}};
}

std::vector<Subject> templates_and_examples() {
  std::vector<Subject> all;
  for (const design_text::Template& t : design_text::templates()) {
    add(all, std::string(t.name), std::string(t.text));
  }
  const fs::path examples = fs::path(ORRERY_SOURCE_DIR) / "examples";
  const auto beside = [&](std::string_view name) -> Result<std::string> {
    return text_of(examples / std::string(name));
  };
  for (const auto& entry : fs::directory_iterator(examples)) {
    if (entry.path().extension() != ".yaml") continue;
    add(all, entry.path().filename().string(), text_of(entry.path()), beside);
  }
  return all;
}

std::vector<Subject> random_designs(int drawn) {
  std::vector<Subject> all;
  for (int seed = 1; seed <= drawn; ++seed) {
    RandomDesign random(static_cast<std::uint64_t>(seed), machine::known().catalog());
    add(all, "seed " + std::to_string(seed), design_text::write_design(random.draw()),
        random_file);
  }
  return all;
}

std::string numbers(const std::vector<double>& values) {
  std::string out;
  for (const double v : values) out += shortest(v) + ' ';
  return out;
}

std::string said(const jobs::JobHead& j) { return j.label + '|' + j.path + '|' + j.infeasible +
                                          '|'; }

std::string said(const jobs::ServeJob& j) {
  return said(static_cast<const jobs::JobHead&>(j)) +
         numbers({j.rate.base(), j.peak.base(), j.request.input, j.request.output,
                  j.request.cached_share, 1.0 * j.devices_per_replica, 1.0 * j.query.split.tp,
                  j.capacity_per_replica.base(), j.most_per_replica.base(), j.replicas_needed,
                  j.replicas, j.replicas_least, j.devices, j.kv.rate.base(), j.start.base(),
                  j.error}) +
         numbers({j.day.begin(), j.day.end()});
}

std::string said(const jobs::BatchJob& j) {
  return said(static_cast<const jobs::JobHead&>(j)) +
         numbers({1.0 * j.tasks, 1.0 * j.tasks_per_host, j.task.base(), 1.0 * j.elements,
                  1.0 * j.slots, j.bound.value_or(Seconds(0)).base()});
}

std::string said(const jobs::QueuedJob& j) {
  return said(static_cast<const jobs::JobHead&>(j)) +
         numbers({j.rate.base(), j.mean_run.base(), j.mean_size, 1.0 * j.largest});
}

std::string said(const jobs::TrainJob& j) {
  const double saves = j.checkpoint ? j.checkpoint->interval.base() : 0;
  return said(static_cast<const jobs::JobHead&>(j)) +
         numbers({1.0 * j.accelerators, 1.0 * j.hosts, j.step.step.base(), j.failure.mtbf.base(),
                  j.failure.restart.base(), 1.0 * j.failure.spares, j.failure.shortfall, saves,
                  j.units, j.raw_time.base()});
}

// A list of views or plans, as text.
template <class List, class Of>
std::vector<std::string> all_said(const List& list, Of of) {
  std::vector<std::string> out;
  for (const auto& one : list) out.push_back(said(of(one)));
  return out;
}

// The run resolves the machine itself, as one without a review does.
std::size_t expect_equal(const Subject& s) {
  SCOPED_TRACE(s.name);
  const review::Review review = review::run_stages(s.design, machine::known());
  // What windows of requests show is no part of a job.
  const processes::Scenario run =
      processes::scenario_of(*review.machine, hours(1), {}, [] { return true; });
  const auto itself = [](const auto& one) -> const auto& { return one; };
  const auto its_job = [](const auto& one) -> const auto& { return one.job; };
  EXPECT_EQ(all_said(review.trains, itself), all_said(run.trains, itself));
  EXPECT_EQ(all_said(review.serves, itself), all_said(run.services, its_job));
  EXPECT_EQ(all_said(review.batches, itself), all_said(run.batches, its_job));
  // A run that cannot read a trace says so; the review does not ask for it.
  const auto as_queued = [](const jobs::QueuedJob& job) {
    jobs::QueuedJob queued = job;
    if (queued.from_trace) queued.infeasible.clear();
    return queued;
  };
  std::vector<std::string> reviewed = all_said(review.jobs, as_queued);
  std::vector<std::string> queued;
  for (const auto& p : run.streams) queued.push_back(said(as_queued(p.job)));
  for (const auto& p : run.slices) queued.push_back(said(as_queued(p.job)));
  std::ranges::sort(reviewed);
  std::ranges::sort(queued);
  EXPECT_EQ(reviewed, queued);
  return review.resolved->size();
}

TEST(JobsAgree, review_and_run_read_equal_jobs_of_templates_and_examples) {
  const std::vector<Subject> all = templates_and_examples();
  ASSERT_GT(all.size(), 20U);
  std::size_t jobs = 0;
  for (const Subject& s : all) jobs += expect_equal(s);
  EXPECT_GT(jobs, 30U);
}

TEST(JobsAgree, review_and_run_read_equal_jobs_of_random_designs) {
  const std::vector<Subject> all = random_designs(120);
  ASSERT_GT(all.size(), 40U);
  for (const Subject& s : all) expect_equal(s);
}

TEST(JobsAgree, every_job_has_a_label_of_its_own) {
  std::vector<Subject> all = templates_and_examples();
  for (Subject& s : random_designs(60)) all.push_back(std::move(s));
  for (const Subject& s : all) {
    const machine::Machine m = jobs::build_machine(s.design, machine::known());
    std::vector<std::string> labels;
    for (const jobs::Job& job : jobs::resolve_jobs(m)) labels.push_back(jobs::head_of(job).label);
    std::ranges::sort(labels);
    EXPECT_TRUE(std::ranges::adjacent_find(labels) == labels.end()) << s.name;
  }
}

}  // namespace
}  // namespace orrery
