// Quoting, names and YAML at their edges; arguments of Megatron; addresses of stores.
#include <gtest/gtest.h>

#include "output/emit/escape.h"
#include "output/emit/hcl_writer.h"
#include "output/emit/megatron_arguments.h"
#include "output/emit/object_store.h"
#include "output/emit/yaml_writer.h"

namespace orrery::emit {
namespace {

TEST(Quoting, EscapesWhatReadersTakeForOtherThings) {
  const std::vector<std::pair<std::string, std::string>> pairs = {
      {"\x1f", "\\u001f"},
      {" ", " "},
      {"~", "~"},
      {"\x7f", "\\u007f"},
      {"\xc2\x80", "\\u0080"},
      {"\xc2\x9f", "\\u009f"},
      {"\xc2\xa0", "\xc2\xa0"},
      {"\xe2\x80\xa7", "\xe2\x80\xa7"},
      {"\xe2\x80\xa8", "\\u2028"},
      {"\xe2\x80\xa9", "\\u2029"},
      {"\xe2\x80\xaa", "\xe2\x80\xaa"},
      {"\xef\xbb\xbf", "\\ufeff"},
      {"\xef\xbf\xbc", "\xef\xbf\xbc"},
      {"\xef\xbf\xbe", "\\ufffe"},
      {"\xef\xbf\xbf", "\\uffff"},
      {"\xf0\x9f\xbf\xbe", "\\U0001fffe"},
      {"\xf0\x90\x80\x80", "\xf0\x90\x80\x80"},
      {"\xc3\xa9", "\xc3\xa9"},
      {"\xff", "\\ufffd"},
      {"\xc1\x81", "\\ufffd\\ufffd"},
      {"\xe2\x82", "\\ufffd\\ufffd"},
      {"\t\r\n\"\\", "\\t\\r\\n\\\"\\\\"}};
  for (const auto& [text, expected] : pairs) {
    EXPECT_EQ(yaml_string(text), '"' + expected + '"') << expected;
  }
}

TEST(Quoting, CommentsEscapeAllBeyondAsciiAndCutAfterCharacters) {
  EXPECT_EQ(comment_text("~\x7f\xc2\xa0\xf0\x90\x80\x80", 9), "\"~\\u007f\\u00a0\\U00010000\"");
  EXPECT_EQ(comment_text("\xc3\xa9\xc3\xa9\xc3\xa9", 2), "\"\\u00e9\\u00e9...\"");
  EXPECT_EQ(comment_text("", 5), "\"\"");
  EXPECT_EQ(comment_words("a\nb\x7f\tc d"), "abc d");
}

TEST(Quoting, HclOpensNoTemplate) {
  EXPECT_EQ(hcl_string("$"), "\"$\"");
  EXPECT_EQ(hcl_string("a${"), "\"a$${\"");
  EXPECT_EQ(hcl_string("%{x"), "\"%%{x\"");
  EXPECT_EQ(hcl_string("#{x $ {"), "\"#{x $ {\"");
}

TEST(Quoting, ShellWordsThatArePlain) {
  for (const char* plain : {"a", "Z", "0", "9x", "/x", "a_-./:,+@%=z"}) {
    EXPECT_EQ(shell_word(plain), plain);
  }
  for (const char* other : {"=a", "~a", ".a", "_a", "a*", "a[b", "a`b", "a{b", "@a", "a;"}) {
    EXPECT_EQ(shell_word(other), std::string("'") + other + "'");
  }
  EXPECT_EQ(shell_word("\x1f\x7f "), "$'\\037\\177 '");
  EXPECT_EQ(shell_word(std::string("a\0b", 3)), "$'ab'");
  EXPECT_EQ(shell_word("a\\b"), "'a\\b'") << "no escape between plain quotes";
}

TEST(Names, ByTheirRules) {
  const auto fits = [](const char* text) {
    std::string rules;
    if (is_name(text, NameRule::slurm)) rules += "s";
    if (is_name(text, NameRule::dns_label)) rules += "d";
    if (is_name(text, NameRule::hcl)) rules += "h";
    return rules;
  };
  EXPECT_EQ(fits("a"), "sdh");
  EXPECT_EQ(fits("z-0"), "sdh");
  EXPECT_EQ(fits("9a"), "sd");
  EXPECT_EQ(fits("0"), "sd");
  EXPECT_EQ(fits("a-"), "sh");
  EXPECT_EQ(fits("-a"), "");
  EXPECT_EQ(fits("aZ"), "sh");
  EXPECT_EQ(fits("A"), "sh");
  EXPECT_EQ(fits("a_b"), "sh");
  EXPECT_EQ(fits("_a"), "h");
  EXPECT_EQ(fits("a.b"), "s");
  EXPECT_EQ(fits("a b"), "");
  EXPECT_EQ(fits("a{"), "");
  EXPECT_EQ(fits("a`"), "");
  EXPECT_EQ(fits("a@"), "");
  EXPECT_EQ(fits("a["), "");
  EXPECT_EQ(fits("a/"), "");
  EXPECT_EQ(fits("a:"), "");
  EXPECT_EQ(fits("default"), "dh");
  EXPECT_EQ(fits("all"), "dh");
  EXPECT_EQ(fits("NONE"), "h");
  EXPECT_EQ(fits("Unlimited"), "h");
  EXPECT_TRUE(is_name(std::string(63, 'a'), NameRule::slurm));
  EXPECT_FALSE(is_name(std::string(64, 'a'), NameRule::slurm));
}

TEST(Names, TheNearest) {
  EXPECT_EQ(nearest_name("A b__C", NameRule::dns_label), "a-b-c");
  EXPECT_EQ(nearest_name("a..", NameRule::slurm), "a");
  EXPECT_EQ(nearest_name("--a-", NameRule::dns_label), "a");
  EXPECT_EQ(nearest_name("9lives", NameRule::hcl), "lives");
  EXPECT_EQ(nearest_name("9lives", NameRule::dns_label), "9lives");
  EXPECT_EQ(nearest_name("!!", NameRule::hcl), "name-1");
  EXPECT_EQ(nearest_name("ALL", NameRule::slurm), "name-1");
  EXPECT_EQ(nearest_name(std::string(70, 'q'), NameRule::hcl), std::string(63, 'q'));
}

TEST(Names, ARefusalSaysWhichAndWhy) {
  const auto refused =
      checked_name("A " + std::string(60, 'x'), NameRule::dns_label, {"the fleet", {"f", 3, 7}});
  ASSERT_FALSE(refused);
  const Diagnostic& d = refused.error()[0];
  EXPECT_EQ(d.what, "the fleet \"A " + std::string(38, 'x') +
                        "...\" cannot be written as a name "
                        "there");
  EXPECT_EQ(d.why,
            "it becomes a host or object name: lower-case letters, digits and `-`, a letter or "
            "digit first and last, at most 63");
  EXPECT_EQ(d.fix, "call it `a-" + std::string(60, 'x') + "`, or another name of that alphabet");
  EXPECT_EQ(d.place.line, 3);
  EXPECT_EQ(checked_name("-", NameRule::slurm, {"x", {}}).error()[0].why,
            "Slurm takes letters, digits, `_`, `.` and `-`, a letter or digit first, at most 63, "
            "and reads `default`, `all`, `none` as words of its own");
  EXPECT_EQ(checked_name("-", NameRule::hcl, {"x", {}}).error()[0].why,
            "Terraform takes letters, digits, `_` and `-`, a letter first, at most 63");
  EXPECT_EQ(checked_name("ok", NameRule::hcl, {"x", {}}).value(), "ok");
}

TEST(YamlText, IsPlainWhereNoReaderMistakesIt) {
  for (const char* plain : {"a", "z", "A", "Z", "a0", "a9", "a_b.c/d-e", "trues", "yesno"}) {
    EXPECT_EQ(yaml_text(plain), plain);
  }
  for (const char* word : {"true", "False", "YES", "no", "on", "Off", "null", "y", "N", "NaN", "",
                           "0a", "_a", "a b", "a:", "a{", "a@", "a[", "a`"}) {
    EXPECT_EQ(yaml_text(word), '"' + std::string(word) + '"');
  }
}

TEST(YamlText, OfEveryPart) {
  YamlWriter y;
  y.text("name", "a b").number("n", -3).decimal("d", 0.123456).flag("yes", true).flag("f", false);
  y.begin("map").blank("none").texts("list", {"a", "1"}).texts("empty", {});
  y.block("script", "one\ntwo\n\n").comment("why").end();
  y.begin("items").item().text("a", "b").number("c", 1).end_item().end().document();
  EXPECT_EQ(y.result(),
            "name: \"a b\"\n\"n\": -3\nd: 0.1235\n\"yes\": true\nf: false\n"
            "map:\n  none: {}\n  list: [a, \"1\"]\n  empty: []\n"
            "  script: |\n    one\n    two\n  # why\n"
            "items:\n  - a: b\n    c: 1\n---\n");
}

TEST(HclText, AlignsArgumentsAndSeparatesBlocks) {
  HclWriter w;
  w.begin("resource", {"a", "b"}).text("x", "1").expression("long", "var.y");
  w.begin("inner", {}).end().text("z", "2").end();
  w.begin("output", {"o"}).expression("value", "1").end();
  EXPECT_EQ(w.result(),
            "resource \"a\" \"b\" {\n  x    = \"1\"\n  long = var.y\n\n  inner {\n  }\n"
            "  z = \"2\"\n}\n\noutput \"o\" {\n  value = 1\n}\n");
}

TEST(StoreAddress, IsAHostBehindHttp) {
  for (const char* good : {"", "http://a", "https://store-1:8118", "http://[::1]:80"}) {
    EXPECT_TRUE(check_object_store(good).empty()) << good;
  }
  for (const char* bad : {"http://", "https://", "ftp://a", "a", "http://a/b", "http://a b",
                          "http://a;b", "https://a_b"}) {
    const Diagnostics d = check_object_store(bad);
    ASSERT_EQ(d.size(), 1U) << bad;
    EXPECT_EQ(d[0].code, "emit.object-store");
    EXPECT_EQ(d[0].what, "the address of the object store is \"" + std::string(bad) + "\"");
    EXPECT_EQ(d[0].why, "files for mounts want http:// or https://, a host and a port");
    EXPECT_EQ(d[0].fix, "write --object-store http://store-1:8118");
  }
}

const std::string kLeast =
    "--num-layers 24 --hidden-size 1024 --num-attention-heads 16 --seq-length 512 "
    "--micro-batch-size 3 ";

jobs::TrainingQuery asked(const std::string& rest) {
  const auto q = query_from_megatron(kLeast + rest, "f");
  EXPECT_TRUE(q) << rest;
  return q ? *q : jobs::TrainingQuery{};
}

TEST(Megatron, WhatIsNotSaidIsMegatronsDefault) {
  const jobs::TrainingQuery q = asked("");
  EXPECT_EQ(q.model.id, "megatron");
  EXPECT_EQ(q.model.layers, 24);
  EXPECT_EQ(q.model.hidden, 1024);
  EXPECT_EQ(q.model.heads, 16);
  EXPECT_EQ(q.model.kv_heads, 16);
  EXPECT_EQ(q.model.head_dim, 64);
  EXPECT_FALSE(q.model.gated_mlp);
  EXPECT_EQ(q.model.ffn, 4096);
  EXPECT_EQ(q.model.vocab, 51200);
  EXPECT_TRUE(q.model.tied_embeddings);
  EXPECT_EQ(q.model.experts, 0);
  EXPECT_EQ(q.model.top_k, 0);
  EXPECT_EQ(q.model.expert_ffn, 4096);
  EXPECT_EQ(q.model.mtp_layers, 0);
  EXPECT_EQ(q.model.shared_experts, 0);
  EXPECT_NE(q.model.attention, catalog::AttentionKind::mla);
  EXPECT_EQ(q.layout.tp, 1);
  EXPECT_EQ(q.layout.pp, 1);
  EXPECT_EQ(q.layout.cp, 1);
  EXPECT_EQ(q.layout.ep, 1);
  EXPECT_EQ(q.layout.vp, 1);
  EXPECT_EQ(q.layout.microbatch, 3);
  EXPECT_EQ(q.layout.sequence_parallel, false);
  EXPECT_EQ(q.layout.sharding, catalog::Sharding::none);
  EXPECT_EQ(q.layout.recompute, catalog::Recompute::none);
  EXPECT_EQ(q.sequence, 512);
  EXPECT_EQ(q.batch, 3);
  EXPECT_EQ(q.precision, catalog::Precision::bf16);
  EXPECT_EQ(q.framework, "megatron-core");
}

TEST(Megatron, ArgumentsOfTheModel) {
  const jobs::TrainingQuery q = asked(
      "--group-query-attention --num-query-groups 4 --kv-channels 96 --swiglu --ffn-hidden-size "
      "3000 --vocab-size 100 --padded-vocab-size 128 --untie-embeddings-and-output-weights "
      "--num-experts 8 --moe-ffn-hidden-size 700 --mtp-num-layers 1 "
      "--moe-shared-expert-intermediate-size 900");
  EXPECT_EQ(q.model.kv_heads, 4);
  EXPECT_EQ(q.model.head_dim, 96);
  EXPECT_TRUE(q.model.gated_mlp);
  EXPECT_EQ(q.model.ffn, 3000);
  EXPECT_EQ(q.model.vocab, 128);
  EXPECT_FALSE(q.model.tied_embeddings);
  EXPECT_EQ(q.model.experts, 8);
  EXPECT_EQ(q.model.top_k, 2);
  EXPECT_EQ(q.model.expert_ffn, 700);
  EXPECT_EQ(q.model.mtp_layers, 1);
  EXPECT_EQ(q.model.shared_experts, 1);
  EXPECT_EQ(q.model.shared_expert_ffn, 900);
  EXPECT_EQ(asked("--num-experts 8 --moe-router-topk 3").model.top_k, 3);
  EXPECT_EQ(asked("--vocab-size 100").model.vocab, 100);
  EXPECT_EQ(asked("--group-query-attention").model.kv_heads, 1);
}

TEST(Megatron, LatentAttention) {
  const jobs::TrainingQuery usual = asked("--multi-latent-attention");
  EXPECT_EQ(usual.model.attention, catalog::AttentionKind::mla);
  EXPECT_EQ(usual.model.q_lora_rank, 0);
  EXPECT_EQ(usual.model.kv_lora_rank, 32);
  EXPECT_EQ(usual.model.qk_nope_dim, 128);
  EXPECT_EQ(usual.model.qk_rope_dim, 64);
  EXPECT_EQ(usual.model.v_head_dim, 128);
  const jobs::TrainingQuery own = asked(
      "--multi-latent-attention --q-lora-rank 1536 --kv-lora-rank 512 --qk-head-dim 96 "
      "--qk-pos-emb-head-dim 48 --v-head-dim 80");
  EXPECT_EQ(own.model.q_lora_rank, 1536);
  EXPECT_EQ(own.model.kv_lora_rank, 512);
  EXPECT_EQ(own.model.qk_nope_dim, 96);
  EXPECT_EQ(own.model.qk_rope_dim, 48);
  EXPECT_EQ(own.model.v_head_dim, 80);
}

TEST(Megatron, ArgumentsOfTheLayout) {
  const jobs::TrainingQuery q = asked(
      "--tensor-model-parallel-size 2 --pipeline-model-parallel-size 4 --context-parallel-size 8 "
      "--expert-model-parallel-size 16 --num-layers-per-virtual-pipeline-stage 2 "
      "--sequence-parallel --use-distributed-optimizer --recompute-granularity full "
      "--global-batch-size 96 --fp8-format hybrid");
  EXPECT_EQ(q.layout.tp, 2);
  EXPECT_EQ(q.layout.pp, 4);
  EXPECT_EQ(q.layout.cp, 8);
  EXPECT_EQ(q.layout.ep, 16);
  EXPECT_EQ(q.layout.vp, 3) << "24 layers over four stages, two at a time";
  EXPECT_EQ(q.layout.sequence_parallel, true);
  EXPECT_EQ(q.layout.sharding, catalog::Sharding::zero1);
  EXPECT_EQ(q.layout.recompute, catalog::Recompute::full);
  EXPECT_EQ(q.batch, 96);
  EXPECT_EQ(q.precision, catalog::Precision::fp8);
  EXPECT_EQ(asked("--recompute-granularity selective").layout.recompute,
            catalog::Recompute::selective);
  EXPECT_EQ(asked("--num-layers-per-virtual-pipeline-stage 99").layout.vp, 1);
  EXPECT_EQ(asked("--num-layers-per-virtual-pipeline-stage 0").layout.vp, 1);
  EXPECT_EQ(asked("--fp16").precision, catalog::Precision::fp16);
}

TEST(Megatron, WordsStandBetweenWhatScriptsPutThere) {
  const auto q = query_from_megatron(
      "A=\"--num-layers=2\t--hidden-size\r\n8 \\\n--num-attention-heads '4'\" --seq-length 1 "
      "--micro-batch-size 1",
      "f");
  ASSERT_TRUE(q);
  EXPECT_EQ(q->model.layers, 2);
  EXPECT_EQ(q->model.hidden, 8);
  EXPECT_EQ(q->model.heads, 4);
  EXPECT_EQ(q->sequence, 1);
  const auto bad = query_from_megatron(
      "--num-layers 0 --hidden-size 8 --num-attention-heads 1 --seq-length 1", "run.sh");
  ASSERT_FALSE(bad);
  ASSERT_EQ(bad.error().size(), 2U);
  EXPECT_EQ(bad.error()[0].code, "megatron.missing");
  EXPECT_EQ(bad.error()[0].what, "--num-layers is missing or not a number");
  EXPECT_EQ(bad.error()[0].why, "a step cannot be estimated without it");
  EXPECT_EQ(bad.error()[0].fix, "add --num-layers N");
  EXPECT_EQ(bad.error()[0].place.file, "run.sh");
  EXPECT_EQ(bad.error()[1].what, "--micro-batch-size is missing or not a number");
}

}  // namespace
}  // namespace orrery::emit
