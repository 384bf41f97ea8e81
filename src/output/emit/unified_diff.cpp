#include "output/emit/unified_diff.h"

#include <fmt/core.h>

#include <algorithm>
#include <vector>

namespace orrery::emit {
namespace {

constexpr int kContext = 3;
constexpr int kMostEdits = 2000;  // memory grows with its square: 16 MB here

using Lines = std::vector<std::string_view>;

Lines lines_of(std::string_view text) {
  Lines out;
  while (!text.empty()) {
    const std::size_t end = std::min(text.find('\n'), text.size());
    out.push_back(text.substr(0, end));
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return out;
}

struct Step {
  char sign = ' ';  // ' ', '-', '+'
  std::string_view line;
};

std::vector<Step> replaced(const Lines& a, const Lines& b) {
  std::vector<Step> steps;
  for (const std::string_view line : a) steps.push_back({'-', line});
  for (const std::string_view line : b) steps.push_back({'+', line});
  return steps;
}

// Furthest points on each diagonal, one row per edit; walking backwards gives the script.
class EditScript {
 public:
  EditScript(const Lines& a, const Lines& b) : a_(a), b_(b) {}

  std::vector<Step> run() {
    const int n = static_cast<int>(a_.size()), m = static_cast<int>(b_.size());
    std::vector<int> reach{0, 0, 0};
    for (int d = 0; d <= std::min(n + m, kMostEdits); ++d) {
      rows_.push_back(reach);
      std::vector<int> next(static_cast<std::size_t>(2 * d + 3), 0);
      for (int k = -d; k <= d; k += 2) {
        const int x = slide(start_of(reach, d, k), k);
        next[at(d, k)] = x;
        if (x >= n && x - k >= m) return walk_back(d, n, m);
      }
      reach = std::move(next);
    }
    return replaced(a_, b_);
  }

 private:
  // Row d contains diagonals -d-1 .. d+1.
  static std::size_t at(int d, int k) { return static_cast<std::size_t>(k + d) + 1; }

  static bool goes_down(const std::vector<int>& before, int d, int k) {
    if (k == -d) return true;
    return k != d && before[at(d - 1, k - 1)] < before[at(d - 1, k + 1)];
  }

  static int start_of(const std::vector<int>& before, int d, int k) {
    if (d == 0) return 0;
    return goes_down(before, d, k) ? before[at(d - 1, k + 1)] : before[at(d - 1, k - 1)] + 1;
  }

  int slide(int x, int k) const {
    while (x < static_cast<int>(a_.size()) && x - k < static_cast<int>(b_.size()) &&
           a_[static_cast<std::size_t>(x)] == b_[static_cast<std::size_t>(x - k)]) {
      ++x;
    }
    return x;
  }

  std::vector<Step> walk_back(int d, int x, int y) const {
    std::vector<Step> steps;
    for (; d >= 0; --d) {
      const int k = x - y;
      const int from = start_of(rows_[static_cast<std::size_t>(d)], d, k);
      for (; x > from; --x, --y) steps.push_back({' ', a_[static_cast<std::size_t>(x - 1)]});
      if (d == 0) break;
      if (goes_down(rows_[static_cast<std::size_t>(d)], d, k)) {
        steps.push_back({'+', b_[static_cast<std::size_t>(--y)]});
      } else {
        steps.push_back({'-', a_[static_cast<std::size_t>(--x)]});
      }
    }
    std::ranges::reverse(steps);
    return steps;
  }

  const Lines& a_;
  const Lines& b_;
  std::vector<std::vector<int>> rows_;
};

std::string shown(std::string_view line) {
  std::string out(line);
  for (char& c : out) {
    if ((static_cast<unsigned char>(c) < 0x20 && c != '\t') || c == 0x7f) c = '?';
  }
  return out;
}

struct Hunk {
  std::size_t from = 0;  // start, in steps
  std::size_t to = 0;
};

std::vector<Hunk> hunks_of(const std::vector<Step>& steps) {
  std::vector<Hunk> out;
  for (std::size_t i = 0; i < steps.size(); ++i) {
    if (steps[i].sign == ' ') continue;
    const std::size_t from = i < kContext ? 0 : i - kContext;
    const std::size_t to = std::min(steps.size(), i + 1 + kContext);
    if (!out.empty() && from <= out.back().to) {
      out.back().to = to;
    } else {
      out.push_back({from, to});
    }
  }
  return out;
}

// Returns "12,3", or "12" for a single line; an empty side is named after the line before it.
std::string span_text(int first, int count) {
  if (count == 1) return std::to_string(first);
  return fmt::format("{},{}", count == 0 ? first - 1 : first, count);
}

std::string hunk_text(const std::vector<Step>& steps, const Hunk& hunk) {
  const auto count = [&steps](std::size_t from, std::size_t to, char other) {
    return static_cast<int>(
        std::ranges::count_if(steps.begin() + static_cast<std::ptrdiff_t>(from),
                              steps.begin() + static_cast<std::ptrdiff_t>(to),
                              [other](const Step& s) { return s.sign == ' ' || s.sign == other; }));
  };
  std::string out = fmt::format(
      "@@ -{} +{} @@\n", span_text(count(0, hunk.from, '-') + 1, count(hunk.from, hunk.to, '-')),
      span_text(count(0, hunk.from, '+') + 1, count(hunk.from, hunk.to, '+')));
  for (std::size_t i = hunk.from; i < hunk.to; ++i)
    out += steps[i].sign + shown(steps[i].line) + '\n';
  return out;
}

}  // namespace

std::string unified_diff(const TextPair& pair) {
  if (pair.before == pair.after && !pair.is_new && !pair.is_gone) return {};
  const Lines a = lines_of(pair.before);
  const Lines b = lines_of(pair.after);
  const std::vector<Step> steps = EditScript(a, b).run();
  std::string out = fmt::format("--- {}\n+++ {}\n", pair.is_new ? "/dev/null" : "a/" + pair.path,
                                pair.is_gone ? "/dev/null" : "b/" + pair.path);
  for (const Hunk& hunk : hunks_of(steps)) out += hunk_text(steps, hunk);
  return out;
}

}  // namespace orrery::emit
