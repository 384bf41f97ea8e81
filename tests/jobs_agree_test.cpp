// The review and a run read the same jobs: the demands of a workload, its replicas or hosts and
// their number are resolved once (model/jobs). Checked for every template and example.
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

#include "core/base/text.h"
#include "model/design/design.h"
#include "model/design_text/read_design.h"
#include "model/design_text/templates.h"
#include "model/jobs/build_machine.h"
#include "model/machine/known_fixture.h"
#include "plan/verdict/verdict.h"
#include "twin/processes/scenario.h"

namespace orrery {
namespace {

namespace fs = std::filesystem;

struct Subject {
  std::string name;
  design::Design design;
};

void add(std::vector<Subject>& to, const std::string& name, const std::string& text) {
  const auto design = design_text::read_design(text, machine::known().catalog());
  // Designs that name other files are covered by the tests of the command line.
  if (design) to.push_back({name, *design});
}

std::vector<Subject> subjects() {
  std::vector<Subject> all;
  const std::vector<design_text::Template> templates = design_text::templates();
  for (const design_text::Template& t : templates) {
    add(all, std::string(t.name), std::string(t.text));
  }
  for (const auto& entry : fs::directory_iterator(fs::path(ORRERY_SOURCE_DIR) / "examples")) {
    if (entry.path().extension() != ".yaml") continue;
    std::ifstream in(entry.path());
    add(all, entry.path().filename().string(), {std::istreambuf_iterator<char>(in), {}});
  }
  return all;
}

std::string numbers(const std::vector<double>& values) {
  std::string out;
  for (const double v : values) out += shortest(v) + ' ';
  return out;
}

std::string told(const jobs::ServeJob& j) {
  return j.label + '|' + j.path + '|' + j.infeasible + '|' +
         numbers({j.rate.base(), j.peak.base(), j.request.input, j.request.output,
                  j.request.cached_share, 1.0 * j.devices_per_replica, 1.0 * j.query.split.tp,
                  j.capacity_per_replica.base(), j.most_per_replica.base(), j.replicas_needed,
                  j.replicas, j.replicas_least, j.devices, j.kv.rate.base(), j.start.base(),
                  j.error}) +
         numbers({j.day.begin(), j.day.end()});
}

std::string told(const jobs::BatchJob& j) {
  return j.label + '|' + j.path + '|' + j.infeasible + '|' +
         numbers({1.0 * j.tasks, 1.0 * j.tasks_per_host, j.task.base(), 1.0 * j.elements,
                  1.0 * j.slots, j.bound.value_or(Seconds(0)).base()});
}

std::string told(const jobs::QueuedJob& j) {
  return j.label + '|' + j.path + '|' + j.infeasible + '|' +
         numbers({j.rate.base(), j.mean_run.base(), j.mean_size, 1.0 * j.largest});
}

std::string told(const jobs::TrainJob& j) {
  return j.label + '|' + j.path + '|' + j.infeasible + '|' +
         numbers({1.0 * j.accelerators, 1.0 * j.hosts, j.step.step.base(), j.failure.mtbf.base(),
                  j.failure.restart.base(), j.units, j.raw_time.base()});
}

TEST(JobsAgree, review_and_run_read_equal_jobs) {
  const std::vector<Subject> all = subjects();
  ASSERT_GT(all.size(), 20U);
  std::size_t services = 0;
  for (const Subject& s : all) {
    SCOPED_TRACE(s.name);
    const review::Review review = review::run_stages(s.design, machine::known());
    const processes::Scenario run = processes::scenario_of(*review.machine, hours(1), {});
    ASSERT_EQ(review.serves.size(), run.services.size());
    for (std::size_t i = 0; i < run.services.size(); ++i, ++services) {
      EXPECT_EQ(told(review.serves[i]), told(run.services[i].job));
    }
    ASSERT_EQ(review.batches.size(), run.batches.size());
    for (std::size_t i = 0; i < run.batches.size(); ++i) {
      EXPECT_EQ(told(review.batches[i]), told(run.batches[i].job));
    }
    ASSERT_EQ(review.trains.size(), run.trains.size());
    for (std::size_t i = 0; i < run.trains.size(); ++i) {
      EXPECT_EQ(told(review.trains[i]), told(run.trains[i]));
    }
    ASSERT_EQ(review.jobs.size(), run.streams.size() + run.slices.size());
    std::size_t stream = 0, slice = 0;
    for (const review::JobsView& v : review.jobs) {
      const bool sliced = !v.jobs->mig.empty();
      jobs::QueuedJob other = sliced ? static_cast<const jobs::QueuedJob&>(run.slices[slice++].job)
                                     : run.streams[stream++].job;
      // A run that cannot read a trace says so; the review does not need the trace.
      if (v.from_trace) other.infeasible = v.infeasible;
      EXPECT_EQ(told(v), told(other));
    }
  }
  EXPECT_GT(services, 10U);
}

}  // namespace
}  // namespace orrery
