#include "core/workload/job_trace.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <map>
#include <tuple>

#include "core/base/csv.h"
#include "core/base/text.h"

namespace orrery::workload {
namespace {

// A file in the wrong format gives thousands of equal faults; the first few are enough.
constexpr std::size_t kFaultsMax = 20;
// No log spans more than this, and a run's clock ends after 292 years.
constexpr Seconds kSpanMost = years(100);
constexpr double kSubmitMost = 1e11;  // seconds since 1970, or since the log began
constexpr int kCountMost = 1'000'000'000;

// A value that is not a number, or larger than any count, becomes one that add() refuses.
int count_of(double v) { return v <= kCountMost ? static_cast<int>(std::max(v, -1.0)) : -2; }

class TraceReader {
 public:
  explicit TraceReader(std::string file) : file_(std::move(file)) {}

  void fault(int line, std::string what, std::string fix) {
    if (faults_.size() == kFaultsMax) return;
    faults_.push_back({.code = "trace.row",
                       .place = {.file = file_, .line = line},
                       .what = std::move(what),
                       .fix = std::move(fix)});
  }
  void add_faults(Diagnostics more) {
    for (Diagnostic& d : more) {
      if (faults_.size() < kFaultsMax) faults_.push_back(std::move(d));
    }
  }

  // `submit` is in the trace's own clock until done() shifts it.
  void add(int line, double submit, JobRecord job) {
    const auto is_span = [](Seconds s) { return s >= -kSpanMost && s <= kSpanMost; };
    if (!(std::abs(submit) <= kSubmitMost) || !is_span(job.run) || !is_span(job.limit) ||
        !is_span(job.wait.value_or(Seconds())) || job.gpus == -2 || job.nodes == -2) {
      return fault(line, "a time or a count of this job is too large",
                   "give times of up to 100 years, in seconds, and counts of up to 1e9");
    }
    if (job.gpus <= 0 || !(job.run > Seconds())) {
      ++trace_.left_out;
      return;
    }
    job.submit = Seconds(submit);
    if (job.limit > Seconds()) {
      trace_.has_limits = true;
    } else {
      job.limit = job.run;
    }
    trace_.jobs.push_back(job);
  }

  int user(std::string_view name) { return index_of(name, users_, trace_.users); }
  int queue(std::string_view name) { return index_of(name, queues_, trace_.queues); }

  Result<JobTrace> done(JobFormat format) {
    if (!faults_.empty()) return std::unexpected(std::move(faults_));
    if (trace_.jobs.empty()) {
      return fail({.code = "trace.empty",
                   .place = {.file = file_},
                   .what = "no job with GPUs and a run time in this trace",
                   .why = fmt::format("read as {}", word_of(format))});
    }
    std::ranges::stable_sort(trace_.jobs, [](const JobRecord& a, const JobRecord& b) {
      return std::tuple(a.submit, a.run, a.gpus) < std::tuple(b.submit, b.run, b.gpus);
    });
    const Seconds first = trace_.jobs.front().submit;
    for (JobRecord& job : trace_.jobs) job.submit -= first;
    trace_.format = format;
    return std::move(trace_);
  }

 private:
  using Names = std::map<std::string, int, std::less<>>;
  static int index_of(std::string_view name, Names& known, std::vector<std::string>& list) {
    if (name.empty()) return -1;
    if (const auto it = known.find(name); it != known.end()) return it->second;
    known.emplace(name, static_cast<int>(list.size()));
    list.emplace_back(name);
    return static_cast<int>(list.size()) - 1;
  }

