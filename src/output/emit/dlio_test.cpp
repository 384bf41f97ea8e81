#include "output/emit/dlio.h"

#include <gmock/gmock.h>

#include <algorithm>
#include <cmath>

#include "core/base/text.h"
#include "model/design_text/yaml_tree.h"
#include "output/emit/pods_fixture.h"

namespace orrery::emit {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

// Returns the text at a path such as "dataset.format" of a file that is read back.
std::string at(const design_text::YamlNode& root, std::string_view path) {
  const design_text::YamlNode* node = &root;
  for (const std::string_view key : split(path, '.')) {
    const auto found = std::ranges::find(node->keys, key, &design_text::YamlNode::Key::text);
    if (found == node->keys.end()) return "";
    node = &node->items[static_cast<std::size_t>(found - node->keys.begin())];
  }
  return node->text;
}

design_text::YamlNode parsed(const std::string& text) {
  Diagnostics faults;
  auto root = design_text::parse_yaml(text, "dlio.yaml", faults);
  EXPECT_TRUE(root && faults.empty()) << to_text(faults) << text;
  return root.value_or(design_text::YamlNode{});
}

TEST(Dlio, replays_the_run_that_was_planned) {
  const auto r = reviewed(read_template("superpod-h100"));
  const auto files = emit_dlio(*r->review, r->source);
  ASSERT_TRUE(files) << to_text(files.error());
  const review::TrainView& t = r->review->trains.front();
  ASSERT_EQ(files->front().path, "workload/dlio-" + t.label + ".yaml");
  const design_text::YamlNode root = parsed(files->front().text);
  EXPECT_NEAR(parse_number(at(root, "train.computation_time")).value(), t.step.step.base(),
              t.step.step.base() * 1e-3);
  const double batch = parse_number(at(root, "reader.batch_size")).value();
  EXPECT_EQ(batch, std::max(1.0, std::round(static_cast<double>(t.train->batch) / t.accelerators)));
  EXPECT_EQ(parse_number(at(root, "dataset.record_length_bytes")), t.feed.sample.base());
  const double samples = parse_number(at(root, "dataset.num_files_train")).value() *
                         parse_number(at(root, "dataset.num_samples_per_file")).value();
  const double run_steps = parse_number(at(root, "train.total_training_steps")).value();
  EXPECT_GE(samples, run_steps * batch * t.accelerators);
  EXPECT_EQ(at(root, "train.epochs"), "1");
  EXPECT_EQ(at(root, "dataset.data_folder"), "/mnt/" + t.feed.tier->label + "/dlio/" + t.label);
  EXPECT_EQ(at(root, "workflow.checkpoint"), "true");
  const double steps = parse_number(at(root, "checkpoint.steps_between_checkpoints")).value();
  EXPECT_GE(run_steps, std::min(1000.0, 4 * steps - 4));
  EXPECT_NEAR(steps * t.step.step.base(), t.checkpoint->interval.base(), t.step.step.base());
  EXPECT_NEAR(parse_number(at(root, "model.model_size_bytes")).value(),
              t.checkpoint->load.busiest_rank.base(), 1);
  EXPECT_EQ(at(root, "metric.au"), "0.9");
}

// One file per sample; without a checkpoint there is no section for it.
TEST(Dlio, data_format_and_checkpoint_follow_the_design) {
  design::Design d = read_template("av-vision");
  for (design::Workload& w : d.workloads) {
    auto* train = std::get_if<design::Train>(&w.task);
    if (train == nullptr) continue;
    train->dataset.format = design::DataFormat::files;
    train->dataset.shuffle = false;
    train->checkpoint.reset();
  }
  const auto r = reviewed(d);
  const auto files = emit_dlio(*r->review, r->source);
  ASSERT_TRUE(files) << to_text(files.error());
  const design_text::YamlNode root = parsed(files->front().text);
  EXPECT_EQ(at(root, "dataset.num_samples_per_file"), "1");
  EXPECT_EQ(at(root, "dataset.format"), "npz");
  EXPECT_EQ(at(root, "reader.file_shuffle"), "off");
  EXPECT_EQ(at(root, "workflow.checkpoint"), "false");
  EXPECT_EQ(at(root, "model.model_size_bytes"), "");
}

TEST(Dlio, a_design_without_training_is_refused) {
  const auto r = reviewed(read_template("inference-pod"));
  const auto files = emit_dlio(*r->review, r->source);
  ASSERT_FALSE(files);
  EXPECT_EQ(files.error()[0].code, "emit.no-reads");
}

TEST(Dlio, every_number_follows_from_the_run) {
  auto r = reviewed(read_template("superpod-h100"));
  review::TrainView& t = r->review->trains[0];
  t.accelerators = 320;  // three per rank of a batch of 960
  t.step.step = seconds(2.5);
  t.checkpoint->interval = seconds(100);  // 40 steps: four saves are 160 steps
  t.feed.sample = kilobytes(32);
  t.feed.object = megabytes(1);  // 31 samples per shard
  t.feed.cores = 6.4;
  t.checkpoint->load.busiest_rank = Bytes(123456789);
  const auto text = [&] { return directives(emit_dlio(*r->review, r->source)->at(0).text); };
  EXPECT_EQ(
      text(),
      std::string(
          "model:\n  name: pretrain\n  model_size_bytes: 123456789\nframework: pytorch\n"
          "workflow:\n  generate_data: false\n  train: true\n  checkpoint: true\n"
          "dataset:\n  data_folder: \"/mnt/hot/dlio/pretrain\"\n  format: mmap_indexed_binary\n"
          "  num_files_train: 4955\n  num_samples_per_file: 31\n"
          "  record_length_bytes: 32000\n"
          "reader:\n  data_loader: pytorch\n  batch_size: 3\n  read_threads: 6\n"
          "  file_shuffle: ") +
          (t.train->dataset.shuffle ? "seed\n  sample_shuffle: seed\n"
                                    : "\"off\"\n  sample_shuffle: \"off\"\n") +
          "train:\n  epochs: 1\n  total_training_steps: 160\n"
          "  computation_time: 2.5\n"
          "checkpoint:\n  checkpoint_folder: \"/mnt/hot/dlio/pretrain-save\"\n"
          "  type: all_ranks\n  fsync: true\n  steps_between_checkpoints: 40\n"
          "metric:\n  au: 0.9\n");
  t.checkpoint->safe = nullptr;
  EXPECT_THAT(text(),
              HasSubstr("checkpoint_folder: \"/mnt/" + t.checkpoint->first->label + "/dlio"));
  t.checkpoint->first = nullptr;
  EXPECT_THAT(text(), Not(HasSubstr("checkpoint_folder")));
  t.checkpoint->interval = seconds(10);
  EXPECT_THAT(text(), HasSubstr("total_training_steps: 100\n"));
  t.checkpoint->interval = hours(10);
  EXPECT_THAT(text(), HasSubstr("total_training_steps: 1000\n"));
  t.label = "No Name";
  EXPECT_EQ(emit_dlio(*r->review, r->source).error()[0].code, "emit.name");
  t.label = "pretrain";
  t.feed.sample = Bytes(0);
  EXPECT_EQ(emit_dlio(*r->review, r->source).error()[0].code, "emit.no-reads");
}

}  // namespace
}  // namespace orrery::emit
