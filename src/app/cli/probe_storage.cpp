// `orrery probe storage PATH|s3://BUCKET/PREFIX`: measures storage as this machine sees it.
#include "live/agent/probe_storage.h"

#include <fmt/core.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdlib>
#include <memory>
#include <thread>

#include "app/cli/session.h"
#include "app/cli/verb.h"
#include "core/base/text.h"
#include "core/base/units.h"
#include "live/agent/probe_s3.h"
#include "plan/verdict/verdict.h"
#include "study/score/storage_compare.h"

namespace orrery::cli {
namespace {

// Repeats and seconds per measurement with --quick: half a minute in total, and wider intervals.
constexpr int kQuickRepeats = 3;
constexpr double kQuickSeconds = 0.5;
// O_DIRECT requires whole sectors; 4 KiB is the largest sector size in use.
constexpr double kSector = 4096;
constexpr double kBlockMax = 64.0 * (1 << 20);

struct StorageOptions {
  std::string place;
  std::optional<std::string> size;
  std::string block = "1 MiB";
  std::string random_block = "4 KiB";
  std::int64_t depth = 8;
  std::int64_t random_depth = 32;
  std::optional<double> seconds;
  std::optional<std::int64_t> repeats;
  std::int64_t streams = 4;
  std::string engine = "auto";
  bool buffered = false;
  std::vector<std::string> only;
  bool quick = false;
  std::optional<std::string> design;
  std::string tier;
  std::optional<std::string> endpoint;
  std::string region;
  bool create_bucket = false;
  std::uint64_t seed = 1;
  Format format = Format::text;
};

Diagnostic bad_option(const std::string& option, const std::string& what, const std::string& fix) {
  return {.code = "usage.value", .place = {.file = option}, .what = what, .why = "", .fix = fix};
}

// Reads numbers and collects their faults, so that all faults are reported at once.
class Numbers {
 public:
  double bytes(const std::string& option, const std::string& text, double least, double most,
               double multiple) {
    const auto q = parse_quantity<Bytes>(text);
    const double value = q ? q->base() : 0;
    const bool whole = std::fmod(value, multiple) == 0;
    if (q && value >= least && value <= most && whole) return value;
    faults.push_back(
        bad_option(option, fmt::format("\"{}\" is not a valid size here", text.substr(0, 40)),
                   fmt::format("write a multiple of {} from {} to {}", brief(Bytes(multiple)),
                               brief(Bytes(least)), brief(Bytes(most)))));
    return least;
  }
  int count(const std::string& option, std::int64_t value, int most) {
    if (value >= 1 && value <= most) return static_cast<int>(value);
    faults.push_back(bad_option(option, fmt::format("{} is out of range", value),
                                fmt::format("write 1 to {}", most)));
    return 1;
  }
  double seconds(const std::string& option, double value) {
    if (value >= 0.05 && value <= 600) return value;
    faults.push_back(bad_option(option, "out of range", "write 0.05 to 600 seconds"));
    return 1;
  }