  std::string file_;
  Diagnostics faults_;
  JobTrace trace_;
  Names users_;
  Names queues_;
};

template <class Each>
void each_line(std::string_view text, Each&& each) {
  int line = 0;
  while (!text.empty()) {
    const std::size_t end = text.find('\n');
    ++line;
    each(line, trimmed(text.substr(0, end)));
    text.remove_prefix(end == text.npos ? text.size() : end + 1);
  }
}

// Parses integers on a fast path, because this is the reader's inner loop.
std::optional<double> number(std::string_view s) {
  s = trimmed(s);
  std::int64_t whole = 0;
  const auto [end, code] = std::from_chars(s.data(), s.data() + s.size(), whole);
  if (code == std::errc() && end == s.data() + s.size()) return static_cast<double>(whole);
  return parse_number(s);
}

Result<JobTrace> read_swf(std::string_view text, const std::string& file) {
  TraceReader reader(file);
  each_line(text, [&](int line, std::string_view row) {
    if (row.empty() || row.front() == ';') return;
    const std::vector<std::string_view> words = split_at_blanks(row);
    std::array<double, 18> v{};
    if (words.size() < v.size()) {
      return reader.fault(line, fmt::format("{} columns, but SWF has 18", words.size()), "");
    }
    for (std::size_t i = 0; i < v.size(); ++i) {
      const auto value = number(words[i]);
      if (!value) return reader.fault(line, fmt::format("'{}' is not a number", words[i]), "");
      v[i] = *value;
    }
    // Allocated processors if the log has them, otherwise those requested.
    const double processors = v[4] > 0 ? v[4] : v[7];
    reader.add(line, v[1],
               {.run = Seconds(v[3]),
                .limit = Seconds(std::max(v[8], 0.0)),
                .wait = v[2] >= 0 ? std::optional(Seconds(v[2])) : std::nullopt,
                .gpus = count_of(processors),
                .user = v[11] >= 0 ? reader.user(words[11]) : -1,
                .queue = v[14] >= 0 ? reader.queue(words[14]) : -1});
  });
  return reader.done(JobFormat::swf);
}

std::size_t column(const std::vector<std::string>& columns,
                   std::initializer_list<std::string_view> names) {
  for (const std::string_view name : names) {
    const auto it = std::ranges::find(columns, name);
    if (it != columns.end()) return static_cast<std::size_t>(it - columns.begin());
  }
  return columns.size();
}

std::string_view field(std::span<const std::string_view> fields, std::size_t column) {
  return column < fields.size() ? trimmed(fields[column]) : std::string_view{};
}

std::optional<double> instant(std::string_view s) {
  const auto plain = number(s);
  return plain ? plain : parse_timestamp(s);
}

std::optional<Seconds> span_of(std::string_view s) {
  if (const auto plain = number(s)) return Seconds(*plain);
  return parse_slurm_time(s);
}

struct CsvColumns {
  explicit CsvColumns(const std::vector<std::string>& c)
      : submit(column(c, {"submit", "submit_s", "submit_time", "timestamp"})),
        run(column(c, {"run", "run_s", "duration", "duration_s"})),
        gpus(column(c, {"gpus", "num_gpus", "gpu_num"})),
        nodes(column(c, {"nodes", "num_nodes"})),
        limit(column(c, {"limit", "limit_s", "timelimit"})),
        wait(column(c, {"wait", "wait_s"})),
        user(column(c, {"user"})),
        queue(column(c, {"queue", "partition", "cluster", "vc"})),
        count(c.size()) {}

  bool is_whole() const { return submit < count && run < count && gpus < count; }

