// Sections of tiers, queues, batch work and slices.
#include <fmt/core.h>

#include "base/text.h"
#include "base/units.h"
#include "plan/sections.h"

namespace orrery::plan {
namespace {

machine::Figure tier_rate(std::string id, std::string label, BytesPerSecond rate,
                          const machine::Tier& v) {
  const Basis basis = v.measured ? Basis::measured : v.rates_given ? Basis::given : Basis::vendor;
  return {.id = std::move(id),
          .label = std::move(label),
          .unit = machine::Unit::bytes_per_s,
          .estimate = within(rate.base(), v.rate_error, v.rate_error, basis, v.rate_basis)};
}

machine::Section tier_section(const machine::Tier& v, Bytes used) {
  machine::Section s{.layer = machine::Layer::storage, .name = v.label + " tier"};
  s.summary = v.per_node                 ? "of one host"
              : v.tier->provider.empty() ? ""
                                         : "rented from " + v.tier->provider;
  if (v.read > BytesPerSecond(0)) s.figures.push_back(tier_rate("read", "read", v.read, v));
  if (v.write > BytesPerSecond(0)) s.figures.push_back(tier_rate("write", "write", v.write, v));
  if (v.capacity > Bytes(0)) {
    s.figures.push_back({.id = "capacity",
                         .label = "capacity",
                         .unit = machine::Unit::bytes,
                         .estimate = v.tier->capacity
                                         ? exact(v.capacity.base(), Basis::given, "the design")
                                         : exact(v.capacity.base(), Basis::vendor, v.rate_basis)});
  }
  if (used > Bytes(0)) {
    s.figures.push_back(
        {.id = "used",
         .label = "held by data sets and kept checkpoints",
         .unit = machine::Unit::bytes,
         .estimate = within(used.base(), 0.05, 0.05, Basis::derived, "docs/models/storage.md")});
    s.limit = v.capacity > Bytes(0)
                  ? fmt::format("{} full", show(used / v.capacity, machine::Unit::ratio))
                  : "";
  }
  return s;
}

machine::Section jobs_section(const JobsView& v) {
  machine::Section s{.layer = machine::Layer::cluster, .name = v.label};
  if (v.from_trace) {
    s.summary = fmt::format("trace {}: queue waits need simulated time", v.jobs->trace);
    return s;
  }
  s.summary = fmt::format("{} accelerators a job on average, up to {}", significant(v.mean_size, 3),
                          v.largest);
  s.figures.push_back(
      {.id = "load",
       .label = "load of the fleet",
       .unit = machine::Unit::ratio,
       .estimate = within(v.queue.load, 0.1, 0.1, Basis::derived, "docs/models/cluster.md")});
  if (v.queue.stable) {
    s.figures.push_back({.id = "mean_wait",
                         .label = "mean wait",
                         .unit = machine::Unit::seconds,
                         .estimate = within(v.queue.mean_wait.base(), 0.5, 1.0, Basis::assumed,
                                            "docs/models/cluster.md"),
                         .formula = "M/G/c, service variation 3: coarse, a trace says more"});
  }
  s.limit = v.queue.stable ? "" : "more work arrives than the fleet can do";
  return s;
}

machine::Section batch_section(const BatchView& v) {
  machine::Section s{.layer = machine::Layer::cluster, .name = v.label};
  s.summary = fmt::format("{} {} at once", grouped(static_cast<std::int64_t>(v.slots)),
                          v.on_cores ? "cores" : "accelerators");
  s.figures.push_back(
      {.id = "duration",
       .label = "time of one run",
       .unit = machine::Unit::seconds,
       .estimate = within(v.duration.base(), 0.2, 0.3, Basis::derived, "docs/models/cluster.md"),
       .formula =
           fmt::format("max(compute {}, read {}, write {}){}", brief(v.compute), brief(v.read),
                       brief(v.write), v.bound ? " of " + brief(*v.bound) : "")});
  s.limit = v.duration > max(v.compute, v.read) ? "writing the output"
            : v.read > v.compute                ? "reading the data"
            : v.on_cores                        ? "cores"
                                                : "accelerators";
  return s;
}

machine::Section mig_section(const MigView& v) {
  machine::Section s{.layer = machine::Layer::cluster, .name = v.fleet->fleet->name + " slices"};
  s.figures.push_back({.id = "stranded",
                       .label = "compute slices that no wanted profile can use",
                       .unit = machine::Unit::ratio,
                       .estimate = exact(v.packing.compute_stranded_share(), Basis::derived,
                                         "docs/models/cluster.md")});
  return s;
}

}  // namespace

std::vector<machine::Section> storage_sections(const Review& review) {
  std::vector<machine::Section> sections;
  for (const machine::Tier& v : review.tiers())
    sections.push_back(tier_section(v, review.used_of(v)));
  return sections;
}

std::vector<machine::Section> cluster_sections(const Review& review) {
  std::vector<machine::Section> sections;
  for (const JobsView& v : review.jobs) sections.push_back(jobs_section(v));
  for (const BatchView& v : review.batches) sections.push_back(batch_section(v));
  for (const MigView& v : review.mig) sections.push_back(mig_section(v));
  return sections;
}

}  // namespace orrery::plan
