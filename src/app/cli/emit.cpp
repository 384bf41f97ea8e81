// `orrery emit TARGET DESIGN DIR`: writes the files that configure real systems.
#include <fmt/core.h>

#include <algorithm>
#include <filesystem>
#include <memory>

#include "app/cli/session.h"
#include "app/cli/verb.h"
#include "model/design_text/write_design.h"
#include "output/emit/dlio.h"
#include "output/emit/emit_folder.h"
#include "output/emit/grafana.h"
#include "output/emit/kubernetes.h"
#include "output/emit/prometheus.h"
#include "output/emit/slurm.h"
#include "output/emit/terraform.h"
#include "plan/verdict/verdict.h"

namespace orrery::cli {
namespace {

struct EmitOptions {
  std::string design;
  std::string dir;
  bool dry_run = false;
  bool force = false;
  bool keep = false;
  bool diff = false;
};

using Emitter =
    std::function<Result<emit::EmittedFiles>(const review::Review&, const emit::EmitSource&)>;

const char* verb_of(emit::ChangeKind kind) {
  switch (kind) {
    case emit::ChangeKind::create:
      return "new";
    case emit::ChangeKind::update:
    case emit::ChangeKind::edited:
    case emit::ChangeKind::foreign:
      return "changed";
    case emit::ChangeKind::remove:
      return "removed";
  }
  return "";
}

Diagnostic refusal(const emit::Change& c, const std::string& dir) {
  const bool edited = c.kind == emit::ChangeKind::edited;
  return {.code = edited ? "emit.edited" : "emit.foreign",
          .place = {dir + '/' + c.file.path, 0, 0},
          .what = edited ? "edited by hand since it was emitted"
                         : "a file that `orrery emit` did not write has this name",
          .why = "it may hold your work; nothing was written",
          .fix = "--keep leaves it and writes the rest; --force replaces it"};
}

void say_what_changed(const emit::EmitPlan& plan, const EmitOptions& options, Terminal& terminal) {
  // The list of files is the answer, except when the difference is shown: then it is a note.
  std::ostream& list = options.dry_run || options.diff ? terminal.err : terminal.out;
  for (const emit::Change& c : plan.changes) {
    list << fmt::format("{:>8}  {}\n", verb_of(c.kind), c.file.path);
  }
  if (options.dry_run) {
    terminal.err << "dry run: nothing was written\n";
  } else {
    terminal.err << fmt::format("wrote {} file{} in {}\n", plan.changes.size(),
                                plan.changes.size() == 1 ? "" : "s", options.dir);
  }
}

ExitCode write_files(const std::string& target, const EmitOptions& options,
                     const emit::EmittedFiles& files, const std::string& digest,
                     Terminal& terminal) {
  const auto folder = emit::EmitFolder::open(options.dir, !options.dry_run);
  if (!folder) return refuse(terminal, folder.error());
  const auto before = (*folder)->manifest();
  if (!before) return refuse(terminal, before.error());
  auto plan = emit::plan_emit({target, digest, files}, *before,
                              [&folder](const std::string& path) { return (*folder)->read(path); });
  if (!plan) return refuse(terminal, plan.error());
  Diagnostics conflicts;
  for (const emit::Change& c : plan->changes) {
    if (emit::is_conflict(c)) conflicts.push_back(refusal(c, options.dir));
  }
  if (options.keep) {
    *plan = emit::keeping_conflicts(std::move(*plan), *before);
    for (Diagnostic& d : conflicts) {
      terminal.err << fmt::format("    kept  {}: {}\n", d.place.file, d.what);
    }
    conflicts.clear();
  }
  if (options.dry_run || options.diff) terminal.out << emit::diff_of(*plan);
  if (!conflicts.empty() && !options.force) {
    terminal.err << to_text(conflicts);
    return ExitCode::fails_rule;
  }
  if (plan->empty()) {
    terminal.err << "nothing to change\n";
    return ExitCode::good;
  }
  if (!options.dry_run) {
    if (const auto done = (*folder)->carry_out(*plan, *before); !done) {
      return refuse(terminal, done.error());
    }
  }
  say_what_changed(*plan, options, terminal);
  return ExitCode::good;
}

ExitCode run_emit(const std::string& target, const EmitOptions& options, const Emitter& emitter,
                  Terminal& terminal) {
  if (options.force && options.keep) {
    return refuse(terminal, {{.code = "emit.conflict",
                              .what = "--force and --keep exclude each other",
                              .fix = "use one of them"}});
  }
  const auto models = shipped_models();
  if (!models) return refuse(terminal, models.error());
  const auto design = load_design(options.design, models->catalog(), terminal);
  if (!design) return refuse(terminal, design.error());
  const review::Review review = review::run_stages(*design, *models);
  const emit::EmitSource source{.design = design->name,
                                .version = design->version,
                                .digest = design_text::design_digest(*design)};
  const auto files = emitter(review, source);
  if (!files) return refuse(terminal, files.error());
  return write_files(target, options, *files, source.digest, terminal);
}

void bind_common(Arguments& arguments, EmitOptions& options) {
  arguments.positional("DESIGN", options.design, "design file");
  arguments.positional("DIR", options.dir, "folder for the files; created if it is missing");
  arguments.flag("--dry-run", options.dry_run, "show the difference and write nothing");
  arguments.flag("--diff", options.diff, "show the difference, then write");
  arguments.flag("--force", options.force, "replace files that were edited by hand");
  arguments.flag("--keep", options.keep, "keep files that were edited by hand and write the rest");
}

void bind_object_store(Arguments& arguments, std::string& url) {
  arguments.option(
      "--object-store", url,
      "URL of a running S3 service, such as `orrery store`; object tiers are mounted from it",
      "URL");
}

Verb plain_verb(const std::string& name, const std::string& summary, const Emitter& emitter) {
  return {.name = name,
          .summary = summary,
          .examples = {fmt::format("orrery emit {} my.yaml out/{} --dry-run", name, name),
                       fmt::format("orrery emit {} my.yaml out/{}", name, name)},
          .prepare = [name, emitter](Arguments& arguments) -> Run {
            auto options = std::make_shared<EmitOptions>();
            bind_common(arguments, *options);
            return [name, emitter, options](Terminal& terminal) {
              return run_emit(name, *options, emitter, terminal);
            };
          }};
}

struct SlurmVerbOptions : EmitOptions {
  emit::SlurmOptions slurm;
  std::optional<std::string> trial;
  std::int64_t trial_port = 6817;
  bool cloud = false;
};

ExitCode run_slurm(SlurmVerbOptions options, Terminal& terminal) {
  if (options.cloud && !options.trial) {
    return refuse(terminal, {{.code = "emit.conflict",
                              .what = "--cloud works only with --trial",
                              .fix = "add --trial DIR"}});
  }
  if (options.trial) {
    options.slurm.trial =
        emit::SlurmTrial{.dir = std::filesystem::absolute(*options.trial).string(),
                         .controller_port = static_cast<int>(options.trial_port),
                         .cloud = options.cloud};
    options.slurm.conf_dir = std::filesystem::absolute(options.dir).lexically_normal().string();
  }
  return run_emit(
      "slurm", options,
      [&options](const review::Review& review, const emit::EmitSource& source) {
        return emit_slurm(review, source, options.slurm);
      },
      terminal);
}

Verb slurm_verb() {
  return {.name = "slurm",
          .summary = "slurm.conf, topology, GPUs, partitions, health checks, submit scripts",
          .examples = {"orrery emit slurm my.yaml out/slurm --dry-run",
                       "orrery emit slurm my.yaml out/slurm --controller head-1",
                       "orrery emit slurm my.yaml out/slurm --object-store http://store-1:8118",
                       "orrery emit slurm my.yaml try/conf --trial try/state"},
          .prepare = [](Arguments& arguments) -> Run {
            auto options = std::make_shared<SlurmVerbOptions>();
            bind_common(arguments, *options);
            arguments.option("--controller", options->slurm.controller, "host that runs slurmctld",
                             "HOST");
            arguments.option("--conf-dir", options->slurm.conf_dir,
                             "folder of these files on the machines", "DIR");
            bind_object_store(arguments, options->slurm.object_store);
            arguments.option("--trial", options->trial,
                             "run all daemons on this machine, with their state and stand-in GPU "
                             "devices in this folder",
                             "DIR");
            arguments.option("--trial-port", options->trial_port,
                             "port of the trial's slurmctld; node daemons use the ports after it",
                             "N");
            arguments.flag("--cloud", options->cloud,
                           "trial with nodes that have no daemons, for `sbatch --test-only`");
            return [options](Terminal& terminal) { return run_slurm(*options, terminal); };
          }};
}

Verb kubernetes_verb() {
  return {.name = "kubernetes",
          .summary = "Kueue queues, DRA claims, MIG, storage, runs, services, network policies",
          .examples = {"orrery emit kubernetes my.yaml out/k8s --dry-run",
                       "orrery emit kubernetes my.yaml out/k8s"},
          .prepare = [](Arguments& arguments) -> Run {
            struct KubernetesVerbOptions : EmitOptions {
              emit::KubernetesOptions kubernetes;
            };
            auto options = std::make_shared<KubernetesVerbOptions>();
            bind_common(arguments, *options);
            bind_object_store(arguments, options->kubernetes.object_store);
            arguments.flag("--ray", options->kubernetes.ray,
                           "write training runs as RayJobs instead of JobSets");
            return [options](Terminal& terminal) {
              const ExitCode code = run_emit(
                  "kubernetes", *options,
                  [&](const review::Review& review, const emit::EmitSource& source) {
                    auto files = emit_kubernetes(review, source, options->kubernetes);
                    if (files) terminal.err << kubernetes_check_text(*files);
                    return files;
                  },
                  terminal);
              return code;
            };
          }};
}

}  // namespace

Verb emit_verb() {
  return {
      .name = "emit",
      .summary = "Write files for Slurm, Kubernetes, Prometheus, Grafana, Terraform or DLIO",
      .examples = {"orrery emit slurm my.yaml out/slurm",
                   "orrery emit prometheus my.yaml out/prometheus --dry-run"},
      .prepare = {},
      .verbs = {
          slurm_verb(), kubernetes_verb(),
          plain_verb("prometheus", "Recording and alert rules with their tests, and DCGM counters",
                     [](const review::Review& review, const emit::EmitSource& source) {
                       return emit_prometheus(review, source);
                     }),
          plain_verb("grafana", "Dashboards with the planned value in every panel",
                     [](const review::Review& review, const emit::EmitSource& source) {
                       return emit_grafana(review, source);
                     }),
          plain_verb("terraform", "Instances of a rented fleet on AWS, GCP, Azure or CoreWeave",
                     [](const review::Review& review, const emit::EmitSource& source) {
                       return emit_terraform(review, source);
                     }),
          plain_verb("dlio",
                     "Data reads and checkpoint saves of training runs, for DLIO (MLPerf Storage)",
                     [](const review::Review& review, const emit::EmitSource& source) {
                       return emit_dlio(review, source);
                     })}};
}

}  // namespace orrery::cli