  std::size_t submit, run, gpus, nodes, limit, wait, user, queue, count;
};

Result<JobTrace> read_csv(std::string_view text, const std::string& file, JobFormat format) {
  TraceReader reader(file);
  std::optional<CsvColumns> columns;
  Diagnostics faults = scan_csv(text, file, [&](const CsvView& row) {
    if (!columns) columns.emplace(row.columns);
    if (!columns->is_whole()) return;
    const auto submit = instant(field(row.fields, columns->submit));
    const auto run = span_of(field(row.fields, columns->run));
    const auto gpus = number(field(row.fields, columns->gpus));
    if (!submit || !run || !gpus) {
      return reader.fault(row.line, "submit, run or gpus cannot be read",
                          "give seconds, or 2026-01-31 12:00:00, and a whole number of GPUs");
    }
    const auto wait = span_of(field(row.fields, columns->wait));
    reader.add(row.line, *submit,
               {.run = *run,
                .limit = span_of(field(row.fields, columns->limit)).value_or(Seconds()),
                .wait = wait,
                .gpus = count_of(*gpus),
                .nodes = count_of(number(field(row.fields, columns->nodes)).value_or(0)),
                .user = reader.user(field(row.fields, columns->user)),
                .queue = reader.queue(field(row.fields, columns->queue))});
  });
  reader.add_faults(std::move(faults));
  if (columns && !columns->is_whole()) {
    reader.fault(1, "a trace needs the columns submit, run and gpus",
                 "name them submit,run,gpus and, if known, nodes,limit,wait,user,queue");
  }
  return reader.done(format);
}

// Reads the GPUs of "billing=64,cpu=64,gres/gpu=8,gres/gpu:h100=8": the plain count if there is
// one, otherwise the sum over types.
int gpus_of_tres(std::string_view tres) {
  int typed = 0;
  for (const std::string_view part : split(tres, ',')) {
    const std::size_t equals = part.find('=');
    if (equals == part.npos || !part.starts_with("gres/gpu")) continue;
    const int count = static_cast<int>(parse_integer(part.substr(equals + 1)).value_or(0));
    if (part.substr(0, equals) == "gres/gpu") return count;
    typed += count;
  }
  return typed;
}

struct SacctColumns {
  explicit SacctColumns(const std::vector<std::string>& c)
      : id(column(c, {"JobID"})),
        submit(column(c, {"Submit"})),
        eligible(column(c, {"Eligible"})),
        start(column(c, {"Start"})),
        end(column(c, {"End"})),
        limit(column(c, {"Timelimit"})),
        nodes(column(c, {"NNodes", "AllocNodes", "ReqNodes"})),
        allocated(column(c, {"AllocTRES"})),
        asked(column(c, {"ReqTRES"})),
        user(column(c, {"User"})),
        partition(column(c, {"Partition"})),
        count(c.size()) {}

  std::string missing() const {
    std::string list;
    const auto want = [&](std::size_t at, const char* name) {
      if (at == count) list += list.empty() ? name : std::string(", ") + name;
    };
    want(id, "JobID");
    want(submit, "Submit");
    want(start, "Start");
    want(end, "End");
    if (allocated == count) want(asked, "AllocTRES");
    return list;
  }

