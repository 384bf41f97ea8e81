#include "live/agent/checkpoint_format.h"

#include <gtest/gtest.h>

namespace orrery::agent::checkpoint_format_tests {
namespace {

KeptItem item_with(const std::string& id, const std::vector<std::string>& paths) {
  KeptItem item{.id = id};
  for (const std::string& path : paths) item.files.push_back({.path = path});
  return item;
}

bool ends(const std::vector<std::string>& paths, const std::string& marker = "") {
  return is_finished(item_with("step-1", paths), std::nullopt, marker);
}

// A safetensors file: the length of the header in eight bytes, little-endian, then the header.
std::string framed(const std::string& header) {
  std::string file;
  for (int i = 0; i < 8; ++i) file += static_cast<char>(header.size() >> (8 * i));
  return file + header;
}

TEST(CheckpointFormat, step_is_the_number_at_the_end_of_a_name) {
  EXPECT_EQ(step_of("iter_0001000"), 1000);
  EXPECT_EQ(step_of("checkpoint-7"), 7);
  EXPECT_EQ(step_of("120"), 120);
  EXPECT_EQ(step_of(std::string_view("7123").substr(1)), 123);
  for (const char* none : {"", "latest", "step-9a", "x/", "s99999999999999999999"}) {
    EXPECT_EQ(step_of(none), 0) << none;
  }
}

TEST(CheckpointFormat, item_is_finished_by_the_file_its_framework_writes_last) {
  EXPECT_TRUE(ends({"__0_0.distcp", ".metadata"}));
  EXPECT_FALSE(ends({"__0_0.distcp"}));
  EXPECT_TRUE(ends({"optimizer.pt", "trainer_state.json"}));
  EXPECT_TRUE(ends({"model.safetensors"}));
  EXPECT_FALSE(ends({"model-00001-of-00002.safetensors"}));
  EXPECT_FALSE(ends({"model.safetensors", "model-00001-of-00002.safetensors"}))
      << "shards need their index";
  EXPECT_TRUE(ends({"model-00001-of-00002.safetensors", "model.safetensors.index.json"}));
}

TEST(CheckpointFormat, named_marker_replaces_the_files_of_the_framework) {
  EXPECT_TRUE(ends({"DONE"}, "DONE"));
  EXPECT_FALSE(ends({".metadata"}, "DONE"));
  EXPECT_FALSE(is_finished(item_with("iter_0000005", {"x"}), 10, "DONE"));
}

TEST(CheckpointFormat, megatron_tracker_finishes_its_iteration_and_earlier_ones) {
  const auto finished = [](const char* id, const char* file) {
    return is_finished(item_with(id, {file}), 100, "");
  };
  EXPECT_TRUE(finished("iter_0000100", "mp_rank_00/model.pt"));
  EXPECT_TRUE(finished("iter_0000050", "mp_rank_00/model.pt"));
  EXPECT_FALSE(finished("iter_0000101", "mp_rank_00/model.pt"));
  // A distributed checkpoint has its metadata before the tracker is written.
  EXPECT_FALSE(finished("iter_0000150", ".metadata"));
  EXPECT_TRUE(is_finished(item_with("iter_0000150", {".metadata"}), std::nullopt, ""));
  EXPECT_FALSE(finished("step-5", "weights.bin")) << "the tracker is about iterations only";
  EXPECT_TRUE(finished("step-500", ".metadata"));
}

TEST(CheckpointFormat, safetensors_header_gives_the_length_of_the_file) {
  const std::string header =
      R"({"__metadata__":{"format":"pt"},"a":{"data_offsets":[8,24]},"b":{"data_offsets":[0,8]}})";
  EXPECT_EQ(safetensors_bytes(framed(header)), 8 + header.size() + 24);
  EXPECT_EQ(safetensors_bytes(framed(R"({"__metadata__":{"a":"b"}})")), 8u + 26u);
  for (const std::string& bad : {framed(header).substr(0, 8), framed(header).substr(0, 12),
                                 framed(R"({"a":{}})"), framed(std::string(50, '{'))}) {
    EXPECT_EQ(safetensors_bytes(bad), std::nullopt);
  }
  const std::string length("\x05\0\0\0\0\0\0\0", 8);
  EXPECT_EQ(safetensors_header_bytes(length), 5u);
  EXPECT_EQ(safetensors_header_bytes(std::string_view(length).substr(0, 7)), std::nullopt);
  EXPECT_EQ(safetensors_header_bytes(std::string(8, '\xff')), std::nullopt);
}

TEST(CheckpointFormat, index_names_the_shards_that_must_exist) {
  const KeptItem item = item_with("s", {"m-1-of-2.safetensors"});
  EXPECT_EQ(missing_shard(R"({"weight_map":{"a":"m-1-of-2.safetensors"}})", item), std::nullopt);
  EXPECT_EQ(missing_shard(R"({"weight_map":{"a":"m-2-of-2.safetensors"}})", item),
            "m-2-of-2.safetensors");
  for (const char* bad : {"[]", "{", R"({"weight_map":{"a":7}})"}) {
    EXPECT_TRUE(missing_shard(bad, item)) << bad;
  }
}

}  // namespace
}  // namespace orrery::agent::checkpoint_format_tests
