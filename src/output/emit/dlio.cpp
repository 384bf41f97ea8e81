#include "output/emit/dlio.h"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>

#include "output/emit/escape.h"
#include "output/emit/stamp.h"
#include "output/emit/yaml_writer.h"

namespace orrery::emit {
namespace {

// Least number of steps: enough for a steady state with saves.
constexpr double kStepsLeast = 100;
constexpr double kStepsMost = 1000;
constexpr double kSaves = 4;
// Accelerator utilisation that MLPerf Storage requires for most workloads.
constexpr double kMark = 0.9;

std::int64_t whole(double count) {
  return std::max<std::int64_t>(1, static_cast<std::int64_t>(std::llround(count)));
}

// Adds the checkpoint of one rank. Without it, DLIO would derive one from a transformer's shape.
void add_model(YamlWriter& yaml, const review::TrainView& t, const std::string& name) {
  yaml.begin("model").text("name", name);
  if (t.checkpoint) yaml.number("model_size_bytes", whole(t.checkpoint->load.busiest_rank.base()));
  yaml.end();
}

double steps_of(const review::TrainView& t) {
  const double between = t.checkpoint ? t.checkpoint->interval / t.step.step : 0;
  return std::clamp(std::ceil(kSaves * between), kStepsLeast, kStepsMost);
}

// Adds the data set. A file has many samples (a shard) or one. There are as many samples as the
// steps read, each once, so that the page cache has none of them.
void add_dataset(YamlWriter& yaml, const review::TrainView& t, const std::string& name,
                 std::int64_t batch) {
  const jobs::FeedPlan& feed = t.feed;
  const double per_file = std::max(1.0, std::floor(feed.object / feed.sample));
  const double taken = steps_of(t) * static_cast<double>(batch) * t.accelerators;
  const bool is_text = t.train->dataset.kind == design::DataKind::text;
  yaml.begin("dataset").text("data_folder", "/mnt/" + feed.tier->label + "/dlio/" + name);
  yaml.text("format", is_text ? "mmap_indexed_binary" : per_file > 1 ? "tfrecord" : "npz");
  yaml.number("num_files_train", whole(std::ceil(taken / per_file)));
  yaml.number("num_samples_per_file", whole(per_file));
  yaml.number("record_length_bytes", whole(feed.sample.base())).end();
}

void add_checkpoint(YamlWriter& yaml, const review::TrainView& t, const std::string& name) {
  if (!t.checkpoint || t.checkpoint->first == nullptr) return;
  const jobs::SavePlan& save = *t.checkpoint;
  const machine::Tier& to = save.safe ? *save.safe : *save.first;
  yaml.begin("checkpoint")
      .text("checkpoint_folder", "/mnt/" + to.label + "/dlio/" + name + "-save");
  yaml.comment("Every rank writes its own part; a save counts once it is durable.");
  yaml.text("type", "all_ranks").flag("fsync", true);
  yaml.number("steps_between_checkpoints", whole(save.interval / t.step.step)).end();
}

std::string config_of(const review::TrainView& t, const std::string& name,
                      const EmitSource& source) {
  const std::int64_t batch = whole(static_cast<double>(t.train->batch) / t.accelerators);
  YamlWriter yaml;
  const std::string run = fmt::format(
      "mpirun -np {} dlio_benchmark workload=dlio-{} --config-dir=.", t.accelerators, name);
  yaml.comment("First generate the data, then drop the page caches of all hosts, then run:");
  yaml.comment(run + " ++workload.workflow.generate_data=True ++workload.workflow.train=False");
  yaml.comment(run);
  add_model(yaml, t, name);
  yaml.text("framework", "pytorch");
  yaml.begin("workflow").flag("generate_data", false).flag("train", true);
  yaml.flag("checkpoint", t.checkpoint.has_value()).end();
  add_dataset(yaml, t, name, batch);
  yaml.begin("reader").text("data_loader", "pytorch").number("batch_size", batch);
  yaml.number("read_threads", whole(t.feed.cores));
  const char* shuffle = t.train->dataset.shuffle ? "seed" : "off";
  yaml.text("file_shuffle", shuffle).text("sample_shuffle", shuffle).end();
  yaml.begin("train").number("epochs", 1);
  yaml.number("total_training_steps", whole(steps_of(t)));
  yaml.comment("The planned step time in seconds, without waiting for data.");
  yaml.decimal("computation_time", t.step.step / seconds(1)).end();
  add_checkpoint(yaml, t, name);
  yaml.begin("metric").decimal("au", kMark).end();
  return stamp(source, "#") + yaml.result();
}

}  // namespace

Result<EmittedFiles> emit_dlio(const review::Review& review, const EmitSource& source) {
  EmittedFiles files;
  Diagnostics faults;
  for (const review::TrainView& t : review.trains) {
    if (!t.feasible() || !t.feed.known || t.feed.sample <= Bytes(0)) continue;
    const auto name =
        checked_name(t.label, NameRule::dns_label,
                     {"the workload", design::place_of(review.design(), t.path + ".name")});
    if (!name) {
      faults.insert(faults.end(), name.error().begin(), name.error().end());
      continue;
    }
    files.push_back(
        {.path = "workload/dlio-" + *name + ".yaml", .text = config_of(t, *name, source)});
  }
  if (!faults.empty()) return std::unexpected(std::move(faults));
  if (!files.empty()) return files;
  return fail({.code = "emit.no-reads",
               .what = "no run of this design reads a data set from a tier",
               .why = "DLIO replays the reads and saves of training runs",
               .fix = "add a `train` with a `dataset` and a tier that holds it"});
}

}  // namespace orrery::emit