  std::size_t id, submit, eligible, start, end, limit, nodes, allocated, asked, user, partition,
      count;
};

void add_sacct_row(TraceReader& reader, int line, const SacctColumns& at,
                   std::span<const std::string_view> fields) {
  // Steps ("17.batch") belong to their job; each element of a job array is a job of its own.
  if (field(fields, at.id).find('.') != std::string_view::npos) return;
  const auto submit = parse_timestamp(field(fields, at.submit));
  if (!submit) {
    return reader.fault(line, "Submit cannot be read", "write it as 2026-01-31T12:00:00");
  }
  const auto eligible = parse_timestamp(field(fields, at.eligible)).value_or(*submit);
  const auto start = parse_timestamp(field(fields, at.start));
  const auto end = parse_timestamp(field(fields, at.end));
  int gpus = gpus_of_tres(field(fields, at.allocated));
  if (gpus == 0) gpus = gpus_of_tres(field(fields, at.asked));
  // A job that is still running, or never started, has no run time.
  const double run = start && end ? *end - *start : 0;
  const double ready = std::max(*submit, eligible);
  reader.add(line, ready,
             {.run = Seconds(run),
              .limit = parse_slurm_time(field(fields, at.limit)).value_or(Seconds()),
              .wait = start ? std::optional(Seconds(*start - ready)) : std::nullopt,
              .gpus = gpus,
              .nodes = count_of(number(field(fields, at.nodes)).value_or(0)),
              .user = reader.user(field(fields, at.user)),
              .queue = reader.queue(field(fields, at.partition))});
}

Result<JobTrace> read_sacct(std::string_view text, const std::string& file) {
  TraceReader reader(file);
  std::optional<SacctColumns> columns;
  each_line(text, [&](int line, std::string_view row) {
    if (row.empty()) return;
    const std::vector<std::string_view> fields = split(row, '|');
    if (!columns) {
      columns.emplace(std::vector<std::string>(fields.begin(), fields.end()));
      const std::string missing = columns->missing();
      if (!missing.empty()) {
        reader.fault(line, "columns are missing: " + missing,
                     "sacct -a -P -S ... -o JobID,User,Partition,Submit,Eligible,Start,End,"
                     "Timelimit,NNodes,AllocTRES,ReqTRES,State");
      }
      return;
    }
    if (fields.size() < columns->count) {
      return reader.fault(
          line, fmt::format("{} fields, but the header has {}", fields.size(), columns->count),
          "");
    }
    add_sacct_row(reader, line, *columns, fields);
  });
  return reader.done(JobFormat::sacct);
}

// Returns days since 1970-01-01 of a Gregorian date, counting years from March so that the leap day
// comes last (H. Hinnant, "chrono-compatible low-level date algorithms").
std::int64_t days_of(std::int64_t year, int month, int day) {
  if (month <= 2) --year;
  const std::int64_t era = year / 400;
  const std::int64_t of_era = year - era * 400;
  const std::int64_t of_year = (153 * (month + (month > 2 ? -3 : 9)) + 2) / 5 + day - 1;
  return era * 146097 + of_era * 365 + of_era / 4 - of_era / 100 + of_year - 719468;
}

// Returns the digits of s[from, from + count) as a number; nullopt if any is not a digit.
std::optional<int> digits(std::string_view s, std::size_t from, std::size_t count) {
  if (s.size() < from + count) return std::nullopt;
  int value = 0;
  for (std::size_t i = from; i < from + count; ++i) {
    if (s[i] < '0' || s[i] > '9') return std::nullopt;
    value = value * 10 + (s[i] - '0');
  }
  return value;
}

}  // namespace

std::optional<double> parse_timestamp(std::string_view text) {
  const std::string_view s = trimmed(text);
  const auto year = digits(s, 0, 4), month = digits(s, 5, 2), day = digits(s, 8, 2);
  const auto hour = digits(s, 11, 2), minute = digits(s, 14, 2), second = digits(s, 17, 2);
  if (!year || !month || !day || !hour || !minute || !second || s.size() != 19) return {};
  const bool is_shaped =
      s[4] == '-' && s[7] == '-' && (s[10] == 'T' || s[10] == ' ') && s[13] == ':' && s[16] == ':';
  const bool is_date = *month >= 1 && *month <= 12 && *day >= 1 && *day <= 31 && *hour < 24 &&
                       *minute < 60 && *second <= 60;
  if (!is_shaped || !is_date || *year < 1970) return {};
  const int of_day = *hour * 3600 + *minute * 60 + *second;
  return static_cast<double>(days_of(*year, *month, *day) * 86400 + of_day);
}

std::optional<Seconds> parse_slurm_time(std::string_view text) {
  std::string_view s = trimmed(text);
  double seconds_in_all = 0;
  const std::size_t dash = s.find('-');
  if (dash != s.npos) {
    const auto days = parse_integer(s.substr(0, dash));
    if (!days) return {};
    seconds_in_all = static_cast<double>(*days) * 86400;
    s.remove_prefix(dash + 1);
  }
  const std::vector<std::string_view> parts = split(s, ':');
  if (parts.size() < 2 || parts.size() > 3) return {};
  double clock = 0;
  for (const std::string_view part : parts) {
    const auto value = number(part);
    if (!value || *value < 0) return {};
    clock = clock * 60 + *value;
  }
  return Seconds(seconds_in_all + clock);
}

JobFormat format_of(std::string_view text) {
  const std::string_view first = trimmed(text.substr(0, text.find('\n')));
  if (first.starts_with(';')) return JobFormat::swf;
  if (first.find('|') != first.npos) return JobFormat::sacct;
  if (first.starts_with("timestamp,duration,num_gpus")) return JobFormat::philly;
  if (first.find(',') != first.npos) return JobFormat::csv;
  return split_at_blanks(first).size() >= 18 ? JobFormat::swf : JobFormat::csv;
}

Result<JobTrace> read_jobs(std::string_view text, const std::string& file,
                           std::optional<JobFormat> format) {
  const JobFormat f = format.value_or(format_of(text));
  if (f == JobFormat::swf) return read_swf(text, file);
  if (f == JobFormat::sacct) return read_sacct(text, file);
  return read_csv(text, file, f);
}

}  // namespace orrery::workload
