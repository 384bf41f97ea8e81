#include "live/agent/checkpoint_format.h"

#include <gtest/gtest.h>

namespace orrery::agent {
namespace {

KeptItem item_with(std::string id, std::vector<std::string> paths) {
  KeptItem item{.id = std::move(id)};
  for (std::string& path : paths) item.files.push_back({.path = std::move(path)});
  return item;
}

TEST(CheckpointFormat, a_step_is_the_number_at_the_end_of_a_name) {
  EXPECT_EQ(step_of("iter_0001000"), 1000);
  EXPECT_EQ(step_of("checkpoint-7"), 7);
  EXPECT_EQ(step_of("latest"), 0);
  EXPECT_EQ(step_of("x99999999999999999999999"), 0);
}

TEST(CheckpointFormat, is_finished_by_the_file_that_its_framework_writes_last) {
  EXPECT_TRUE(is_finished(item_with("step-1", {"__0_0.distcp", ".metadata"}), {}, ""));
  EXPECT_FALSE(is_finished(item_with("step-1", {"__0_0.distcp"}), {}, ""));
  EXPECT_TRUE(
      is_finished(item_with("checkpoint-5", {"optimizer.pt", "trainer_state.json"}), {}, ""));
  EXPECT_TRUE(is_finished(item_with("step-1", {"model.safetensors"}), {}, ""));
  const KeptItem shards = item_with("step-1", {"model-00001-of-00002.safetensors"});
  EXPECT_FALSE(is_finished(shards, {}, ""));
  EXPECT_TRUE(is_finished(
      item_with("s", {"model-00001-of-00002.safetensors", "model.safetensors.index.json"}), {},
      ""));
  EXPECT_TRUE(is_finished(item_with("step-1", {"DONE"}), {}, "DONE"));
  EXPECT_FALSE(is_finished(item_with("step-1", {".metadata"}), {}, "DONE"));
}

TEST(CheckpointFormat, megatrons_tracker_ends_what_it_names_and_what_was_before) {
  EXPECT_TRUE(is_finished(item_with("iter_0000100", {"mp_rank_00/model.pt"}), 100, ""));
  EXPECT_TRUE(is_finished(item_with("iter_0000050", {"mp_rank_00/model.pt"}), 100, ""));
  // A distributed checkpoint has its metadata before the tracker is written.
  EXPECT_FALSE(is_finished(item_with("iter_0000150", {".metadata"}), 100, ""));
}

TEST(CheckpointFormat, a_safetensors_file_says_how_long_it_is) {
  const std::string header =
      R"({"__metadata__":{"format":"pt"},"a":{"data_offsets":[0,8]},"b":{"data_offsets":[8,24]}})";
  std::string head(8, '\0');
  head[0] = static_cast<char>(header.size());
  EXPECT_EQ(safetensors_bytes(head + header), 8 + header.size() + 24);
  EXPECT_EQ(safetensors_bytes(head), std::nullopt);
  EXPECT_EQ(safetensors_bytes(head + std::string(header.size(), '{')), std::nullopt);
  EXPECT_EQ(safetensors_header_bytes(std::string(8, '\xff')), std::nullopt);
  const std::string no_offsets = R"({"a":{}})";
  head[0] = static_cast<char>(no_offsets.size());
  EXPECT_EQ(safetensors_bytes(head + no_offsets), std::nullopt);
}

TEST(CheckpointFormat, an_index_names_shards_that_must_be_there) {
  const KeptItem item = item_with("s", {"m-1-of-2.safetensors"});
  EXPECT_EQ(missing_shard(R"({"weight_map":{"a":"m-1-of-2.safetensors"}})", item), std::nullopt);
  EXPECT_EQ(missing_shard(R"({"weight_map":{"a":"m-2-of-2.safetensors"}})", item),
            "m-2-of-2.safetensors");
  EXPECT_EQ(missing_shard("[]", item), "the index itself");
  EXPECT_EQ(missing_shard("{", item), "the index itself");
}

}  // namespace
}  // namespace orrery::agent
