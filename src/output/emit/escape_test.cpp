#include "output/emit/escape.h"

#include <gmock/gmock.h>

#include "core/base/digest.h"
#include "model/design_text/yaml_tree.h"
#include "output/emit/stamp.h"
#include "output/emit/yaml_writer.h"

namespace orrery::emit {
namespace {

using testing::HasSubstr;
using testing::Not;

const std::vector<std::string>& hostile_pieces() {
  static const std::vector<std::string> kTexts = {"",
                                                  "a\nStorageHost=evil",
                                                  "a\r\nb",
                                                  "\"; rm -rf /; \"",
                                                  "'; touch x; '",
                                                  "$(touch x) `touch x` ${x}",
                                                  "a\\",
                                                  "# no comment",
                                                  "- item: [1, {",
                                                  "${file(\"x\")} %{ if true }",
                                                  "tab\tand\x01control\x7f",
                                                  "next line \xc2\x85 separator \xe2\x80\xa8 end",
                                                  "bad \xff\xfe bytes",
                                                  std::string("nul\0inside", 10),
                                                  "\xf0\x9f\x90\xa7 snow \xe2\x98\x83",
                                                  std::string(10'000, 'x'),
                                                  std::string(10'000, '\n')};
  return kTexts;
}

bool is_one_printable_line(std::string_view text) {
  for (const char c : text) {
    if (static_cast<unsigned char>(c) < 0x20 || c == 0x7f) return false;
  }
  return text.find("\xc2\x85") == std::string_view::npos &&
         text.find("\xe2\x80\xa8") == std::string_view::npos;
}

TEST(Escape, hostile_text_stays_on_one_line) {
  for (const std::string& text : hostile_pieces()) {
    EXPECT_TRUE(is_one_printable_line(comment_text(text))) << comment_text(text);
    EXPECT_TRUE(is_one_printable_line(yaml_string(text))) << yaml_string(text);
    EXPECT_TRUE(is_one_printable_line(hcl_string(text))) << hcl_string(text);
  }
}

TEST(Escape, comments_are_ascii_and_cut) {
  EXPECT_EQ(comment_text("caf\xc3\xa9 \"x\""), "\"caf\\u00e9 \\\"x\\\"\"");
  EXPECT_EQ(comment_text(std::string(10'000, 'x'), 5), "\"xxxxx...\"");
  EXPECT_EQ(comment_text(std::string(5, 'x'), 5), "\"xxxxx\"");
}

// A YAML reader returns the original text if it was UTF-8.
TEST(Escape, a_yaml_string_reads_back) {
  for (const std::string& text : hostile_pieces()) {
    Diagnostics faults;
    const auto tree =
        design_text::parse_yaml("k: " + yaml_string(text) + "\nend: 1\n", "t", faults);
    ASSERT_TRUE(tree.has_value()) << text;
    EXPECT_THAT(faults, testing::IsEmpty());
    ASSERT_EQ(tree->items.size(), 2U);
    if (text.find('\xff') != std::string::npos) continue;
    EXPECT_EQ(tree->items[0].text, text);
  }
}

TEST(Escape, hcl_templates_are_escaped) {
  EXPECT_EQ(hcl_string("${x} %{if} $5"), "\"$${x} %%{if} $5\"");
  EXPECT_EQ(hcl_string("a\"b\\\n"), "\"a\\\"b\\\\\\n\"");
}

TEST(Escape, shell_words_are_quoted_if_needed) {
  EXPECT_EQ(shell_word("train-1/x.sh"), "train-1/x.sh");
  EXPECT_EQ(shell_word("a b"), "'a b'");
  EXPECT_EQ(shell_word("it's"), "'it'\\''s'");
  EXPECT_EQ(shell_word("-x"), "'-x'");
  EXPECT_EQ(shell_word("a\n'b\\"), "$'a\\012\\'b\\\\'");
  EXPECT_EQ(shell_word(""), "''");
}

TEST(Escape, bad_names_are_refused_with_a_valid_suggestion) {
  EXPECT_TRUE(is_name("train-1", NameRule::slurm));
  EXPECT_TRUE(is_name("Train_1.a", NameRule::slurm));
  EXPECT_FALSE(is_name("ALL", NameRule::slurm));
  EXPECT_FALSE(is_name("Train", NameRule::dns_label));
  EXPECT_FALSE(is_name("train-", NameRule::dns_label));
  EXPECT_FALSE(is_name("1train", NameRule::hcl));
  EXPECT_FALSE(is_name(std::string(64, 'a'), NameRule::dns_label));
  for (const std::string& text : hostile_pieces()) {
    for (const NameRule rule : {NameRule::slurm, NameRule::dns_label, NameRule::hcl}) {
      EXPECT_FALSE(is_name(text, rule));
      EXPECT_TRUE(is_name(nearest_name(text, rule), rule)) << nearest_name(text, rule);
      const auto refused = checked_name(text, rule, {"the fleet", {"d.yaml", 3, 1}});
      ASSERT_FALSE(refused.has_value());
      EXPECT_EQ(refused.error().front().code, "emit.name");
    }
  }
  EXPECT_EQ(nearest_name("Team A (prod)", NameRule::dns_label), "team-a-prod");
}

TEST(Escape, a_stamp_names_the_design_on_one_line) {
  const EmitSource source{.design = "a\nb", .version = "2", .digest = std::string(64, '0')};
  EXPECT_THAT(stamp(source, "#"),
              HasSubstr("# orrery-emit: design \"a\\nb\" version \"2\" digest"));
  for (const std::string& text : hostile_pieces()) {
    const std::string lines = stamp({.design = text, .version = text, .digest = "d"}, "#");
    EXPECT_EQ(std::ranges::count(lines, '\n'), 2);
    EXPECT_THAT(lines, Not(HasSubstr("\r")));
  }
}

TEST(Escape, a_manifest_reads_back_and_refuses_other_text) {
  const Manifest manifest = {{"slurm", "a.conf", sha256_hex("x"), sha256_hex("d")},
                             {"grafana", "d/\"b\".json", sha256_hex("y"), sha256_hex("d")}};
  const auto back = read_manifest(write_manifest(manifest), "m");
  ASSERT_TRUE(back.has_value());
  EXPECT_EQ(*back, manifest);
  EXPECT_NE(find_entry(*back, "a.conf"), nullptr);
  EXPECT_EQ(find_entry(*back, "b.conf"), nullptr);
  for (const char* text : {"", "[]", "{", "{\"orrery_emit\": 2, \"files\": []}",
                           "{\"orrery_emit\": 1}", "{\"orrery_emit\": 1, \"files\": [{}]}"}) {
    EXPECT_FALSE(read_manifest(text, "m").has_value()) << text;
  }
}

TEST(Escape, plain_shell_words_are_not_quoted) {
  for (const char* plain : {"a", "Z", "0", "9x", "/x", "a_-./:,+@%=z"}) {
    EXPECT_EQ(shell_word(plain), plain);
  }
  for (const char* other : {"=a", "~a", ".a", "_a", "a*", "a[b", "a`b", "a{b", "@a", "a;"}) {
    EXPECT_EQ(shell_word(other), std::string("'") + other + "'");
  }
  EXPECT_EQ(shell_word("\x1f\x7f "), "$'\\037\\177 '");
  EXPECT_EQ(shell_word(std::string("a\0b", 3)), "$'ab'");
  EXPECT_EQ(shell_word("a\\b"), "'a\\b'");
}

TEST(Escape, names_follow_the_rules_of_their_system) {
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

}  // namespace
}  // namespace orrery::emit
