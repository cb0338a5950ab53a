#include "package/chart_answers.h"

#include <algorithm>
#include <array>
#include <chrono>
#include <filesystem>
#include <initializer_list>
#include <memory>
#include <optional>

#include "base/text.h"
#include "crypto/digest.h"
#include "crypto/random_stream.h"
#include "encoding/json.h"
#include "package/calls.h"
#include "package/capabilities.h"
#include "package/own_stack.h"
#include "package/values.h"

namespace mist::package {
namespace {

// Options that belong to a Kustomize directory.
constexpr std::string_view kOptionsFile = ".mistletoe/kustomize.json";
// The name that `helm template` gives a release that nobody named.
constexpr std::string_view kUnnamedRelease = "release-name";

// Members that are passed on to the engine of charts, under its own names for them.
constexpr std::array<std::string_view, 6> kEngineOptions{"includeCrds",  "skipTests",   "noHooks",
                                                         "nameTemplate", "kubeVersion", "apiVersions"};
constexpr std::array<std::string_view, 6> kOthers{"op",          "directory", "archive",
                                                  "releaseName", "namespace", "values"};

Status check_members(const Value& request) {
  for (const Value::Member& member : request.as_object()) {
    if (std::ranges::find(kEngineOptions, member.key) == kEngineOptions.end() &&
        std::ranges::find(kOthers, member.key) == kOthers.end())
      return error(ErrorKind::Invalid, "chart.render: \"{}\" means nothing here",
                   escape_controls(member.key.substr(0, 100)));
  }
  return {};
}

std::string digest_of(const Files& files) {
  crypto::Hasher hasher;
  for (const auto& [path, bytes] : files) hasher.field(path).field(bytes);
  return hasher.finish().str();
}

std::string_view or_else(std::string_view text, std::string_view otherwise) {
  return text.empty() ? otherwise : text;
}

// Whether `path` is `place`, or below it.
bool is_in(std::string_view path, std::string_view place) {
  return !place.empty() && path.starts_with(place) &&
         (path.size() == place.size() || path[place.size()] == '/');
}

// Fetched charts are in the package by number (formats/remote_bases.cc), and the numbers change with every
// base that is added. Their addresses, without versions, stay.
struct Address {
  std::string repo, chart;
  std::string path;  // from the directory that is built, or below the repository
};

// The package begins where a base beside it or above needs it (registry/kustomization.h), so its top moves
// with every base that is added.
std::string from_root(const std::string& path, const std::filesystem::path& root) {
  return root.empty()
             ? path
             : std::filesystem::path(path).lexically_relative(root.lexically_normal()).generic_string();
}

// Null: there are none.
Value options_in(const Files& files) {
  const auto text = files.find(std::string(kOptionsFile));
  if (text == files.end()) return {};
  auto options = encoding::parse_json(text->second);
  return options.ok() ? *std::move(options) : Value();
}

Address address_of(const std::string& path, const Files& files) {
  const Value options = options_in(files);
  if (const Value* const remotes = options.find("remotes"); remotes != nullptr && remotes->is_array()) {
    for (const Value& remote : remotes->as_array()) {
      const std::string_view at = remote.string_at("at");
      if (is_in(path, at))
        return {std::string(remote.string_at("repo")), std::string(remote.string_at("chart")),
                path.substr(at.size())};
    }
  }
  return {{}, {}, from_root(path, options.string_at("root"))};
}

// Length first, so that no two lists of texts are one.
std::string in_order(std::initializer_list<std::string_view> texts) {
  std::string all;
  for (const std::string_view text : texts) all += fmt::format("{}:{},", text.size(), text);
  return all;
}

// docs/internals/secret-derivation.md.
crypto::Seed seed_of_chart(const crypto::Seed& package, const std::string& identity) {
  return crypto::derived_seed(package, "mistletoe/kustomize-chart/v1/" + identity);
}

// Mistakes of the chart's author go back to the guest, which knows who named the chart.
Value failure_of(const Error& failure, std::string_view directory) {
  const std::string_view words = failure.because.empty() ? failure.message : failure.because;
  Value answer = Value::object({{"message", words}});
  if (failure.where && !directory.empty()) {
    Value where = Value::object({{"file", fmt::format("{}/{}", directory, failure.where->file)},
                                 {"line", failure.where->line},
                                 {"column", failure.where->column}});
    if (!failure.where->excerpt.empty()) where.set("text", failure.where->excerpt);
    answer.set("where", std::move(where));
  }
  return Value::object({{"failure", std::move(answer)}});
}

}  // namespace

Result<Value> ChartAnswers::answer(const Value& request, std::uint64_t waiting_memory) {
  MIST_TRY_VOID(check_members(request));
  MIST_TRY(const Source chart, chart_at(request));
  Result<RenderRequest> wanted = render_request(request);
  if (!wanted.ok())
    return failure_of(error(ErrorKind::Invalid, "the values of {} can't be read as YAML: {}", chart.reference,
                            wanted.error().to_line()),
                      {});
  MIST_TRY(wanted->share, share(waiting_memory));
  Result<Rendered> rendered = render(chart, *wanted);
  if (!rendered.ok()) {
    if (rendered.error().kind == ErrorKind::Invalid)
      return failure_of(rendered.error(), request.string_at("directory"));
    return std::move(rendered).error();
  }
  if (rendered->drawn != 0 && request_.charts_share_seed)
    drawing_.emplace(identity(request, *wanted),
                     escape_controls(fmt::format("{}{} (release {})", request.string_at("directory"),
                                                 request.string_at("archive"), wanted->release_name)));
  return Value::object({{"print", rendered->print.value_or("")}, {"drawn", rendered->drawn}});
}

std::vector<std::string> ChartAnswers::drawing() const {
  std::vector<std::string> charts;
  for (const auto& [identity, shown] : drawing_) charts.push_back(shown);
  return charts;
}

// The chart and its release. Neither values nor files are in it: an upgrade changes them, and the secrets
// stay.
std::string ChartAnswers::identity(const Value& request, const RenderRequest& wanted) const {
  const Address address =
      address_of(fmt::format("{}{}", request.string_at("directory"), request.string_at("archive")),
                 std::get<Files>(package_.content));
  return in_order({address.repo, address.chart, address.path, wanted.release_name,
                   request.string_at("nameTemplate"), wanted.release_namespace});
}

Result<Source> ChartAnswers::chart_at(const Value& request) const {
  const std::string directory(request.string_at("directory"));
  const std::string archive(request.string_at("archive"));
  if (directory.empty() == archive.empty())
    return error(ErrorKind::Invalid, "chart.render: it takes \"directory\" or \"archive\", a path");
  const Files& files = std::get<Files>(package_.content);
  Files found;
  if (!archive.empty()) {
    if (const auto file = files.find(archive); file != files.end()) found.emplace("chart.tgz", file->second);
  } else {
    const std::string below = directory + '/';
    for (auto file = files.lower_bound(below); file != files.end() && file->first.starts_with(below); ++file)
      found.emplace(file->first.substr(below.size()), file->second);
  }
  const std::string place = escape_controls(directory + archive);
  if (found.empty())
    return error(ErrorKind::NotFound, "chart.render: there is no chart at {} in the package", place);
  Source chart;
  chart.reference = fmt::format("the chart {} of {}", place, package_.reference);
  chart.name = place.substr(place.rfind('/') + 1);
  chart.digest = digest_of(found);
  chart.content = std::move(found);
  chart.engine = kHelmEngine;
  return chart;
}

Result<RenderRequest> ChartAnswers::render_request(const Value& request) const {
  RenderRequest wanted;
  wanted.release_name = or_else(request.string_at("releaseName"), kUnnamedRelease);
  wanted.release_namespace = or_else(request.string_at("namespace"), request_.release_namespace);
  wanted.seed =
      request_.charts_share_seed ? request_.seed : seed_of_chart(request_.seed, identity(request, wanted));
  wanted.rotations = request_.rotations;
  wanted.clock = request_.clock;
  wanted.quiet = request_.quiet;
  std::vector<ValuesInput> values;
  if (const Value* const texts = request.find("values"); texts != nullptr && texts->is_array()) {
    for (const Value& text : texts->as_array())
      if (text.is_string())
        values.push_back({ValuesFlag::File, fmt::format("values {}", values.size() + 1), text.as_string()});
  }
  MIST_TRY(wanted.user_values, merge_values(values, Numbers::AsHelm));
  // Nobody asks a cluster while kustomize builds.
  wanted.engine_options = Value::object({{"print", true}, {"lookup", "empty"}});
  for (const std::string_view option : kEngineOptions)
    if (const Value* const value = request.find(option)) wanted.engine_options.set(option, *value);
  wanted.capabilities = []() -> Result<Capabilities> {
    return assumed_capabilities(std::string(kAssumedKubeVersion), {});
  };
  return wanted;
}

Result<Share> ChartAnswers::share(std::uint64_t waiting_memory) const {
  Share left{.guest_time = bounds_.guest_time - spent_};
  if (request_.called) {
    const CallTree& tree = *request_.called->tree;
    left.guest_time = std::min(left.guest_time, tree.time_left());
    left.memory_bytes = tree.memory_left() - std::min(waiting_memory, tree.memory_left());
  }
  if (left.guest_time > Duration::zero()) return left;
  return error(ErrorKind::Trap, "the charts of {} took more than {} s together", package_.reference,
               std::chrono::duration_cast<std::chrono::seconds>(bounds_.guest_time).count())
      .with_hint(wasm::raise_hint(bounds_.flags, "--limit-time"));
}

Result<Rendered> ChartAnswers::render(const Source& chart, const RenderRequest& request) {
  Result<Rendered> rendered = error(ErrorKind::Internal, "nothing was rendered");
  Duration took{};
  // A guest may use a whole stack, and the one that asks is on this thread's.
  MIST_TRY_VOID(on_own_stack(bounds_.stack_bytes, [&] {
    const Duration began = thread_time();
    rendered = render_(chart, request);
    took = thread_time() - began;
  }));
  spent_ += took;
  if (request_.called) request_.called->tree->spend(took);
  return rendered;
}

Status refuse_differences(const std::vector<ChartExchange>& one, const std::vector<ChartExchange>& other) {
  for (std::size_t i = 0; i < one.size(); ++i) {
    if (i < other.size() && one[i].request == other[i].request && one[i].answer == other[i].answer) continue;
    const Value& request = one[i].request;
    return error(ErrorKind::Invalid, "the chart {} can't become a part of a module",
                 escape_controls(
                     fmt::format("{}{}", request.string_at("directory"), request.string_at("archive"))))
        .with_because("it gives something else with another seed, clock or namespace of the release")
        .with_hint("install the directory itself; or, if it is the namespace, say it in the kustomization");
  }
  return {};
}

Result<Files> with_answers(Files files, const std::vector<ChartExchange>& exchanges) {
  Value options = Value::object();
  if (const auto known = files.find(std::string(kOptionsFile)); known != files.end()) {
    MIST_TRY(options, encoding::parse_json(known->second));
  }
  Value charts = Value::array();
  for (const ChartExchange& exchange : exchanges) {
    const std::string at = fmt::format(".mistletoe/charts/{}", charts.size());
    files[at] = exchange.answer.string_at("print");
    charts.push_back(Value::object({{"request", exchange.request}, {"at", at}}));
  }
  options.set("charts", std::move(charts));
  files[std::string(kOptionsFile)] = encoding::to_json(options) + "\n";
  return files;
}

}  // namespace mist::package