  Diagnostics faults;
};

// Returns a progress line that overwrites itself; silent unless stderr is a terminal.
agent::ProbeProgress progress_on(Terminal& terminal) {
  if (!terminal.err_is_tty) return [](std::string_view, double) {};
  const auto start = std::chrono::steady_clock::now();
  return [&terminal, start](std::string_view what, double done) {
    const double spent =
        std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
    const std::string left =
        done > 0.02 ? fmt::format(", about {:.0f} s left", spent / done * (1 - done)) : "";
    terminal.err << fmt::format("\r\033[K{:3.0f} % {}{}", 100 * done, what, left) << std::flush;
  };
}

Result<agent::FolderProbe> folder_probe(const StorageOptions& o, Terminal& terminal) {
  agent::FolderProbe p{.path = o.place, .seed = o.seed, .stop = terminal.interrupted};
  Numbers numbers;
  const std::string size = o.size.value_or(o.quick ? "128 MiB" : "1 GiB");
  p.block_bytes =
      static_cast<std::size_t>(numbers.bytes("--block", o.block, kSector, kBlockMax, kSector));
  p.random_bytes = static_cast<std::size_t>(
      numbers.bytes("--random-block", o.random_block, kSector, kBlockMax, kSector));
  p.file_bytes = static_cast<std::uint64_t>(numbers.bytes(
      "--size", size, static_cast<double>(std::max(p.block_bytes, p.random_bytes)), 1e15, kSector));
  p.depth = numbers.count("--depth", o.depth, 1024);
  p.random_depth = numbers.count("--random-depth", o.random_depth, 4096);
  p.threads = numbers.count("--streams", o.streams, 256);
  p.repeats = numbers.count("--repeats", o.repeats.value_or(o.quick ? kQuickRepeats : 5), 1000);
  p.seconds = numbers.seconds("--seconds", o.seconds.value_or(o.quick ? kQuickSeconds : 3));
  p.cores = std::max(1, static_cast<int>(std::thread::hardware_concurrency()));
  p.files = o.quick ? 500 : 2000;
  p.samples = o.quick ? 100 : 500;
  p.checkpoint_bytes = std::min<std::uint64_t>(p.file_bytes / 2, std::uint64_t{8} << 30);
  p.direct = !o.buffered;
  if (o.engine == "io_uring") p.engine = agent::IoEngine::io_uring;
  if (o.engine == "threads") p.engine = agent::IoEngine::threads;
  if (!o.only.empty()) p.parts.clear();
  for (const std::string& word : o.only) {
    if (const auto part = agent::probe_part(word)) {
      p.parts.push_back(*part);
      continue;
    }
    std::string known;
    for (const agent::ProbePart each : agent::all_probe_parts())
      known += fmt::format(" {}", to_text(each));
    numbers.faults.push_back(
        bad_option("--only", fmt::format("\"{}\" is not a part of the probe", word.substr(0, 40)),
                   "write one of" + known));
  }
  p.progress = progress_on(terminal);
  if (!numbers.faults.empty()) return std::unexpected(std::move(numbers.faults));
  return p;
}

std::string region_of(const StorageOptions& o) {
  if (!o.region.empty()) return o.region;
  for (const char* name : {"AWS_REGION", "AWS_DEFAULT_REGION"}) {
    if (const char* text = std::getenv(name); text && *text) return text;
  }
  return "us-east-1";
}

Result<agent::BucketProbe> bucket_probe(const StorageOptions& o, Terminal& terminal) {
  const auto place = s3::parse_location(o.place);
  if (!place) return std::unexpected(place.error());
  const auto keys = s3::credentials_of([](const char* name) { return std::getenv(name); });
  if (!keys) return std::unexpected(keys.error());
  const std::string region = region_of(o);
  const bool plain = std::ranges::all_of(
      region, [](char c) { return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '-'; });
  const auto endpoint =
      s3::checked_endpoint(o.endpoint.value_or("https://s3." + region + ".amazonaws.com"));
  if (!endpoint) return std::unexpected(endpoint.error());
  Numbers numbers;
  if (!plain)
    numbers.faults.push_back(bad_option("--region", "this is not the name of a region", ""));
  agent::BucketProbe p{
      .target = o.place, .prefix = place->prefix, .create_bucket = o.create_bucket};
  p.config = {.endpoint = *endpoint,
              .bucket = place->bucket,
              .region = region,
              .credentials = *keys,
              .seed = o.seed};
  p.streams = numbers.count("--streams", o.streams, 256);
  p.repeats = numbers.count("--repeats", o.repeats.value_or(o.quick ? kQuickRepeats : 5), 1000);
  p.seconds = numbers.seconds("--seconds", o.seconds.value_or(o.quick ? 2 : 10));
  p.small_objects = (o.quick ? 25 : 100) * p.streams;
  p.large_objects = 2 * p.streams;
  const std::string size = o.size.value_or(o.quick ? "4 MiB" : "16 MiB");
  p.large_bytes = static_cast<std::size_t>(numbers.bytes("--size", size, 65536, 5e9, 1));
  p.stop = terminal.interrupted;
  p.progress = progress_on(terminal);
  if (!numbers.faults.empty()) return std::unexpected(std::move(numbers.faults));
  return p;
}

// Returns the report after clearing the progress line.
template <typename Report>
Report after_progress(Report report, Terminal& terminal) {
  if (terminal.err_is_tty) terminal.err << "\r\033[K" << std::flush;
  return report;
}

Result<agent::ProbeReport> measured(const StorageOptions& o, Terminal& terminal) {
  if (o.place.starts_with("s3://")) {
    const auto probe = bucket_probe(o, terminal);
    if (!probe) return std::unexpected(probe.error());
    return after_progress(probe_bucket(*probe), terminal);
  }
  const auto probe = folder_probe(o, terminal);
  if (!probe) return std::unexpected(probe.error());
  return after_progress(probe_folder(*probe), terminal);
}

score::StorageProbe in_scores_terms(const agent::ProbeReport& report, int streams) {
  score::StorageProbe probe{.target = report.target,
                            .kind = report.kind,
                            .streams = streams,
                            .object_bytes = report.object_bytes};
  for (const agent::ProbeFigure& f : report.figures) {
    probe.figures.push_back({f.id, f.value(), f.low(), f.high()});
  }
  return probe;
}

void show(const agent::ProbeReport& report, const std::optional<score::StorageStanding>& standing,
          Format format, Terminal& terminal) {
  switch (format) {
    case Format::json:
      terminal.out << probe_json(report, [&](JsonWriter& json) {
        if (standing) standing_json(*standing, json);
      });
      break;
    case Format::csv:
      terminal.out << probe_csv(report);
      break;
    default:
      terminal.out << probe_text(report) << (standing ? standing_text(*standing) : "");
  }
}

ExitCode measure(const StorageOptions& o, const review::Review* plan, Terminal& terminal) {
  const int streams = static_cast<int>(o.streams);
  if (plan) {  // settle which tier is meant before spending minutes
    const agent::ProbeReport none{.target = o.place,
                                  .kind = o.place.starts_with("s3://") ? "bucket" : "folder"};
    const auto known = compare_storage(in_scores_terms(none, streams), *plan, o.tier);
    if (!known) return refuse(terminal, known.error());
  }
  const auto report = measured(o, terminal);
  if (!report) return refuse(terminal, report.error());
  std::optional<score::StorageStanding> standing;
  if (plan) {
    auto compared = compare_storage(in_scores_terms(*report, streams), *plan, o.tier);
    if (!compared) return refuse(terminal, compared.error());
    standing = std::move(*compared);
  }
  show(*report, standing, o.format, terminal);
  if (report->interrupted) return ExitCode::interrupted;
  return standing && !standing->as_planned() ? ExitCode::fails_rule : ExitCode::good;
}

ExitCode run_storage(const StorageOptions& o, Terminal& terminal) {
  if (!o.design) return measure(o, nullptr, terminal);
  const auto models = shipped_models();
  if (!models) return refuse(terminal, models.error());
  const auto design = load_design(*o.design, models->catalog(), terminal);
  if (!design) return refuse(terminal, design.error());
  const review::Review review = review::run_stages(*design, *models);
  return measure(o, &review, terminal);
}

void bind_block_options(Arguments& arguments, StorageOptions& o) {
  arguments.option(
      "--size", o.size,
      "file size (default 1 GiB, with --quick 128 MiB) or large-object size (16 MiB, 4 MiB)",
      "BYTES");
  arguments.option("--block", o.block, "block size of sequential reads and writes", "BYTES");
  arguments.option("--depth", o.depth, "sequential requests in flight");
  arguments.option("--random-block", o.random_block, "block size of random reads and writes",
                   "BYTES");
  arguments.option("--random-depth", o.random_depth, "random requests in flight");
  arguments.choice("--engine", o.engine, {"auto", "io_uring", "threads"},
                   "how requests are kept in flight");
  arguments.flag("--buffered", o.buffered, "use the page cache instead of O_DIRECT");
  arguments.option(
      "--only", o.only,
      "part to run: sequential, random, metadata, samples, decode or checkpoint; repeatable",
      "PART");
}

void bind_options(Arguments& arguments, StorageOptions& o) {
  arguments.positional("PLACE", o.place, "a folder, a file (read only), or s3://BUCKET/PREFIX");
  bind_block_options(arguments, o);
  arguments.option("--streams", o.streams,
                   "threads for files, shards and checkpoints; streams to an object store");
  arguments.option("--seconds", o.seconds,
                   "longest time per measurement (default 3, object stores 10)", "S");
  arguments.option("--repeats", o.repeats,
                   "repeats of every measurement (default 5, with --quick 3)");
  arguments.flag("--quick", o.quick, "finish in half a minute instead of several minutes");
  arguments.option("--design", o.design, "compare with the values that this design plans", "FILE");
  arguments.option("--tier", o.tier, "tier of the design that was measured", "NAME");
  arguments.option("--endpoint", o.endpoint, "URL of the object store", "URL");
  arguments.option("--region", o.region,
                   "region of the bucket (default: AWS_REGION, else us-east-1)", "NAME");
  arguments.flag("--create-bucket", o.create_bucket, "create the bucket if it does not exist");
  arguments.seed(o.seed);
  arguments.format(o.format, {Format::text, Format::json, Format::csv});
}

}  // namespace

Verb probe_storage_verb() {
  return {.name = "storage",
          .summary = "Measure a file system or an object store and compare it with a plan",
          .examples = {"orrery probe storage /scratch",
                       "orrery probe storage /scratch --quick --only sequential --only checkpoint",
                       "orrery probe storage /scratch --design my.yaml --tier hot",
                       "orrery probe storage s3://bucket/prefix --endpoint http://127.0.0.1:9000",
                       "orrery probe storage /scratch --format json > probe.json"},
          .prepare = [](Arguments& arguments) -> Run {
            auto options = std::make_shared<StorageOptions>();
            bind_options(arguments, *options);
            return [options](Terminal& terminal) { return run_storage(*options, terminal); };
          }};
}

}  // namespace orrery::cli
