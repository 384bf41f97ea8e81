// The words of an enumeration, in one table beside it. Code that reads, writes, lists or prints a
// value takes the word from this table, so that no two places can disagree.
//
//   enum class Recompute { none, selective, full };
//   inline constexpr Word<Recompute> kRecomputeWords[] = {{Recompute::none, "none"}, ...};
//   constexpr WordTable<Recompute> words_of(Recompute) { return kRecomputeWords; }
//
// The compiler checks the table where words_of returns it: every enumerator has a row, the rows
// follow the order of the enumeration, and no spelling is used for two values. Enumerators count
// from 0.
#pragma once

#include <array>
#include <concepts>
#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>

namespace orrery {

template <class E>
struct Word {
  E value;
  std::string_view word;
  // Alternative spelling on the command line, in published rows or in reports.
  std::string_view other = {};

  constexpr std::string_view other_or_word() const { return other.empty() ? word : other; }
};

// How the compiler names the value: an enumerator's name, or a cast of a number if there is no such
// enumerator. This is the only way to notice that a new enumerator is missing from the table.
template <auto kValue>
constexpr bool is_enumerator() {
  std::string_view name = __PRETTY_FUNCTION__;
  name = name.substr(0, name.rfind(']'));
  const char first = name[name.find_last_of("):") + 1];
  return first < '0' || first > '9';
}

// Returns why the table is not valid; empty if it is.
template <class E>
constexpr std::string_view words_fault(std::span<const Word<E>> rows) {
  for (std::size_t i = 0; i < rows.size(); ++i) {
    if (static_cast<std::size_t>(rows[i].value) != i) return "a row is missing or out of order";
    if (rows[i].word.empty()) return "a value has no word";
    for (std::size_t j = 0; j < i; ++j) {
      for (const std::string_view spelling : {rows[i].word, rows[i].other}) {
        if (spelling.empty()) continue;
        if (spelling == rows[j].word || spelling == rows[j].other) {
          return "one spelling is used for two values";
        }
      }
    }
  }
  return {};
}

// Never defined and not constexpr: calling it in a constant expression fails the build and shows
// this name.
void the_table_is_at_fault();

template <class E>
class WordTable {
 public:
  template <std::size_t N>
  consteval WordTable(const Word<E> (&rows)[N]) : rows_(rows) {
    static_assert(!is_enumerator<static_cast<E>(N)>(), "the last values have no words");
    if (!words_fault(rows_).empty()) the_table_is_at_fault();
  }

  constexpr std::span<const Word<E>> rows() const { return rows_; }
  constexpr const Word<E>& row(E value) const { return rows_[static_cast<std::size_t>(value)]; }

 private:
  std::span<const Word<E>> rows_;
};

template <class E>
concept Worded = std::is_enum_v<E> && requires(E e) {
  { words_of(e) } -> std::same_as<WordTable<E>>;
};

template <Worded E>
constexpr std::string_view word_of(E value) {
  return words_of(value).row(value).word;
}

template <Worded E>
constexpr std::string_view other_word_of(E value) {
  return words_of(value).row(value).other_or_word();
}

template <Worded E>
constexpr std::optional<E> from_word(std::string_view text) {
  for (const Word<E>& row : words_of(E{}).rows()) {
    if (row.word == text) return row.value;
  }
  return std::nullopt;
}

// Looks the value up by either spelling.
template <Worded E>
constexpr std::optional<E> from_any_word(std::string_view text) {
  for (const Word<E>& row : words_of(E{}).rows()) {
    if (row.word == text || (!text.empty() && row.other == text)) return row.value;
  }
  return std::nullopt;
}

template <Worded E>
inline constexpr auto kWordList = [] {
  std::array<std::string_view, words_of(E{}).rows().size()> list;
  for (std::size_t i = 0; i < list.size(); ++i) list[i] = words_of(E{}).rows()[i].word;
  return list;
}();

// Returns all words in the order of the enumeration.
template <Worded E>
constexpr std::span<const std::string_view> word_list() {
  return kWordList<E>;
}

// Joins the words as "none, selective, full", for messages that list the accepted words.
inline std::string listed(std::span<const std::string_view> words) {
  std::string text;
  for (const std::string_view word : words) {
    if (!text.empty()) text += ", ";
    text += word;
  }
  return text;
}

}  // namespace orrery
