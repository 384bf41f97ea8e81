#include "study/score/serving_rows.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <optional>

#include "core/base/text.h"
#include "study/score/model_of.h"
#include "study/score/serving_tests.h"
#include "study/score/serving_unsaid.h"

namespace orrery::score {
namespace {

constexpr double kRequestsPerClient = 10;
constexpr double kLeastLength = 0.8;
// Most output tokens per client that are simulated.
constexpr double kMostOutputTokens = 12000;
// SGLang's receive interval in these tests, on accelerators with 4-bit products; others keep the
// default.
constexpr double kManyClients = 16;
constexpr int kFewLooks = 10;
constexpr int kManyLooks = 30;
// TensorRT-LLM's tests of dense models: tokens per step; and with prompts and outputs of 1,024 on
// fewer than eight devices, prompts wait up to 20 iterations until nine tenths of the tokens are
// there. Attention ranks wait up to 60 iterations until each has a prompt.
constexpr double kDenseTokens = 16384;
constexpr double kGatheredLength = 1024;
constexpr int kGatheredDevices = 8;
constexpr traffic::Gathering kGatheredTokens{.iterations = 20, .tokens = 0.9 * kDenseTokens};
constexpr int kBalanced = 60;
// Its tests of DeepSeek in 8 bits on Blackwell, with prompts and outputs of 1,024 and 64 clients or
// more: prompts wait up to 40 iterations for four fifths of a step.
constexpr double kGatheredClients = 64;
constexpr traffic::Gathering kGatheredExperts{.iterations = 40, .tokens = 0.8 * 8192};
constexpr double kExpertTokens = 8192;
// Guesses per step in those tests' scripts: three; SGLang's two for DeepSeek; TensorRT-LLM's one if
// each rank has its own attention.
constexpr int kFewGuesses = 2;
constexpr int kMtpGuesses = 3;
constexpr int kGuessesByRank = 1;
// Tokens per step with 1, 2 and 3 guesses: 1.79, 2.27 and 2.49 for DeepSeek's own module (published
// acceptance lengths), less the cost of a guess, a layer and a half of 61.
constexpr double kAccepted[] = {1, 1.75, 2.16, 2.3};
// The columns in which rows of one test must agree.
constexpr const char* kLayout[] = {"prefill_num_workers", "decode_num_workers",
                                   "decode_tp_size",      "decode_attention_dp_size",
                                   "decode_moe_ep_size",  "mtp"};

std::optional<catalog::Dtype> format_of(std::string_view mode, std::string_view precision) {
  if (mode.empty()) mode = precision;
  if (mode.starts_with("fp8")) return catalog::Dtype::fp8;
  if (mode == "nvfp4" || mode == "fp4") return catalog::Dtype::fp4;
  if (mode.empty() || mode == "bf16") return catalog::Dtype::bf16;
  return std::nullopt;
}

// Those tests ran the second of DeepSeek's 4-bit checkpoints.
bool has_narrow_output(std::string_view model) {
  return model.find("DeepSeek") != std::string_view::npos;
}

std::string accelerator_id(std::string_view system) {
  std::string id(system);
  std::replace(id.begin(), id.end(), '_', '-');
  return id;
}

// `role` is empty, "prefill_" or "decode_".
serving::ServingSplit split_of(const CsvTable& t, const CsvRow& row,
                               const catalog::ModelShape& model, const std::string& role) {
  const auto field = [&](const char* name) {
    return static_cast<int>(t.integer(row, role + name).value_or(1));
  };
  serving::ServingSplit s{.tp = field("tp_size"),
                          .pp = field("pp_size"),
                          .attention_dp = field("attention_dp_size"),
                          .moe_tp = 0,
                          .ep = model.is_moe() ? field("moe_ep_size") : 1};
  // Engines give the size of the group twice if every rank has its own attention.
  if (s.attention_dp > 1 && s.tp == s.attention_dp) s.tp = 1;
  return s;
}

// Returns what a row's source says under a name: "a=1; b=2".
std::string_view named_in(std::string_view source, std::string_view name) {
  const auto at = source.find(name);
  if (at == std::string_view::npos) return {};
  const std::string_view rest = source.substr(at + name.size());
  return rest.substr(0, rest.find(';'));
}

// Returns the number of clients: the source names it; in some rows, batch_size is that of one rank.
std::optional<double> clients_of(const CsvTable& t, const CsvRow& row) {
  const std::string_view named =
      named_in(t.text(row, "silicon_data_source"), "silicon_concurrency=");
  if (named.empty()) return t.number(row, "batch_size");
  const auto value = parse_number(named);
  return value && *value > 0 ? value : std::nullopt;
}

int guesses_of(const jobs::ServingQuery& q) {
  const bool latent = q.model.attention == catalog::AttentionKind::mla;
  if (q.engine == "sglang" && latent) return kFewGuesses;
  return q.engine == "trtllm" && q.split.attention_dp > 1 ? kGuessesByRank : kMtpGuesses;
}

void set_batch(jobs::ServingQuery& q, double batch) {
  if (batch > 0) q.limits->max_sequences = batch;
}

void set_role(jobs::ServingQuery& q, const TestRole& role) {
  q.split.tp = role.by_rank ? 1 : role.devices;
  q.split.attention_dp = role.by_rank ? role.devices : 1;
  q.split.ep = q.model.is_moe() ? role.ep : 1;
  q.limits = limits_of_test(q);
}

}  // namespace

void set_guesses(jobs::ServingQuery& q, int guesses) {
  q.request.checked_per_step = 1 + guesses;
  q.request.accepted_per_step =
      kAccepted[std::min<std::size_t>(static_cast<std::size_t>(guesses), std::size(kAccepted) - 1)];
}

engines::EngineLimits limits_of_test(const jobs::ServingQuery& q) {
  const double ranks = q.split.attention_dp;
  engines::EngineLimits limits = engines::default_limits(q.accelerator->memory);
  if (q.engine == "sglang") limits = {.token_budget = 16384.0 / ranks, .max_sequences = 4096};
  if (q.engine == "trtllm") {
    const double least = q.model.is_moe() ? kExpertTokens : kDenseTokens;
    limits = {.token_budget = std::max(least, q.concurrency + q.request.input + 64) / ranks,
              .max_sequences = 4096,
              .chunked_prefill = false};
  }
  return limits;
}

std::expected<jobs::ServingQuery, std::string> read_serving_row(const CsvTable& t,
                                                                const CsvRow& row,
                                                                const ScoreInputs& inputs,
                                                                const std::string& role) {
  jobs::ServingQuery q;
  const auto model = model_of(t.text(row, "model_path"), inputs);
  if (!model) return std::unexpected("unknown model");
  q.model = *model;
  q.accelerator = inputs.catalog().accelerator(accelerator_id(t.text(row, "system")));
  if (!q.accelerator) return std::unexpected("unknown accelerator");
  const std::string_view precision = t.text(row, "precision");
  const auto products = format_of(t.text(row, "gemm_quant_mode"), precision);
  const auto experts = format_of(t.text(row, "moe_quant_mode"), precision);
  if (!products || !experts) return std::unexpected("weight-only format");
  const bool narrow = *products != catalog::Dtype::bf16;
  q.precision = {.products = *products,
                 .experts = *experts,
                 .kv = narrow ? catalog::Dtype::fp8 : catalog::Dtype::bf16,
                 .narrow_output = has_narrow_output(t.text(row, "model_path"))};
  q.engine = t.text(row, "backend");
  q.left_out = inputs.left_out;
  q.split = split_of(t, row, *model, role);
  const auto input = t.number(row, "isl");
  const auto output = t.number(row, "osl");
  const auto clients = clients_of(t, row);
  if (!input || !output || !clients)
    return std::unexpected("the row gives no lengths or concurrency");
  q.request = {.input = *input, .output = *output, .requests_per_client = kRequestsPerClient};
  q.concurrency = *clients;
  q.limits = limits_of_test(q);
  if (t.text(row, "mtp") == "1") set_guesses(q, guesses_of(q));
  return q;
}

namespace {

traffic::Gathering gathering_of(const jobs::ServingQuery& q) {
  if (q.engine != "trtllm") return {};
  if (q.split.attention_dp > 1) {
    return {.iterations = kBalanced, .prompts = q.split.attention_dp};
  }
  const bool short_ones = q.request.input == kGatheredLength && q.request.output == kGatheredLength;
  const bool crowded = q.model.attention == catalog::AttentionKind::mla &&
                       q.precision.experts == catalog::Dtype::fp8 &&
                       q.accelerator->peak(catalog::Dtype::fp4) &&
                       q.concurrency >= kGatheredClients;
  if (short_ones && crowded) return kGatheredExperts;
  const bool gathers = !q.model.is_moe() && short_ones && q.split.tp < kGatheredDevices;
  return gathers ? kGatheredTokens : traffic::Gathering{};
}

}  // namespace

jobs::BenchmarkLoad load_of_test(const jobs::ServingQuery& query) {
  jobs::BenchmarkLoad load{.least_share = kLeastLength,
                           .gathering = gathering_of(query),
                           .waves_most = std::max(2.0, kMostOutputTokens / query.request.output)};
  if (query.engine == "sglang" && query.accelerator->peak(catalog::Dtype::fp4)) {
    load.receive_every = query.concurrency < kManyClients ? kFewLooks : kManyLooks;
  }
  return load;
}

ApartRows::ApartRows(const CsvTable& table, const ScoreInputs& inputs) : table_(table) {
  std::vector<const CsvRow*> rows;
  std::vector<TestAsk> asks;
  for (const CsvRow& row : table.rows()) {
    if (table.text(row, "mode") == "agg") continue;
    rows.push_back(&row);
    asks.push_back(ask_of(row));
    ++equal_[key_of(row) + asks.back().run];
    if (!table.number(row, "decode_num_workers")) continue;
    published_series_.insert(series_of(row));
    const auto [at, fresh] = published_.try_emplace(key_of(row), Published{&row, true});
    if (fresh) continue;
    at->second.agreed = at->second.agreed && std::ranges::all_of(kLayout, [&](const char* field) {
                          return table.text(row, field) == table.text(*at->second.row, field);
                        });
  }
  note_sweeps(rows, asks);
  if (inputs.tests == nullptr) return;
  std::vector<std::vector<TestSetting>> found = settings_for(*inputs.tests, asks);
  for (std::size_t i = 0; i < rows.size(); ++i) settings_[rows[i]] = std::move(found[i]);
}

void ApartRows::note_sweeps(const std::vector<const CsvRow*>& rows,
                            const std::vector<TestAsk>& asks) {
  std::size_t begin = 0;
  for (const std::size_t end : ends_of_sweeps(asks)) {
    for (std::size_t i = begin; i < end; ++i) {
      const bool doubled =
          std::any_of(asks.begin() + static_cast<std::ptrdiff_t>(begin),
                      asks.begin() + static_cast<std::ptrdiff_t>(end),
                      [&](const TestAsk& a) { return a.clients == 2 * asks[i].clients; });
      if (doubled) going_on_.insert(rows[i]);
    }
    begin = end;
  }
}

std::string ApartRows::key_of(const CsvRow& row) const {
  const auto devices = [&](const std::string& role) {
    const auto of = [&](const char* name) { return table_.number(row, role + name).value_or(1); };
    return std::max(of("tp_size"), of("attention_dp_size"));
  };
  // In these dumps, DeepSeek's models of one shape have several names.
  const std::string_view model = table_.text(row, "model_path");
  return fmt::format("{}|{}|{}|{}|{}|{}|{}|{}|{}", table_.text(row, "system"),
                     table_.text(row, "backend"), table_.text(row, "precision"),
                     table_.text(row, "isl"), table_.text(row, "osl"),
                     clients_of(table_, row).value_or(0), devices("prefill_"), devices("decode_"),
                     model.find("DeepSeek") == std::string_view::npos ? model : "DeepSeek");
}

std::string ApartRows::series_of(const CsvRow& row) const {
  const std::string_view model = table_.text(row, "model_path");
  const TestAsk ask = ask_of(row);
  return fmt::format("{}|{}|{}|{}|{}", ask.accelerator, ask.engine, ask.precision, ask.day,
                     model.find("DeepSeek") == std::string_view::npos ? model : "DeepSeek");
}

// Returns true if a row is taken to be a test with guesses. Dumps that name replicas have no tests
// with guesses, except half of TensorRT-LLM's. If such a dump has tests of the row's day,
// accelerator and format, but none with its clients and devices, the row is probably one that the
// dump leaves out, if its model has a layer to guess with. Of two rows that are equal in everything
// they say, one uses guesses, and no rule tells which.
bool ApartRows::is_guessed(const CsvRow& row) const {
  const std::string key = key_of(row);
  return table_.text(row, "backend") == "trtllm" && !published_.contains(key) &&
         published_series_.contains(series_of(row)) && equal_.at(key + ask_of(row).run) == 1;
}

TestAsk ApartRows::ask_of(const CsvRow& row) const {
  const auto whole = [&](const std::string& name) {
    return static_cast<int>(table_.integer(row, name).value_or(1));
  };
  const auto devices = [&](const std::string& role) {
    return whole(role + "tp_size") * whole(role + "attention_dp_size");
  };
  const std::string_view source = table_.text(row, "silicon_data_source");
  const std::string_view moment = named_in(source, "measured=");
  return {.accelerator = accelerator_id(table_.text(row, "system")),
          .engine = table_.text(row, "backend"),
          .model = table_.text(row, "model_path"),
          .precision = table_.text(row, "precision"),
          .run = fmt::format("{}|{}", source.substr(0, source.find(';')), moment),
          .day = moment.substr(0, moment.find('T')),
          .input = table_.number(row, "isl").value_or(0),
          .output = table_.number(row, "osl").value_or(0),
          .clients = clients_of(table_, row).value_or(0),
          .prefill_replicas = table_.number(row, "prefill_num_workers").value_or(0),
          .decode_replicas = table_.number(row, "decode_num_workers").value_or(0),
          .prefill_devices = devices("prefill_"),
          .prefill_ep = whole("prefill_moe_ep_size"),
          .decode_devices = devices("decode_")};
}

const std::vector<TestSetting>& ApartRows::settings_of(const CsvRow& row) const {
  static const std::vector<TestSetting> kNone;
  const auto at = settings_.find(&row);
  return at == settings_.end() ? kNone : at->second;
}

namespace {

// Returns true if all settings decode in the same way.
bool is_one(const std::vector<TestSetting>& settings) {
  return !settings.empty() && std::ranges::all_of(settings, [&](const TestSetting& s) {
    return s.decode == settings.front().decode && s.guesses == settings.front().guesses &&
           s.decode_batch == settings.front().decode_batch;
  });
}

// Returns the batch of a published layout; dumps that name replicas have no tests with guesses.
double batch_of(const std::vector<TestSetting>& settings, double decode_replicas) {
  for (const TestSetting& s : settings) {
    if (s.guesses == 0 && s.decode.replicas == decode_replicas) return s.decode_batch;
  }
  return 0;
}

void take_setting(const TestSetting& setting, jobs::DisaggregatedQuery& query) {
  set_role(query.prefill, setting.prefill);
  set_role(query.decode, setting.decode);
  set_batch(query.decode, setting.decode_batch);
  if (setting.guesses > 0) set_guesses(query.decode, setting.guesses);
  query.prefill_replicas = setting.prefill.replicas;
  query.decode_replicas = setting.decode.replicas;
}

// Shortens the lengths to the mean of a test's requests.
void shorten(jobs::DisaggregatedQuery& query) {
  for (jobs::ServingQuery* q : {&query.prefill, &query.decode}) {
    q->request.input *= kServedMeanLength;
    q->request.output *= kServedMeanLength;
  }
}

}  // namespace

std::expected<ServedApart, std::string> ApartRows::read(const CsvRow& row,
                                                        const ScoreInputs& inputs) const {
  ServedApart r;
  const CsvRow* layout = &row;
  const TestSetting* setting = nullptr;
  const std::vector<TestSetting>& settings = settings_of(row);
  if (!table_.number(row, "decode_num_workers")) {
    const auto same = published_.find(key_of(row));
    const bool known = same != published_.end() && same->second.agreed;
    const bool one = is_one(settings);
    r.from = one ? ReplicasFrom::settings : known ? ReplicasFrom::same_test : ReplicasFrom::usual;
    if (one || (!known && !settings.empty())) setting = &settings.front();
    if (!one && known) layout = same->second.row;
  }
  auto prefill = read_serving_row(table_, *layout, inputs, "prefill_");
  auto decode = read_serving_row(table_, *layout, inputs, "decode_");
  if (!prefill) return std::unexpected(prefill.error());
  if (!decode) return std::unexpected(decode.error());
  r.query = {.prefill = std::move(*prefill),
             .decode = std::move(*decode),
             .prefill_replicas = table_.number(*layout, "prefill_num_workers").value_or(1),
             .decode_replicas = table_.number(*layout, "decode_num_workers").value_or(1)};
  if (setting != nullptr) {
    take_setting(*setting, r.query);
  } else {
    widen(inputs.models, r.query.prefill);
    widen(inputs.models, r.query.decode);
    set_batch(r.query.decode, batch_of(settings, r.query.decode_replicas));
  }
  shorten(r.query);
  if (r.from == ReplicasFrom::usual && setting == nullptr) {
    const TestAsk ask = ask_of(row);
    r.guessed = r.query.decode.model.mtp_layers > 0 && is_guessed(row);
    settle_unsaid(inputs.models,
                  {.prefill_devices = ask.prefill_devices,
                   .decode_devices = ask.decode_devices,
                   .goes_on = going_on_.contains(&row),
                   .guessed = r.guessed},
                  r.query);
  }
  return r;
}

}  // namespace orrery::score
