#include "render/release_renderer.h"

#include <algorithm>
#include <map>
#include <set>
#include <span>
#include <string>

#include "base/event.h"
#include "base/parallel.h"
#include "base/text.h"
#include "crypto/random_stream.h"
#include "package/calls.h"
#include "package/capabilities.h"
#include "package/excerpt.h"
#include "package/looked_up.h"
#include "package/pre_install.h"
#include "release/command_text.h"
#include "render/dependencies.h"
#include "render/recorded_options.h"
#include "render/signers.h"

namespace mist::render {

using encoding::Value;
using package::RenderRequest;

namespace {

// Nothing vanishes silently from what a chart renders: kinds of such an API may be missing, where it didn't
// answer since the API server began.
Status warn_of_apis_down(const LiveCluster& live, const Context& context) {
  if (live.events == nullptr) return {};
  MIST_TRY(const std::vector<kube::DownApi> down, live.client.apis_down(context));
  for (const kube::DownApi& api : down)
    live.events->warn(
        fmt::format("the API service {} doesn't answer ({}): a package that asks for its kinds may render "
                    "without the objects that need them",
                    api.service(), api.because));
  return {};
}

// A seed for nothing else, to see what depends on the seed.
crypto::Seed other_seed(const crypto::Seed& seed) {
  return crypto::derived_seed(seed, "mistletoe/second-render/v1");
}

Status set_clock(RenderRequest& request, const std::string& clock) {
  if (clock.empty()) return {};
  const auto time = parse_time(clock);
  if (!time)
    return error(ErrorKind::Internal, "the release record is damaged: \"{}\" is not a timestamp", clock);
  request.clock = *time;
  return {};
}

// One package with one set of values, to be rendered as often as somebody asks.
struct Job {
  std::shared_ptr<package::Renderer> renderer;
  std::shared_ptr<const package::Source> source;
  Cluster cluster;
  LookupScope scope;
  RenderRequest request;
  WallTime first_clock;
  std::set<apimachinery::ObjectKey> to_be_taken = {};      // LookupAnswer::to_be_taken of all answers
  std::optional<package::Capabilities> capabilities = {};  // as the cluster said when it was first asked

  // The request, answered by the cluster for as long as `context` and this live.
  RenderRequest asking(const Context& context) {
    RenderRequest asking = request;
    const auto* const live = std::get_if<LiveCluster>(&cluster);
    if (live == nullptr) return asking;
    asking.capabilities = [this, live, &context]() -> Result<package::Capabilities> {
      if (!capabilities) {
        MIST_TRY(capabilities, capabilities_of(*live, context));
      }
      return *capabilities;
    };
    asking.lookup = [this, live, &context](const package::LookupAsker& asker,
                                           const Value& question) -> Result<Value> {
      MIST_TRY(LookupAnswer answer, live->lookup(live->client, scope, asker, question, context));
      to_be_taken.insert(answer.to_be_taken.begin(), answer.to_be_taken.end());
      return std::move(answer.value);
    };
    return asking;
  }

  // Drawn otherwise; says nothing.
  Result<package::Rendered> variant(const RenderVariant& variant, const Context& context) {
    RenderRequest varied = asking(context);
    varied.quiet = true;
    varied.rotations = variant.rotations;
    varied.clock = first_clock;
    MIST_TRY_VOID(set_clock(varied, variant.clock));
    if (variant.other_seed) {
      varied.seed = other_seed(varied.seed);
      // A date in every part of which it differs.
      if (!variant.clock.empty()) varied.clock += std::chrono::hours(24 * 400 + 1) + std::chrono::seconds(61);
    }
    return renderer->render(*source, varied, context);
  }

  // Those of its exports that depend on no secret, whether drawn or looked up. Where that can't be found out,
  // none.
  Result<PublicExports> exports_of(const package::Rendered& rendered, const release::Drawn& drawn,
                                   const Context& context) {
    if (rendered.exports.is_null()) return PublicExports();
    HiddenValues secrets;
    secrets.add(rendered.secrets);
    secrets.add(rendered.looked_up);
    if (rendered.drawn == 0 && rendered.secrets.empty())
      return public_exports(rendered.exports, nullptr, secrets);
    const auto other =
        variant({.other_seed = true, .rotations = drawn.rotations, .clock = drawn.clock}, context);
    MIST_TRY_VOID(context.check());
    return other.ok() ? public_exports(rendered.exports, &other->exports, secrets) : hidden_exports();
  }
};

std::vector<release::PackageCall> call_tree(const package::Rendered& rendered) {
  std::vector<release::PackageCall> calls;
  for (package::CallEdge& each : package::calls_of(rendered))
    calls.push_back({{std::move(each.caller_id), std::move(each.caller_install)},
                     std::move(each.name),
                     {std::move(each.id), std::move(each.install)},
                     std::move(each.version)});
  return calls;
}

LookupGrants granted(const RenderChoices& choices, const release::Revision* stored) {
  LookupGrants grants;
  if (stored != nullptr && !choices.revoke_lookup)
    grants = RecordedOptions::from_value(stored->options).lookups;
  grants.add(choices.allow_lookup);
  return grants;
}

// As the release's values were drawn: they are in the cluster. The last revision alone doesn't say whether
// one before it drew something, so how it would have drawn counts.
bool charts_share_seed(const ReleaseFacts& release) {
  const release::Revision* const before = release.deployed != nullptr ? release.deployed : release.stored;
  if (before == nullptr) return release.fixed.charts_share_seed;
  return !before->drawn.own_chart_seeds;
}

}  // namespace

Result<package::Capabilities> capabilities_of(const LiveCluster& live, const Context& context) {
  kube::Client& client = live.client;
  Value version;
  kube::ServedApis served;
  MIST_TRY_VOID(parallel_for(2, 2, [&](std::size_t i) -> Status {
    if (i == 0) {
      MIST_TRY(version, client.server_version(context));
    } else {
      MIST_TRY(served, client.served_apis(context));
    }
    return {};
  }));
  MIST_TRY_VOID(warn_of_apis_down(live, context));
  return package::Capabilities{.kube_version = std::string(version.string_at("gitVersion")),
                               .api_versions = std::move(served.group_versions),
                               .kinds = std::move(served.kinds)};
}

Result<RenderRequest> render_request(const ReleaseFacts& release, Value values) {
  RenderRequest request;
  request.release_name = release.id.name;
  request.release_namespace = release.id.ns;
  request.user_values = std::move(values);
  const std::string& seed = release.fixed.seed.reveal();
  std::ranges::copy(std::as_bytes(std::span(seed)).first(std::min(seed.size(), request.seed.size())),
                    request.seed.begin());
  const auto clock = parse_time(release.fixed.frozen_clock);
  if (!clock)
    return error(ErrorKind::Internal,
                 "the record of release {} has lost its seed and clock, so nothing can be "
                 "rendered as before",
                 release.id.display())
        .with_hint(fmt::format(
            "restore the Secret {}/mistletoe.{} from a backup; or draw a new seed, and with "
            "it new random values, by {}",
            release.id.ns, release.id.name, release::command_text("recover", release.id, "--from-labels")));
  request.clock = *clock;
  request.charts_share_seed = charts_share_seed(release);
  request.revision = release.revision;
  request.is_upgrade = release.deployed != nullptr;
  return request;
}

Result<RenderedRelease> ReleaseRenderer::render(std::shared_ptr<const package::Source> source, Value values,
                                                const RenderChoices& choices, const ReleaseFacts& release,
                                                const Context& context) const {
  MIST_TRY(values, with_answers(std::move(values), release.stored, *source));
  const Answers earlier =
      release.stored == nullptr ? Answers() : RecordedOptions::from_value(release.stored->options).answers;
  const std::map<std::string, SecretString> secret_answers = package::secret_answers(earlier.all, values);
  MIST_TRY(RenderRequest request, render_request(release, values));
  request.hidden = choices.hidden;
  for (const auto& [name, answer] : secret_answers) package::hide_text(request.hidden, answer.reveal());
  request.interactive = choices.interactive;
  request.run_on_host = choices.run_on_host;
  // All are new then.
  if (choices.rotate.all) request.charts_share_seed = false;
  if (choices.skip_schema_validation) request.engine_options.set(package::kSkipSchemaOption, true);
  if (const auto* assumed = std::get_if<AssumedCluster>(&cluster_))
    package::assume_cluster(request, assumed->kube_version, assumed->api_versions);
  const WallTime first_clock = request.clock;
  RenderedRelease result{};
  result.lookups = granted(choices, release.stored);
  result.drawn.rotations = request.rotations =
      next_rotations(release.deployed, release.tried, choices.rotate);
  result.drawn.clock =
      choices.clock.value_or(release.deployed != nullptr ? release.deployed->drawn.clock : std::string());
  MIST_TRY_VOID(set_clock(request, result.drawn.clock));
  const auto job = std::make_shared<Job>(Job{.renderer = renderer_,
                                             .source = std::move(source),
                                             .cluster = cluster_,
                                             .scope = {.release = release.id,
                                                       .grants = result.lookups,
                                                       .adopt = choices.adopt,
                                                       .take_over_from = choices.take_over_from},
                                             .request = std::move(request),
                                             .first_clock = first_clock});
  MIST_TRY(package::Rendered rendered, renderer_->render(*job->source, job->asking(context), context));
  rendered.looked_up.insert(secret_answers.begin(), secret_answers.end());
  if (choices.exports) {
    MIST_TRY(result.exports, job->exports_of(rendered, result.drawn, context));
  }
  result.package = {
      job->source->reference,
      rendered.metadata.name,
      rendered.metadata.version,
      job->source->digest,
      rendered.engine.empty() ? rendered.metadata.engine : rendered.engine,
      called_packages(*job->source),
      call_tree(rendered),
      signers_for_record(*job->source, release.deployed != nullptr ? &release.deployed->package : nullptr)};
  result.answers.all = std::move(rendered.answers);
  result.answers.keep(earlier, values);
  result.user_values = std::move(values);
  result.objects = std::move(rendered.objects);
  result.message = std::move(rendered.message);
  result.drawn.unnamed = rendered.drawn != 0;
  result.drawn.own_chart_seeds = !job->request.charts_share_seed;
  for (const auto& [name, secret] : rendered.secrets) result.drawn.secrets.push_back(name);
  for (const package::Exchange& each : rendered.asked)
    result.drawn.asked.push_back({each.operation, each.digest.str()});
  result.secrets = std::move(rendered.secrets);
  result.looked_up = std::move(rendered.looked_up);
  if (!rendered.origins.empty())
    result.show_line = [job, origins = std::move(rendered.origins)](Error failure) {
      return package::with_excerpt(std::move(failure), *job->source, origins);
    };
  result.scope = job->scope;
  result.to_be_taken = job->to_be_taken;
  result.again = [job](const RenderVariant& variant,
                       const Context& now) -> Result<std::vector<release::RenderedObject>> {
    MIST_TRY(package::Rendered other, job->variant(variant, now));
    return std::move(other.objects);
  };
  return result;
}

}  // namespace mist::render
